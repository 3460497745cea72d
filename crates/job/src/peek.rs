//! The rank that a file says of itself, without reading the whole file: Kineto writes it before the events.

use std::io::{self, Cursor, Read};

use flate2::read::MultiGzDecoder;

use crate::source::{Source, Wrapping};

/// How much text is looked at; the lists of process groups of large jobs come after the rank.
const LOOK: u64 = 64 << 10;

/// The file's own rank, if its first bytes tell; a file that says nothing there may still do so further on.
pub(crate) fn rank(source: &Source) -> Option<u32> {
    rank_in(&beginning_of(source)?)
}

/// The first text of a file, unwrapped.
pub(crate) fn beginning_of(source: &Source) -> Option<Vec<u8>> {
    source.with_reader(|input| beginning(input, source.head.wrapping)).ok()?.ok()
}

fn beginning(input: &mut dyn Read, wrapping: Wrapping) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let result = match wrapping {
        Wrapping::Plain => input.take(LOOK).read_to_end(&mut text),
        Wrapping::Gzip => MultiGzDecoder::new(input).take(LOOK).read_to_end(&mut text),
        Wrapping::Zstd => zstd::Decoder::new(input)?.take(LOOK).read_to_end(&mut text),
    };
    // What came before the damage still counts; reading the file will tell of it.
    result.map(|_| text)
}

fn rank_in(text: &[u8]) -> Option<u32> {
    let events = find(text, b"\"traceEvents\"").unwrap_or(text.len());
    let before = &text[..events];
    let mut at = find(before, b"\"distributedInfo\"")? + b"\"distributedInfo\"".len();
    at += find(&before[at..], b"{")? + 1;
    let mut text = Cursor::new(&before[at..]);
    let mut depth = 0_u32;
    while let Some(byte) = next(&mut text) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b'"' => {
                let word = string(&mut text)?;
                if depth == 0 && word == b"rank" {
                    return number_after_colon(&mut text);
                }
            }
            _ => {}
        }
    }
    None
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

fn next(text: &mut Cursor<&[u8]>) -> Option<u8> {
    let byte = text.get_ref().get(text.position() as usize).copied()?;
    text.set_position(text.position() + 1);
    Some(byte)
}

/// The rest of a string whose opening quote has been read.
fn string(text: &mut Cursor<&[u8]>) -> Option<Vec<u8>> {
    let mut word = Vec::new();
    loop {
        match next(text)? {
            b'"' => return Some(word),
            b'\\' => word.push(next(text)?),
            byte => word.push(byte),
        }
    }
}

fn number_after_colon(text: &mut Cursor<&[u8]>) -> Option<u32> {
    let rest = text.get_ref().get(text.position() as usize..)?.trim_ascii_start();
    let rest = rest.strip_prefix(b":")?.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // A number that touches the end of what was read may go on.
    if digits == rest.len() { None } else { std::str::from_utf8(&rest[..digits]).ok()?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_before_the_events() {
        let text = br#"{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "pg": [{"rank": 9}], "rank" : 3, "world_size": 4}, "traceEvents": ["#;
        assert_eq!(rank_in(text), Some(3));
    }

    #[test]
    fn nothing_is_guessed() {
        assert_eq!(rank_in(br#"{"traceEvents": [{"distributedInfo": {"rank": 3}}"#), None);
        assert_eq!(rank_in(br#"{"distributedInfo": {"world_size": 3}, "rank": 5"#), None);
        assert_eq!(rank_in(br#"{"distributedInfo": {"rank": 1"#), None);
        assert_eq!(rank_in(b"garbage"), None);
    }
}
