//! What a line of a log is, by its first bytes.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'l> {
    Record {
        /// The number of the process, or, before torch 2.5, of the thread.
        writer: u64,
        /// From a launcher's `[rank3]:` in front of the line.
        rank: Option<u32>,
        json: &'l [u8],
    },
    Payload(&'l [u8]),
    Other,
}

pub(super) fn line(text: &[u8]) -> Line<'_> {
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    let (rank, text) = launcher_prefix(text);
    match text.first() {
        Some(b'\t') => Line::Payload(&text[1..]),
        Some(b'V' | b'I' | b'W' | b'E' | b'C') => record(rank, text).unwrap_or(Line::Other),
        _ => Line::Other,
    }
}

/// `[rank3]:`, which launchers put before what they collect.
fn launcher_prefix(text: &[u8]) -> (Option<u32>, &[u8]) {
    let prefix = || {
        let rest = text.strip_prefix(b"[rank")?;
        let (digits, rest) = split_digits(rest);
        Some((number(digits)? as u32, rest.strip_prefix(b"]:")?))
    };
    prefix().map_or((None, text), |(rank, rest)| (Some(rank), rest))
}

/// `V0401 12:34:56.123456 4242 torch/x.py:7] {…`.
fn record(rank: Option<u32>, text: &[u8]) -> Option<Line<'_>> {
    let (date, rest) = split_digits(&text[1..]);
    let (time, rest) = rest.strip_prefix(b" ")?.split_at_checked("12:34:56.123456".len())?;
    let is_time = time.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
    let (writer, rest) = split_digits(rest.strip_prefix(b" ")?);
    let end = rest.windows(3).position(|bytes| bytes == b"] {")?;
    let is_place = rest[..end].last().is_some_and(u8::is_ascii_digit);
    (date.len() == 4 && is_time && is_place).then_some(())?;
    Some(Line::Record { writer: number(writer)?, rank, json: &rest[end + 2..] })
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.split_at(digits)
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_prefix_and_an_object() {
        let text = br#"V0401 12:34:56.123456 4242 torch/_dynamo/utils.py:7] {"str": ["a] {", 0]}"#;
        let json = &br#"{"str": ["a] {", 0]}"#[..];
        assert_eq!(line(text), Line::Record { writer: 4242, rank: None, json });
        let ranked = [b"[rank3]:", &text[..], b"\r"].concat();
        assert_eq!(line(&ranked), Line::Record { writer: 4242, rank: Some(3), json });
    }

    #[test]
    fn a_payload_is_behind_a_tab() {
        assert_eq!(line(b"\t  x"), Line::Payload(b"  x"));
        assert_eq!(line(b"[rank3]:\tx"), Line::Payload(b"x"));
        assert_eq!(line(b"\t"), Line::Payload(b""));
    }

    #[test]
    fn everything_else_is_other_output() {
        for other in [
            "",
            "V",
            "Very well",
            "{\"traceEvents\": [",
            "V0401 12:34:56.123456 4242 torch/x.py:7] [0/0] Graph break",
            "V0401 12:34:56.123456 4242 no place] {}",
            "V0401 12:34:56",
            "V0401 12:34:56.123456 99999999999999999999999 a.py:7] {}",
            "[rank]:V",
        ] {
            assert_eq!(line(other.as_bytes()), Line::Other, "{other}");
        }
    }
}
