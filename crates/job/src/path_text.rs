//! Names of files that are no text, as text: Unix allows any bytes, and commands carry their inputs as text.
//!
//! A byte that is part of no character becomes one of the private characters U+F780 to U+F7FF, from which it comes
//! back when the file is opened. What people see has the usual replacement character instead.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

/// Where the private characters begin: this one stands for byte 0x80.
#[cfg(unix)]
const FIRST: u32 = 0xf780;

/// A name as text from which [`path_of`] finds the file.
#[cfg(unix)]
pub fn text_of(name: &OsStr) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        let private = |byte: &u8| char::from_u32(FIRST + u32::from(*byte & 0x7f));
        text.extend(chunk.invalid().iter().filter_map(private));
    }
    text
}

#[cfg(not(unix))]
pub fn text_of(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

/// The file that a text names. One that has private characters in its own name is taken as it is.
#[cfg(unix)]
pub(crate) fn path_of(text: &str) -> Cow<'_, Path> {
    use std::os::unix::ffi::OsStringExt;
    let byte =
        |c: char| u32::from(c).checked_sub(FIRST).filter(|byte| *byte < 0x80).map(|byte| byte as u8 | 0x80);
    if !text.contains(|c| byte(c).is_some()) || Path::new(text).exists() {
        return Cow::Borrowed(Path::new(text));
    }
    let mut name = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte(c) {
            Some(byte) => name.push(byte),
            None => name.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(std::ffi::OsString::from_vec(name).into())
}

#[cfg(not(unix))]
pub(crate) fn path_of(text: &str) -> Cow<'_, Path> {
    Cow::Borrowed(Path::new(text))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn any_name_comes_back() {
        for name in [&b"rank0_\xff.json"[..], b"\xe9t\xe9/\xc3\xa9.json", b"plain.json", b"\x80\xff\xc3"] {
            let name = OsStr::from_bytes(name);
            assert_eq!(path_of(&text_of(name)).as_os_str(), name);
        }
    }
}
