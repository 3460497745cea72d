//! Points in time as people and files write them, and as histories keep them: microseconds since 1970, UTC.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

pub fn now() -> i64 {
    Timestamp::now().as_microsecond()
}

/// `2026-01-26T14:27:35.233860`, with or without a zone; without, it is this machine's time.
pub fn micros(text: &str) -> Option<i64> {
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Some(timestamp.as_microsecond());
    }
    let date: DateTime = text.parse().ok()?;
    Some(date.to_zoned(TimeZone::system()).ok()?.timestamp().as_microsecond())
}

/// `2026-01-26 14:27` in this machine's time.
pub fn shown(micros: i64) -> String {
    let Ok(timestamp) = Timestamp::from_microsecond(micros) else { return String::new() };
    Zoned::new(timestamp, TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_with_and_without_a_zone() {
        let utc = micros("2026-01-26T14:27:35.233860Z").unwrap();
        assert_eq!(utc % 1_000_000, 233_860);
        assert_eq!(micros("2026-01-26T15:27:35.233860+01:00"), Some(utc));
        assert!(micros("2026-01-26T14:27:35").is_some() && micros("yesterday").is_none());
    }
}
