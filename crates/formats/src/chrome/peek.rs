//! What a file says of itself at its beginning, without being read: the rank, and when it was recorded.

use std::io::Cursor;

/// The file's own rank, if its first bytes tell; a file that says nothing there may still do so further on.
pub(crate) fn rank(text: &[u8]) -> Option<u32> {
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

/// Times below this are no microseconds since 1970: they count from somewhere that the file may say only at its end.
const LEAST_US: i64 = 1_000_000_000_000_000;

/// A moment of the recording, in nanoseconds since 1970.
pub(crate) fn moment(text: &[u8]) -> Option<i64> {
    let events = find(text, b"\"traceEvents\"").unwrap_or(0);
    let base = find(&text[..events], b"\"baseTimeNanoseconds\"")
        .and_then(|at| decimal(&text[at + b"\"baseTimeNanoseconds\"".len()..events]));
    let mut at = events;
    loop {
        at += find(&text[at..], b"\"ts\"")? + b"\"ts\"".len();
        // Names of threads may stand at time 0.
        match (decimal(&text[at..])?, base) {
            (0, _) => {}
            (time, Some(base)) => return base.checked_add(time.checked_mul(1_000)?),
            (time, None) if time >= LEAST_US => return time.checked_mul(1_000),
            (_, None) => return None,
        }
    }
}

/// The whole part of the number that follows a key.
fn decimal(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let text = text.strip_prefix(b"\"").unwrap_or(text);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == text.len() { None } else { std::str::from_utf8(&text[..digits]).ok()?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_before_the_events() {
        let text = br#"{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "pg": [{"rank": 9}], "rank" : 3, "world_size": 4}, "traceEvents": ["#;
        assert_eq!(rank(text), Some(3));
    }

    #[test]
    fn the_moment_is_since_1970_or_unknown() {
        let new = br#"{"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [{"ph": "M", "ts": 0}, {"ts": 12.345, "dur": 1}"#;
        assert_eq!(moment(new), Some(1_700_000_000_000_012_000));
        assert_eq!(
            moment(br#"{"traceEvents": [{"ts": 1700000000000000.5}"#),
            Some(1_700_000_000_000_000_000)
        );
        assert_eq!(moment(br#"{"traceEvents": [{"ts": 12.345}"#), None);
        assert_eq!(moment(br#"{"traceEvents": []}"#), None);
    }

    #[test]
    fn nothing_is_guessed() {
        assert_eq!(rank(br#"{"traceEvents": [{"distributedInfo": {"rank": 3}}"#), None);
        assert_eq!(rank(br#"{"distributedInfo": {"world_size": 3}, "rank": 5"#), None);
        assert_eq!(rank(br#"{"distributedInfo": {"rank": 1"#), None);
        assert_eq!(rank(b"garbage"), None);
    }
}
