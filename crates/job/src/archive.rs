//! Archives of ranks: each member of a tar or zip archive is an input of its own.

use std::io::{self, Read, Write};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use gpuscope_formats::Compression;

use crate::error::Error;
use crate::source::{Archive, Content, Head, Source, Stored, Zip};

/// What an archive holds: its members in their order, and what kept it from being read to its end.
#[derive(Debug, Default)]
pub(crate) struct Members {
    pub sources: Vec<Source>,
    pub damage: Option<Error>,
}

/// The members of an archive; of one that breaks off, those before the break.
pub(crate) fn members(path: &str, stored: &Stored, head: Head) -> Members {
    let mut sources = Vec::new();
    let result = match head.archive {
        Some(Archive::Zip) => zip_members(path, stored, &mut sources),
        Some(Archive::Tar) => tar_members(path, stored, head.compression, &mut sources),
        None => Ok(()),
    };
    let damage = result.err().map(|Damage { at, unpacked, error }| {
        let found = match sources.len() {
            0 => "a damaged one".to_owned(),
            1 => "one that breaks off after 1 member".to_owned(),
            n => format!("one that breaks off after {n} members"),
        };
        let of = if unpacked { " of the unpacked archive" } else { "" };
        let expected = format!("a whole archive, found {found}, at byte {at}{of} ({error})");
        Error::Archive { path: path.to_owned(), expected }
    });
    Members { sources, damage }
}

/// What kept an archive from being read to its end, and where.
struct Damage {
    at: u64,
    /// The place is that in the archive without its compression.
    unpacked: bool,
    error: io::Error,
}

impl From<io::Error> for Damage {
    fn from(error: io::Error) -> Self {
        Damage { at: 0, unpacked: false, error }
    }
}

/// Members of a compressed archive can only be reached through all that is before them, so it is unpacked once
/// to a temporary file instead of once per member.
fn tar_members(
    path: &str,
    stored: &Stored,
    compression: Compression,
    sources: &mut Vec<Source>,
) -> Result<(), Damage> {
    let (plain, unpacked) = match compression {
        Compression::None => (stored.clone(), Ok(())),
        Compression::Gzip => spool(MultiGzDecoder::new(stored.open()?))?,
        Compression::Zstd => spool(zstd::Decoder::new(stored.open()?)?)?,
    };
    let length = plain.bytes()?;
    let mut archive = tar::Archive::new(plain.open()?);
    // Up to here the archive was whole.
    let mut whole_to = 0;
    let listed = (|| {
        for entry in archive.entries_with_seek()? {
            let mut entry = entry?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let name = entry.path()?.to_string_lossy().into_owned();
            let offset = entry.raw_file_position();
            whole_to = offset;
            // What a broken archive still has of its last member.
            let bytes = entry.size().min(length.saturating_sub(offset));
            let head = Head::of(&mut entry)?;
            let content = Content::Part { archive: plain.clone(), offset, length: bytes };
            sources.extend(member(path, &name, content, bytes, head, "tar"));
            if bytes < entry.size() {
                whole_to = length;
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            whole_to = offset.saturating_add(bytes);
        }
        Ok(())
    })();
    // Where unpacking failed is where the archive is damaged; the list only shows it.
    let is_packed = compression != Compression::None;
    unpacked
        .map_err(|error| Damage { at: length, unpacked: is_packed, error })
        .and(listed.map_err(|error| Damage { at: whole_to, unpacked: is_packed, error }))
}

fn zip_members(path: &str, stored: &Stored, sources: &mut Vec<Source>) -> Result<(), Damage> {
    // The list of members stands at the end.
    let end = stored.bytes()?;
    let damage =
        |at, error: zip::result::ZipError| Damage { at, unpacked: false, error: io::Error::other(error) };
    let mut archive = zip::ZipArchive::new(stored.share()?).map_err(|error| damage(end, error))?;
    let members = Zip(archive.clone());
    for index in 0..archive.len() {
        let begins = archive.by_index_raw(index).map_or(end, |entry| entry.header_start());
        let mut entry = archive.by_index(index).map_err(|error| damage(begins, error))?;
        if !entry.is_file() {
            continue;
        }
        let name = entry.name().map_err(|error| damage(begins, error))?.into_owned();
        let length = entry.size();
        // A member that is damaged says so when it is read, and costs no other.
        let head = Head::of(&mut entry).unwrap_or_default();
        let content = Content::Zipped { archive: stored.clone(), members: members.clone(), index };
        sources.extend(member(path, &name, content, length, head, "zip"));
    }
    Ok(())
}

fn member(
    archive: &str,
    name: &str,
    content: Content,
    bytes: u64,
    head: Head,
    container: &'static str,
) -> Option<Source> {
    let name = name.trim_start_matches("./");
    // Nothing is ever written under a member's name, so `..` in it is only a name.
    let mut parts = name.split('/').filter(|part| *part != "." && *part != "..");
    let hidden = parts.any(|part| part.starts_with('.') || part == "__MACOSX");
    let path = format!("{archive}!{name}");
    (!hidden).then_some(Source { path, content, bytes, head, container, discovered: true })
}

/// Keeps a stream that can be read only once in a temporary file: all of it, or what came before an error.
pub(crate) fn spool(mut input: impl Read) -> io::Result<(Stored, io::Result<()>)> {
    let mut file = tempfile::tempfile()?;
    let mut buffer = vec![0; 1 << 18];
    let read = loop {
        match input.read(&mut buffer) {
            Ok(0) => break Ok(()),
            Ok(bytes) => file.write_all(&buffer[..bytes])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    Ok((Stored::Spooled(Arc::new(file)), read))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list of members is read once, not once for every member.
    #[test]
    fn many_members_take_no_longer_than_many_files() {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let many = 8_000;
        for n in 0..many {
            let options = zip::write::SimpleFileOptions::default();
            zip.start_file(format!("rank{n}.json"), options).unwrap();
            zip.write_all(b"{}").unwrap();
        }
        let stored = Stored::Memory(Arc::from(zip.finish().unwrap().into_inner()));
        let begun = std::time::Instant::now();
        let head = Head { archive: Some(Archive::Zip), ..Head::default() };
        let Members { sources, damage } = members("a.zip", &stored, head);
        assert!(damage.is_none());
        for source in &sources {
            let mut text = String::new();
            source.with_reader(|reader| reader.read_to_string(&mut text).unwrap()).unwrap();
            assert_eq!(text, "{}");
        }
        assert_eq!(sources.len(), many);
        assert!(begun.elapsed().as_secs() < 15, "{:?}", begun.elapsed());
    }
}
