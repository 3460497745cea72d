//! JSON string escapes. Bad ones are kept as they stand: a name with a stray backslash is better than none.

/// Appends the text of a raw string to `out`, escapes resolved.
pub(crate) fn unescape(raw: &[u8], out: &mut Vec<u8>) {
    let mut rest = raw;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let plain = match rest.get(1) {
            Some(b'"') => Some(b'"'),
            Some(b'\\') => Some(b'\\'),
            Some(b'/') => Some(b'/'),
            Some(b'b') => Some(0x08),
            Some(b'f') => Some(0x0c),
            Some(b'n') => Some(b'\n'),
            Some(b'r') => Some(b'\r'),
            Some(b't') => Some(b'\t'),
            _ => None,
        };
        if let Some(byte) = plain {
            out.push(byte);
            rest = &rest[2..];
        } else if let Some((character, length)) = unicode(rest) {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            rest = &rest[length..];
        } else {
            out.push(b'\\');
            rest = &rest[1..];
        }
    }
    out.extend_from_slice(rest);
}

/// The character of a `\uXXXX` escape (two of them for a surrogate pair) and how long it is.
fn unicode(text: &[u8]) -> Option<(char, usize)> {
    let high = code_unit(text)?;
    if let Some(character) = char::from_u32(high) {
        return Some((character, 6));
    }
    if (0xd800..0xdc00).contains(&high)
        && let Some(low) = text.get(6..).and_then(code_unit)
        && (0xdc00..0xe000).contains(&low)
    {
        return Some((char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))?, 12));
    }
    Some((char::REPLACEMENT_CHARACTER, 6))
}

fn code_unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unescaped(raw: &str) -> String {
        let mut out = Vec::new();
        unescape(raw.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn escapes_become_characters() {
        assert_eq!(unescaped(r#"a\"b\\c\/d\n\t\u0074s \u00e9 \ud83d\ude00"#), "a\"b\\c/d\n\tts é 😀");
    }

    #[test]
    fn bad_escapes_stay() {
        assert_eq!(unescaped(r"C:\path \u12 \ud83d alone \"), "C:\\path \\u12 \u{fffd} alone \\");
    }
}
