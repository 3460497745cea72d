//! Whether a text is JSON to the letter: one pass without recursion, as nearly every text is.

use super::sound::DEEPEST;

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    /// A value, or the end of the list that has just begun.
    ValueOrEnd,
    Key,
    /// A key, or the end of the object that has just begun.
    KeyOrEnd,
    CommaOrEnd,
}

/// One value without white space around it, nested no deeper than [`DEEPEST`].
pub(super) fn is_sound(text: &[u8]) -> bool {
    if std::str::from_utf8(text).is_err() {
        return false;
    }
    // One bit per level: whether it is an object.
    let (mut objects, mut depth) = (0_u128, 0_usize);
    let (mut at, mut next) = (0, Next::Value);
    loop {
        while text.get(at).copied().is_some_and(is_white) {
            at += 1;
        }
        let Some(byte) = text.get(at).copied() else { return false };
        let in_object = objects & 1 == 1;
        match (next, byte) {
            (Next::Value | Next::ValueOrEnd, b'[' | b'{') => {
                if depth == DEEPEST {
                    return false;
                }
                depth += 1;
                objects = objects << 1 | u128::from(byte == b'{');
                at += 1;
                next = if byte == b'{' { Next::KeyOrEnd } else { Next::ValueOrEnd };
                continue;
            }
            (Next::Value | Next::ValueOrEnd, b'"') => match string_end(text, at) {
                Some(end) => at = end,
                None => return false,
            },
            (Next::ValueOrEnd, b']') | (Next::KeyOrEnd, b'}') => {
                (depth, objects, at) = (depth - 1, objects >> 1, at + 1);
            }
            (Next::CommaOrEnd, b']' | b'}') if in_object == (byte == b'}') => {
                (depth, objects, at) = (depth - 1, objects >> 1, at + 1);
            }
            (Next::CommaOrEnd, b',') => {
                at += 1;
                next = if in_object { Next::Key } else { Next::Value };
                continue;
            }
            (Next::Key | Next::KeyOrEnd, b'"') => {
                let Some(end) = string_end(text, at) else { return false };
                at = end;
                while text.get(at).copied().is_some_and(is_white) {
                    at += 1;
                }
                if text.get(at) != Some(&b':') {
                    return false;
                }
                at += 1;
                next = Next::Value;
                continue;
            }
            (Next::Value | Next::ValueOrEnd, _) => {
                let length = text[at..].iter().take_while(|byte| is_of_scalar(**byte)).count();
                let word = &text[at..at + length];
                if !is_number(word) && !matches!(word, b"true" | b"false" | b"null") {
                    return false;
                }
                at += length;
            }
            _ => return false,
        }
        // A value has ended.
        if depth == 0 {
            return at == text.len();
        }
        next = Next::CommaOrEnd;
    }
}

/// What JSON takes for white space.
pub(crate) fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_of_scalar(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'+' | b'.')
}

pub(super) fn is_sound_string(raw: &[u8]) -> bool {
    std::str::from_utf8(raw).is_ok() && raw.first() == Some(&b'"') && string_end(raw, 0) == Some(raw.len())
}

/// The place behind the string that begins at `from`, if there are no raw control characters and no bad escapes.
fn string_end(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from + 1;
    loop {
        match *text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += escape(&text[at..])?,
            byte if byte < b' ' => return None,
            _ => at += 1,
        }
    }
}

/// How long the escape is that a text begins with.
fn escape(text: &[u8]) -> Option<usize> {
    let unit = |text: &[u8]| {
        let digits = text.strip_prefix(b"\\u")?.get(..4)?;
        let digits = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
        u32::from_str_radix(digits, 16).ok()
    };
    match text.get(1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        b'u' => match unit(text)? {
            0xd800..=0xdbff => matches!(unit(text.get(6..)?)?, 0xdc00..=0xdfff).then_some(12),
            0xdc00..=0xdfff => None,
            _ => Some(6),
        },
        _ => None,
    }
}

/// A number that a float can hold: parsers refuse others.
pub(super) fn is_number(text: &[u8]) -> bool {
    let is_plain = text.len() < 300 && !text.iter().any(|byte| matches!(byte, b'e' | b'E'));
    is_written_as_number(text) && (is_plain || is_finite(text))
}

pub(super) fn is_written_as_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || whole > 1 && rest[0] == b'0' {
        return false;
    }
    rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let Some((b'e' | b'E', exponent)) = rest.split_first() {
        let exponent = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
        let length = digits(exponent);
        return length > 0 && length == exponent.len();
    }
    rest.is_empty()
}

fn is_finite(text: &[u8]) -> bool {
    let value = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
    value.is_some_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Held to another parser, on everything of up to five characters out of those that matter.
    #[test]
    fn sound_is_what_a_strict_parser_takes() {
        let pieces: [&[u8]; 13] =
            [b"{", b"}", b"[", b"]", b",", b":", b"\"", b"1", b"-", b"0.", b"true", b" ", b"\\"];
        let mut texts: Vec<Vec<u8>> = vec![Vec::new()];
        let mut from = 0;
        for _ in 0..5 {
            let to = texts.len();
            for i in from..to {
                for piece in pieces {
                    texts.push([&texts[i][..], piece].concat());
                }
            }
            from = to;
        }
        for text in texts {
            let ends_here = !text.last().copied().is_some_and(is_white);
            let strict = serde_json::from_slice::<serde_json::Value>(&text).is_ok();
            assert_eq!(is_sound(&text), strict && ends_here, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn numbers_and_escapes_to_the_letter() {
        for text in ["0", "-0", "10", "1.5", "1e5", "1E-5", "-1.5e+10", r#""\u00e9\ud83d\ude00\/""#] {
            assert!(is_sound(text.as_bytes()), "{text}");
        }
        for text in [
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "1e400",
            "--1",
            "NaN",
            r#""\ud83d""#,
            r#""\udc00""#,
            r#""\u+123""#,
            "\"\t\"",
        ] {
            assert!(!is_sound(text.as_bytes()), "{text}");
        }
    }
}
