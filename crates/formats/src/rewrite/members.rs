//! The members of one JSON object, found without parsing their values: lenient where traces are broken.

use std::borrow::Cow;
use std::ops::Range;

use crate::chrome::unescape;

/// Where key and value of a member stand in the object's text; the key with its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub key: Range<usize>,
    pub value: Range<usize>,
}

/// The members of an object in their order; `None` if the text is none.
pub fn members(text: &[u8]) -> Option<Vec<Member>> {
    parts(text, [b'{', b'}'], |at| {
        if text[at] != b'"' {
            return None;
        }
        let key = at..string(text, at)?;
        let colon = space(text, key.end);
        if text.get(colon) != Some(&b':') {
            return None;
        }
        let start = space(text, colon + 1);
        let end = value_end(text, start)?;
        Some((Member { key, value: start..end }, end))
    })
}

/// The items of a list in their order; `None` if the text is none.
pub fn items(text: &[u8]) -> Option<Vec<Range<usize>>> {
    parts(text, [b'[', b']'], |at| {
        let end = value_end(text, at)?;
        Some((at..end, end))
    })
}

/// What stands between two brackets and commas; `part` reads one and says where it ends.
fn parts<T>(
    text: &[u8],
    [open, close]: [u8; 2],
    part: impl Fn(usize) -> Option<(T, usize)>,
) -> Option<Vec<T>> {
    let mut at = space(text, 0);
    if text.get(at) != Some(&open) {
        return None;
    }
    at += 1;
    let mut found = Vec::new();
    loop {
        at = space(text, at);
        match *text.get(at)? {
            byte if byte == close => return Some(found),
            b',' => at += 1,
            _ => {
                let (one, end) = part(at)?;
                found.push(one);
                at = end;
            }
        }
    }
}

fn space(text: &[u8], from: usize) -> usize {
    from + text[from.min(text.len())..].iter().take_while(|byte| **byte <= b' ').count()
}

/// The place behind a string that begins at `from`.
fn string(text: &[u8], from: usize) -> Option<usize> {
    let mut at = from + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The place behind a value that begins at `from`.
pub(super) fn value_end(text: &[u8], from: usize) -> Option<usize> {
    match text.get(from)? {
        b'"' => string(text, from),
        b'{' | b'[' => {
            let (mut at, mut depth) = (from, 0_usize);
            loop {
                match text.get(at)? {
                    b'"' => {
                        at = string(text, at)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        _ => {
            let length = text[from..].iter().take_while(|byte| !is_end_of_scalar(**byte)).count();
            (length > 0).then_some(from + length)
        }
    }
}

fn is_end_of_scalar(byte: u8) -> bool {
    byte <= b' ' || matches!(byte, b',' | b'}' | b']')
}

/// The text of a JSON string, escapes resolved; `None` for any other value.
pub fn string_of(value: &[u8]) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if !inner.contains(&b'\\') {
        return Some(String::from_utf8_lossy(inner));
    }
    let mut plain = Vec::with_capacity(inner.len());
    unescape(inner, &mut plain);
    Some(Cow::Owned(String::from_utf8_lossy(&plain).into_owned()))
}

/// As [`string_of`], "" for any other value.
pub fn unquoted(value: &[u8]) -> Cow<'_, str> {
    string_of(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Option<Vec<(&str, &str)>> {
        let found = members(text.as_bytes())?;
        Some(found.into_iter().map(|member| (&text[member.key], &text[member.value])).collect())
    }

    #[test]
    fn members_are_found_in_any_layout() {
        assert_eq!(
            pairs("{\"a\":1, \"b\" : \"x\\\"}\" ,\n\"c\":[{\"d\":[]}, \"]\"],}"),
            Some(vec![("\"a\"", "1"), ("\"b\"", "\"x\\\"}\""), ("\"c\"", "[{\"d\":[]}, \"]\"]")])
        );
        assert_eq!(pairs("{}"), Some(vec![]));
        for broken in ["", "7", "{", "{\"a\"", "{\"a\":", "{\"a\":\"x", "{\"a\":[1", "{a:1}", "{\"a\":}"] {
            assert_eq!(pairs(broken), None, "{broken}");
        }
    }

    #[test]
    fn items_are_found() {
        let text = b"[1, [2, \"]\"],{} ]";
        let found: Vec<&[u8]> = items(text).unwrap().into_iter().map(|item| &text[item]).collect();
        assert_eq!(found, [&b"1"[..], b"[2, \"]\"]", b"{}"]);
        assert_eq!((items(b"[]"), items(b"{}"), items(b"[1")), (Some(Vec::new()), None, None));
    }

    #[test]
    fn strings_lose_quotes_and_escapes() {
        assert_eq!(string_of(br#""a\"b\u0041""#).unwrap(), "a\"bA");
        assert_eq!(string_of(b"17"), None);
        assert_eq!(unquoted(b"null"), "");
    }
}
