//! What a file that is no trace seems to be, so that the message can say it.

/// A guess from the first bytes; `None` for what nothing is known about.
pub(crate) fn foreign(head: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 14] = [
        (b"SQLite format 3\0", "an SQLite database, perhaps an Nsight Systems or rocpd export"),
        (b"PK\x03\x04", "a zip archive"),
        (b"PAR1", "a Parquet file"),
        (b"ARROW1", "an Arrow file"),
        (b"\x80\x02", "a Python pickle, perhaps a memory snapshot"),
        (b"\x80\x03", "a Python pickle, perhaps a memory snapshot"),
        (b"\x80\x04", "a Python pickle, perhaps a memory snapshot"),
        (b"\x80\x05", "a Python pickle, perhaps a memory snapshot"),
        (b"\x7fELF", "a program"),
        (b"%PDF", "a PDF document"),
        (b"\x89PNG", "an image"),
        (b"\x42\x5a\x68", "a bzip2 file; unpack it first"),
        (b"\xfd7zXZ", "an xz file; unpack it first"),
        (b"7z\xbc\xaf", "a 7z archive; unpack it first"),
    ];
    let text = head.trim_ascii_start();
    if let Some((_, what)) = known.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(what);
    }
    if text.first() == Some(&b'<') {
        return Some("an HTML or XML page; was the download refused?");
    }
    // Protocol buffers have no signature; both of these begin with a length-delimited field 1.
    let is_protobuf = head.first() == Some(&0x0a) && head.iter().take(64).any(|byte| *byte < 9);
    is_protobuf.then_some("a protocol buffer, perhaps an XPlane or Perfetto trace")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_foreign_files_are_named() {
        assert!(foreign(b"SQLite format 3\0rest").unwrap().contains("SQLite"));
        assert!(foreign(b"  <!doctype html>").unwrap().contains("HTML"));
        assert!(foreign(b"\x0a\x80\x01\x08\x01\x12\x03abc").unwrap().contains("XPlane"));
        assert_eq!(foreign(b"hello"), None);
    }
}
