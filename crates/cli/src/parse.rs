//! Values of flags: steps, times and sizes as people write them.

use std::ffi::OsStr;

use clap::builder::{NonEmptyStringValueParser, TypedValueParser};

use crate::args::Against;

/// `42` or `41..43`, both ends in.
pub(crate) fn steps(text: &str) -> Result<(i64, i64), String> {
    let wrong = || format!("expected a step N or a range A..B, found `{text}`");
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| wrong());
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (number(first)?, number(last.strip_prefix('=').unwrap_or(last))?),
        None => (number(text)?, number(text)?),
    };
    if first > last {
        return Err(format!("the range {first}..{last} is empty: its first step comes after its last"));
    }
    Ok((first, last))
}

/// `2` or `1..3`, both ends in, counted from 0.
pub(crate) fn instances(text: &str) -> Result<(usize, usize), String> {
    let (first, last) = steps(text).map_err(|error| error.replace("step", "number"))?;
    let place = |number: i64| usize::try_from(number).map_err(|_| format!("{number}: counted from 0"));
    Ok((place(first)?, place(last)?))
}

/// Nanoseconds, or a number with a unit: `1500`, `1.5us`, `20ms`, `2s`.
pub(crate) fn time(text: &str) -> Result<i64, String> {
    let units = [("ns", 1), ("us", 1_000), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    scaled(text, &units)
        .ok_or_else(|| format!("expected nanoseconds or a time such as 20ms or 1.5s, found `{text}`"))
}

/// A word that nobody guesses, and that an address can hold.
pub(crate) fn token(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.len() >= 16 && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err("expected at least 16 letters, digits, - _ or .".to_owned())
    }
}

/// A trace on the command line: any name that a file may have, text or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceName;

impl TypedValueParser for TraceName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        match value.to_str() {
            Some(_) => NonEmptyStringValueParser::new().parse_ref(command, argument, value),
            None => Ok(gpuscope_job::text_of(value)),
        }
    }
}

/// Bytes, or a number with a unit: `4096`, `20MB`, `1.5GiB`, `8G`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let units = [
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("tib", 1 << 40),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("tb", 1_000_000_000_000),
        ("k", 1_000),
        ("m", 1_000_000),
        ("g", 1_000_000_000),
        ("t", 1_000_000_000_000),
        ("b", 1),
    ];
    let bytes = scaled(&text.to_ascii_lowercase(), &units).and_then(|bytes| u64::try_from(bytes).ok());
    bytes.ok_or_else(|| format!("expected a size such as 512MB, 8GiB or 4096, found `{text}`"))
}

/// A number above zero.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err(format!("expected a number that is not negative, found `{text}`")),
    }
}

/// `3%` or `3`: a share of the whole.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').unwrap_or(text).trim_end();
    positive(number)
        .map(|percent| percent / 100.0)
        .map_err(|_| format!("expected a percentage such as 3%, found `{text}`"))
}

/// Whole days or weeks, in days: `90d`, `12w`.
pub(crate) fn days(text: &str) -> Result<i64, String> {
    let wrong = || format!("expected days or weeks such as 90d or 12w, found `{text}`");
    let (number, size) = match text.trim() {
        text if text.ends_with('w') => (text.trim_end_matches('w'), 7),
        text => (text.trim_end_matches('d'), 1),
    };
    let number = number.parse::<u32>().map_err(|_| wrong())?;
    i64::from(number).checked_mul(size).ok_or_else(wrong)
}

/// An expression and what to multiply with: `nccl.*=0.5`.
pub(crate) fn scale(text: &str) -> Result<(String, f64), String> {
    let wrong = || format!("expected an expression, `=` and a factor, such as 'nccl.*=0.5', found `{text}`");
    let (pattern, factor) = text.rsplit_once('=').ok_or_else(wrong)?;
    match positive(factor.trim()) {
        Ok(factor) if !pattern.is_empty() => Ok((pattern.to_owned(), factor)),
        _ => Err(wrong()),
    }
}

/// A share from 0 to 1.
pub(crate) fn ratio(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1.0).contains(&value) => Ok(value),
        _ => Err(format!("expected a share from 0 to 1, found `{text}`")),
    }
}

/// `median`, or the number of a rank.
pub(crate) fn against(text: &str) -> Result<Against, String> {
    match text {
        "median" => Ok(Against::Median),
        number => number
            .parse()
            .map(Against::Rank)
            .map_err(|_| format!("expected `median` or the number of a rank, found `{text}`")),
    }
}

/// Decimal text times its unit, in integers: no digit of a time is lost.
fn scaled(text: &str, units: &[(&str, i64)]) -> Option<i64> {
    let text = text.trim();
    let by_unit = units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, *scale)));
    let (number, scale) = by_unit.unwrap_or((text, 1));
    let (whole, fraction) = number.trim_end().split_once('.').unwrap_or((number.trim_end(), ""));
    if !fraction.bytes().all(|digit| digit.is_ascii_digit()) || whole.starts_with(['+', '-']) {
        return None;
    }
    let whole = whole.parse::<i64>().ok()?.checked_mul(scale)?;
    // More than twelve places say nothing in any unit here.
    let fraction = &fraction[..fraction.len().min(12)];
    let part = match fraction {
        "" => 0,
        digits => {
            i128::from(digits.parse::<i64>().ok()?) * i128::from(scale) / 10_i128.pow(digits.len() as u32)
        }
    };
    whole.checked_add(i64::try_from(part).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_one_or_a_range() {
        assert_eq!(steps("42"), Ok((42, 42)));
        assert_eq!(steps("41..43"), Ok((41, 43)));
        assert!(steps("43..41").unwrap_err().contains("empty"));
        assert!(steps("a..b").is_err());
        assert!(steps("").is_err());
    }

    #[test]
    fn times_and_sizes_keep_every_digit() {
        assert_eq!(time("1500"), Ok(1500));
        assert_eq!(time("1.5us"), Ok(1500));
        assert_eq!(time("0.001s"), Ok(1_000_000));
        assert_eq!(time("9007199254740993ns"), Ok(9_007_199_254_740_993));
        assert!(time("soon").is_err() && time("-3").is_err() && time("1.x").is_err());
        assert_eq!(size("20MB"), Ok(20_000_000));
        assert_eq!(size("1.5GiB"), Ok(1_610_612_736));
        assert_eq!(size("8g"), Ok(8_000_000_000));
        assert!(size("much").is_err());
    }
}
