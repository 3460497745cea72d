//! Numbers as people read them: `32,746,880`, `1.759.000,00`, `n/a`.

use gpuscope_trace::MetricValue;

/// What a cell says: a number without its thousands separators, nothing, or the text as it stands.
pub(super) fn value(cell: &[u8]) -> MetricValue {
    let text = String::from_utf8_lossy(cell);
    let text = text.trim();
    if text.is_empty() || text == "n/a" {
        return MetricValue::Absent;
    }
    let Some(plain) = plain(text) else { return MetricValue::Text(text.to_owned()) };
    match (plain.parse::<i64>(), plain.parse::<f64>()) {
        (Ok(value), _) => MetricValue::Int(value),
        (_, Ok(value)) if value.is_finite() => MetricValue::Number(value),
        _ => MetricValue::Text(text.to_owned()),
    }
}

/// The number with a point for its fraction and nothing between its digits; None if it is none.
fn plain(text: &str) -> Option<String> {
    // Some languages put a thin or hard space between thousands.
    let text: String = text.chars().filter(|c| !matches!(c, '\u{a0}' | '\u{202f}' | '\u{2009}')).collect();
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    let digits = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let is_number = !digits.is_empty()
        && digits.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','))
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','));
    if !is_number || !digits.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    // Of two sorts of marks the last is that of the fraction; of one sort, it is if it stands alone and no three digits follow.
    let last = digits.rfind([',', '.']);
    let fraction = last.filter(|at| {
        let mark = &digits[*at..=*at];
        let other = if mark == "." { "," } else { "." };
        let alone = digits.matches(mark).count() == 1;
        alone && (digits.contains(other) || mark == "." || digits.len() - at - 1 != 3)
    });
    let mut plain = String::with_capacity(text.len());
    plain.extend(mantissa.starts_with('-').then_some('-'));
    for (at, c) in digits.char_indices() {
        if Some(at) == fraction {
            plain.push('.');
        } else if c.is_ascii_digit() {
            plain.push(c);
        }
    }
    plain.push_str(exponent);
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_of_thousands_are_no_part_of_a_number() {
        for (text, expected) in [
            ("32,746,880", MetricValue::Int(32_746_880)),
            ("1,759,000.00", MetricValue::Number(1_759_000.0)),
            ("1.759.000,25", MetricValue::Number(1_759_000.25)),
            ("1\u{202f}759,5", MetricValue::Number(1_759.5)),
            ("3995313115.40", MetricValue::Number(3_995_313_115.4)),
            ("0.125", MetricValue::Number(0.125)),
            ("-12,5", MetricValue::Number(-12.5)),
            ("1,234", MetricValue::Int(1234)),
            ("1.5e-3", MetricValue::Number(0.0015)),
            ("n/a", MetricValue::Absent),
            ("", MetricValue::Absent),
        ] {
            assert_eq!(value(text.as_bytes()), expected, "{text}");
        }
        for text in ["CachePreferNone", "32.00; 32.00; 4.00", "all", "(1, 2)", "-", ".", "12 ms"] {
            assert_eq!(value(text.as_bytes()), MetricValue::Text(text.to_owned()));
        }
    }
}
