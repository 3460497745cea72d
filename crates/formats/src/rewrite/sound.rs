//! JSON that is none, as damaged or careless producers write it, made into JSON that every parser takes.
//!
//! The reader is lenient: raw control characters, bad escapes, `NaN`, missing and doubled commas, anything in what
//! it passes over. A copy must not hand that on. Sound text stays as it is, byte for byte; in the rest strings,
//! keys and numbers keep the value that the reader sees, what has none becomes `null`, and so does what is nested
//! deeper than [`DEEPEST`], which no parser but ours would go into.

use std::borrow::Cow;

use super::check::{is_number, is_sound, is_sound_string, is_white, is_written_as_number};
use super::members::{string_of, value_end};
use super::quoted;

/// Lists and objects inside of each other, as many as parsers commonly take.
pub const DEEPEST: usize = 120;

/// A value, and whether all of it is there.
#[derive(Debug)]
pub(crate) struct Sound<'t> {
    pub(crate) text: Cow<'t, [u8]>,
    /// Values that were nested too deep and are now `null`.
    pub(crate) too_deep: u64,
}

/// One value as the scanner found it, made sound.
pub(crate) fn sound(text: &[u8]) -> Sound<'_> {
    if is_sound(text) {
        return Sound { text: Cow::Borrowed(text), too_deep: 0 };
    }
    let mut mender = Mender { text, at: 0, out: Vec::with_capacity(text.len()), too_deep: 0 };
    mender.value(0);
    Sound { text: Cow::Owned(mender.out), too_deep: mender.too_deep }
}

/// A string with its quotes, made sound.
pub(crate) fn sound_string(raw: &[u8]) -> Cow<'_, [u8]> {
    if is_sound_string(raw) {
        return Cow::Borrowed(raw);
    }
    Cow::Owned(quoted(&string_of(raw).unwrap_or_default()).into_bytes())
}

struct Mender<'t> {
    text: &'t [u8],
    at: usize,
    out: Vec<u8>,
    too_deep: u64,
}

impl Mender<'_> {
    fn peek(&mut self) -> Option<u8> {
        let space =
            self.text[self.at.min(self.text.len())..].iter().take_while(|byte| **byte <= b' ').count();
        self.at += space;
        self.text.get(self.at).copied()
    }

    /// The value at this place; its end is where the scanner sees it.
    fn value(&mut self, depth: usize) {
        let first = self.peek();
        let end = value_end(self.text, self.at).unwrap_or(self.text.len());
        match first {
            Some(b'"') => {
                let string = sound_string(&self.text[self.at..end]);
                self.out.extend_from_slice(&string);
            }
            Some(b'[' | b'{') if depth >= DEEPEST => {
                self.out.extend_from_slice(b"null");
                self.too_deep += 1;
            }
            Some(b'[') => self.list(depth, end),
            Some(b'{') => self.object(depth, end),
            _ => {
                let new = scalar(&self.text[self.at..end]);
                self.out.extend_from_slice(&new);
            }
        }
        self.at = end;
    }

    fn list(&mut self, depth: usize, end: usize) {
        self.at += 1;
        self.out.push(b'[');
        let mut first = true;
        while self.peek().is_some() && self.at + 1 < end {
            let before = self.at;
            if matches!(self.text[self.at], b',' | b':' | b'}' | b']') {
                self.at += 1;
                continue;
            }
            self.separate(&mut first);
            self.value(depth + 1);
            debug_assert!(self.at > before, "a value is not empty");
        }
        self.out.push(b']');
    }

    /// Members up to the first thing that is none: what the reader takes from such an object.
    fn object(&mut self, depth: usize, end: usize) {
        self.at += 1;
        self.out.push(b'{');
        let mut first = true;
        while self.at + 1 < end {
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'"') => {
                    let Some(key_end) = value_end(self.text, self.at) else { break };
                    let key = self.at..key_end;
                    self.at = key_end;
                    if self.peek() != Some(b':') {
                        break;
                    }
                    self.at += 1;
                    if self.peek().is_none_or(|byte| matches!(byte, b',' | b'}' | b']')) {
                        break;
                    }
                    self.separate(&mut first);
                    let key = sound_string(&self.text[key]);
                    self.out.extend_from_slice(&key);
                    self.out.extend_from_slice(b": ");
                    self.value(depth + 1);
                }
                _ => break,
            }
        }
        self.out.push(b'}');
    }

    fn separate(&mut self, first: &mut bool) {
        if !std::mem::take(first) {
            self.out.extend_from_slice(b", ");
        }
    }
}

/// A number as JSON writes it, a word of JSON, or `null` for what the reader makes nothing of.
fn scalar(text: &[u8]) -> Cow<'_, [u8]> {
    if is_number(text) || matches!(text, b"true" | b"false" | b"null") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(number(text).unwrap_or_else(|| b"null".to_vec()))
}

/// `+5`, `.5`, `5.` and `007` are numbers to the reader.
fn number(text: &[u8]) -> Option<Vec<u8>> {
    let (sign, text) = match text.split_first()? {
        (b'-', rest) => (&b"-"[..], rest),
        (b'+', rest) => (&b""[..], rest),
        _ => (&b""[..], text),
    };
    let exponent_at = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
    let (mantissa, exponent) = text.split_at(exponent_at);
    let mut parts = mantissa.splitn(2, |byte| *byte == b'.');
    let (whole, fraction) = (parts.next()?, parts.next().unwrap_or_default());
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let zeros = whole.iter().take_while(|byte| **byte == b'0').count();
    let mut out = sign.to_vec();
    out.extend_from_slice(if zeros == whole.len() { b"0" } else { &whole[zeros..] });
    if !fraction.is_empty() {
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
    out.extend_from_slice(exponent);
    if is_written_as_number(&out) && !is_number(&out) {
        // To the reader the largest there is, which this is too.
        return Some([sign, b"1e300"].concat());
    }
    is_number(&out).then_some(out)
}

/// What stands before a value in the top-level object, `, "key": `, with its comma or without: as it stands if
/// it is sound.
pub(crate) fn lead<'t>(text: &'t [u8], key: &[u8], comma: bool) -> Cow<'t, [u8]> {
    let key_at = text.iter().position(|byte| *byte == b'"').unwrap_or(text.len());
    let before = &text[..key_at];
    let behind = text.get(key_at + key.len() + 2..).unwrap_or_default();
    let commas = before.split(|byte| *byte == b',').count() - 1;
    let all = |part: &[u8], mark: u8| part.iter().all(|byte| *byte == mark || is_white(*byte));
    let mut quoted_key = Vec::with_capacity(key.len() + 2);
    quoted_key.push(b'"');
    quoted_key.extend_from_slice(key);
    quoted_key.push(b'"');
    if commas == usize::from(comma) && all(before, b',') && all(behind, b':') && is_sound_string(&quoted_key)
    {
        return Cow::Borrowed(text);
    }
    let mut out = if comma { b", ".to_vec() } else { Vec::new() };
    out.extend_from_slice(&sound_string(&quoted_key));
    out.extend_from_slice(b": ");
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(text: &str) -> String {
        let text = sound(text.as_bytes()).text.into_owned();
        let text = String::from_utf8(text).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        text
    }

    #[test]
    fn sound_text_stays() {
        for text in [
            r#"{"a" :[1,-0.5e+7 , "x\u00e9\"", {}, [] ],"b":{"c":null}}"#,
            "17",
            "\"\"",
            "[\n\ttrue\r\n]",
            r#"{"a": 1, "a": 2}"#,
        ] {
            assert_eq!(mended(text), text);
        }
    }

    #[test]
    fn what_is_no_json_becomes_some() {
        for (text, want) in [
            ("{\"a\": \"raw\nline \u{1}\"}", r#"{"a": "raw\nline \u0001"}"#),
            (r#"{"a": "bad \q", "b\u12": 1}"#, r#"{"a": "bad \\q", "b\\u12": 1}"#),
            (r#"["\ud83d alone"]"#, "[\"\u{fffd} alone\"]"),
            (
                r#"{"a": NaN, "b": +5, "c": .5, "d": 007, "e": 5., "f": -Infinity}"#,
                r#"{"a": null, "b": 5, "c": 0.5, "d": 7, "e": 5, "f": null}"#,
            ),
            (r#"{"a": 1,, "b": 2,}"#, r#"{"a": 1, "b": 2}"#),
            (r#"{"a": 1 "b": 2}"#, r#"{"a": 1, "b": 2}"#),
            ("[1 2,,[3,]]", "[1, 2, [3]]"),
            (r#"{"a": 1, b: 2, "c": 3}"#, r#"{"a": 1}"#),
            (r#"{"a": [1}, "b": {2]}"#, r#"{"a": [1], "b": {}}"#),
            (r#"{"a":}"#, "{}"),
            ("{x}", "{}"),
            ("[1e999, -1e999]", "[1e300, -1e300]"),
            ("oops", "null"),
            ("{\u{b}\"a\": 1}", r#"{"a": 1}"#),
        ] {
            assert_eq!(mended(text), want, "{text}");
        }
        assert_eq!(sound(b"\"caf\xe9\"").text, "\"caf\u{fffd}\"".as_bytes());
    }

    #[test]
    fn what_is_nested_too_deep_is_emptied_and_counted() {
        for deep in [DEEPEST + 1, 100_000] {
            let text = format!("[{}{}, 7]", "[".repeat(deep), "]".repeat(deep));
            let sound = sound(text.as_bytes());
            assert_eq!(sound.too_deep, 1);
            assert!(sound.text.ends_with(b", 7]"));
            assert!(serde_json::from_slice::<serde_json::Value>(&sound.text).is_ok());
        }
        let text = format!("{}{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
        assert_eq!(mended(&text), text);
    }

    #[test]
    fn keys_have_one_comma_between_them() {
        let led = |text: &str, comma| {
            let key = text.split('"').nth(1).unwrap().as_bytes();
            String::from_utf8(lead(text.as_bytes(), key, comma).into_owned()).unwrap()
        };
        assert_eq!(led(" ,\n\"a\" : ", true), " ,\n\"a\" : ");
        assert_eq!(led(",,\"a\":", true), ", \"a\": ");
        assert_eq!(led("\"a\":", true), ", \"a\": ");
        assert_eq!(led(",\"a\":", false), "\"a\": ");
        assert_eq!(led("\u{1}\"a\tb\":", false), "\"a\\tb\": ");
    }
}
