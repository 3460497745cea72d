//! Numbers as people read them: scaled to a unit, with four digits that count.

use gpuscope_table::Unit;

pub(crate) const TIMES: [(&str, u64); 4] =
    [("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
pub(crate) const BYTES: [(&str, u64); 5] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// Of rates, as links are sold: powers of ten.
pub(crate) const RATES: [(&str, u64); 5] =
    [("B/s", 1), ("kB/s", 1_000), ("MB/s", 1_000_000), ("GB/s", 1_000_000_000), ("TB/s", 1_000_000_000_000)];

/// Of something that is counted.
pub(crate) const COUNT_RATES: [(&str, u64); 4] =
    [("/s", 1), ("k/s", 1_000), ("M/s", 1_000_000), ("G/s", 1_000_000_000)];

/// A length of time.
pub fn duration(ns: i64) -> String {
    scaled(ns, &TIMES)
}

/// A size.
pub fn bytes(bytes: i64) -> String {
    scaled(bytes, &BYTES)
}

/// Three digits that count, and all before the point.
pub(crate) fn three_digits(value: f64) -> String {
    if value == 0.0 || value.abs() >= 99.95 {
        return count(value.round() as i64);
    }
    let decimals = (2.0 - value.abs().log10().floor()).clamp(0.0, 10.0) as usize;
    let text = format!("{value:.decimals$}");
    // 9.996 is 10.0, not 10.00.
    if value.abs() < 1.0 || text.trim_start_matches('-').len() <= 4 { text } else { format!("{value:.1}") }
}

/// A number in the unit that suits it, with three digits.
pub(crate) fn brief(value: f64, units: &[(&str, u64)]) -> String {
    let (name, size) = unit_of(value.abs(), units);
    format!("{} {name}", three_digits(value / size as f64))
}

/// The largest unit in which a value is at least one.
pub(crate) fn unit_of<'a>(value: f64, units: &[(&'a str, u64)]) -> (&'a str, u64) {
    *units.iter().rev().find(|(_, size)| value >= *size as f64).unwrap_or(&units[0])
}

/// A whole number in groups of three.
pub fn count(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0 {
        text.push('-');
    }
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// What a unit is called in full; empty where the numbers merely count, or are names.
pub fn name(unit: Unit) -> String {
    match unit {
        Unit::None | Unit::Count | Unit::Ratio => String::new(),
        Unit::Ns => "nanoseconds".to_owned(),
        Unit::TimestampNs => "nanoseconds on the trace's clock".to_owned(),
        other => {
            let name = serde_json::to_value(other).ok().and_then(|value| value.as_str().map(str::to_owned));
            name.unwrap_or_default().replace('_', " ")
        }
    }
}

/// An integer of a unit.
pub fn int(value: i64, unit: Unit) -> String {
    match unit {
        Unit::Ns => duration(value),
        Unit::Bytes => bytes(value),
        Unit::BytesPerSecond => scaled(value, &RATES),
        Unit::PerSecond => brief(value as f64, &COUNT_RATES),
        Unit::Count => count(value),
        Unit::GigabytesPerSecond => format!("{value} GB/s"),
        Unit::Gigaflops => flops(value as f64),
        // A point in time loses its meaning when rounded.
        Unit::None
        | Unit::TimestampNs
        | Unit::Percent
        | Unit::Ratio
        | Unit::TerabytesPerSecond
        | Unit::TeraflopsPerSecond => value.to_string(),
    }
}

/// A float of a unit.
pub fn float(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ns if value.abs() >= 1_000.0 => duration(value.round() as i64),
        Unit::Ns => format!("{} ns", digits(value)),
        Unit::Bytes => bytes(value.round() as i64),
        Unit::BytesPerSecond => scaled(value.round() as i64, &RATES),
        Unit::PerSecond => brief(value, &COUNT_RATES),
        Unit::Percent => format!("{value:.1}"),
        Unit::GigabytesPerSecond => format!("{} GB/s", digits(value)),
        Unit::Gigaflops => flops(value),
        // The heading says the unit of rates.
        Unit::TerabytesPerSecond
        | Unit::TeraflopsPerSecond
        | Unit::None
        | Unit::Count
        | Unit::TimestampNs
        | Unit::Ratio => digits(value),
    }
}

/// A float with its unit, where no heading says it.
pub fn said(value: f64, unit: Unit) -> String {
    let text = float(value, unit);
    if unit == Unit::Percent { format!("{text} %") } else { text }
}

/// A value and its spread in one unit and with the same places: `1.32 ± 0.11 ms`.
pub fn plus_minus(value: f64, spread: Option<f64>, unit: Unit) -> String {
    let Some(spread) = spread else { return float(value, unit) };
    let sizes: &[(&str, u64)] = match unit {
        Unit::Ns => &TIMES,
        Unit::Bytes => &BYTES,
        Unit::BytesPerSecond => &RATES,
        Unit::PerSecond => &COUNT_RATES,
        _ => &[("", 1)],
    };
    let (name, size) = unit_of(value.abs(), sizes);
    let (value, spread) = (value / size as f64, spread / size as f64);
    let decimals = if value.abs() >= 100.0 { 1 } else { 2 };
    format!("{value:.decimals$} ± {spread:.decimals$} {name}").trim_end().to_owned()
}

/// Floating-point operations, given in units of 10^9: `120.9 G`.
fn flops(giga: f64) -> String {
    let units = [("", 1e-9), ("k", 1e-6), ("M", 1e-3), ("G", 1.0), ("T", 1e3), ("P", 1e6)];
    let (unit, size) = units.into_iter().rev().find(|(_, size)| giga.abs() >= *size).unwrap_or(units[0]);
    if size < 1e-8 { format!("{:.0}", giga / size) } else { format!("{} {unit}", digits(giga / size)) }
}

/// The largest unit in which the value is at least one; the smallest unit has no fraction.
fn scaled(value: i64, units: &[(&str, u64)]) -> String {
    let (name, size) = unit_of(value.unsigned_abs() as f64, units);
    if size == 1 {
        return format!("{value} {name}");
    }
    format!("{} {name}", digits(value as f64 / size as f64))
}

/// Four digits that count, never more than the number has before its point.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 999.95 => 0,
        size if size >= 99.995 => 1,
        size if size >= 9.9995 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_scale() {
        let shown: Vec<String> =
            [0, 999, 1_000, 1_234_567, -1_234_567, 59_999_999_999, 7_200_000_000_000].map(duration).into();
        assert_eq!(shown, ["0 ns", "999 ns", "1.000 µs", "1.235 ms", "-1.235 ms", "60.00 s", "7200 s"]);
    }

    #[test]
    fn units_have_names() {
        let named = [Unit::None, Unit::Ns, Unit::Bytes, Unit::GigabytesPerSecond].map(name);
        assert_eq!(named, ["", "nanoseconds", "bytes", "gigabytes per second"]);
    }

    #[test]
    fn sizes_and_counts() {
        assert_eq!(bytes(8_612_345), "8.213 MiB");
        assert_eq!(bytes(12), "12 B");
        assert_eq!(count(1_234_567).replace('\u{202f}', " "), "1 234 567");
        assert_eq!(count(-123), "-123");
    }

    #[test]
    fn floats() {
        assert_eq!(float(12.345, Unit::Percent), "12.3");
        assert_eq!(float(1234.5, Unit::Ns), "1.235 µs");
        assert_eq!(float(0.5, Unit::Ns), "0.500 ns");
        let work = [120.923, 1099.5, 0.000_3, 2e-9, 0.0].map(|giga| float(giga, Unit::Gigaflops));
        assert_eq!(work, ["120.9 G", "1.099 T", "300.0 k", "2", "0"]);
    }
}
