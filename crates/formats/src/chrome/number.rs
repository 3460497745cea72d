//! Decimal text to integers, exactly: no float ever holds a time.

/// Microseconds as decimal text → nanoseconds, rounded to the nearest where the text is finer than that.
/// `None` for what is no number (`NaN`, `null`, …); a number too large for 64 bits becomes the largest.
pub(crate) fn us_to_ns(text: &[u8]) -> Option<i64> {
    decimal(text, 3)
}

/// An integer as text; `5.0` and `5e2` are integers too, `5.5` is none.
pub(crate) fn integer(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    if let Ok(value) = std::str::from_utf8(text).ok()?.parse::<i64>() {
        return Some(value);
    }
    // Handles above 2^63 keep their bits.
    if let Ok(value) = std::str::from_utf8(text).ok()?.parse::<u64>() {
        return Some(value as i64);
    }
    let value = decimal(text, 0)?;
    let is_whole = decimal(text, 3).is_some_and(|thousandths| Some(thousandths) == value.checked_mul(1000));
    (is_whole && value.abs() < i64::MAX / 1000).then_some(value)
}

pub(crate) fn float(text: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(text).ok()?.trim().parse().ok()?;
    value.is_finite().then_some(value)
}

/// `text` × 10^`shift` as an integer, rounded half away from zero.
fn decimal(text: &[u8], shift: i32) -> Option<i64> {
    let text = text.trim_ascii();
    let (negative, rest) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        (b'+', rest) => (false, rest),
        _ => (false, text),
    };
    let mut mantissa: u128 = 0;
    let mut exponent: i32 = shift;
    let mut digits = 0u32;
    let mut seen_point = false;
    let mut i = 0;
    while let Some(&byte) = rest.get(i) {
        match byte {
            b'0'..=b'9' => {
                digits += 1;
                // 37 digits are more than any time needs; further ones only move the point.
                if mantissa < 10u128.pow(36) {
                    mantissa = mantissa * 10 + u128::from(byte - b'0');
                    exponent -= i32::from(seen_point);
                } else {
                    exponent += i32::from(!seen_point);
                }
            }
            b'.' if !seen_point => seen_point = true,
            _ => break,
        }
        i += 1;
    }
    if digits == 0 {
        return None;
    }
    match rest.get(i) {
        None => {}
        Some(b'e' | b'E') => {
            let text = std::str::from_utf8(&rest[i + 1..]).ok()?;
            exponent = exponent.saturating_add(text.parse::<i32>().ok()?);
        }
        Some(_) => return None,
    }
    let magnitude = if mantissa == 0 {
        0
    } else if exponent >= 0 {
        10u128
            .checked_pow(exponent.min(1000) as u32)
            .and_then(|p| mantissa.checked_mul(p))
            .unwrap_or(u128::MAX)
    } else {
        match 10u128.checked_pow(exponent.unsigned_abs()) {
            Some(power) => mantissa / power + u128::from(mantissa % power >= power - power / 2),
            None => 0,
        }
    };
    let magnitude = i64::try_from(magnitude).unwrap_or(i64::MAX);
    Some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_become_exact_nanoseconds() {
        assert_eq!(us_to_ns(b"1428625731896.179"), Some(1_428_625_731_896_179));
        assert_eq!(us_to_ns(b"1679055451545746"), Some(1_679_055_451_545_746_000));
        assert_eq!(us_to_ns(b"12.0"), Some(12_000));
        assert_eq!(us_to_ns(b"-0.5"), Some(-500));
        assert_eq!(us_to_ns(b"1.5e3"), Some(1_500_000));
        assert_eq!(us_to_ns(b"15E-1"), Some(1_500));
        assert_eq!(us_to_ns(b" 7 "), Some(7_000));
    }

    #[test]
    fn finer_than_a_nanosecond_is_rounded() {
        assert_eq!(us_to_ns(b"0.0014"), Some(1));
        assert_eq!(us_to_ns(b"0.0015"), Some(2));
        assert_eq!(us_to_ns(b"-0.0015"), Some(-2));
        assert_eq!(us_to_ns(b"1e-300"), Some(0));
    }

    #[test]
    fn no_number_is_absent_and_too_large_is_the_largest() {
        for text in [&b"NaN"[..], b"null", b"", b"-", b".", b"1e", b"12abc", b"Infinity"] {
            assert_eq!(us_to_ns(text), None, "{}", text.escape_ascii());
        }
        assert_eq!(us_to_ns(b"1e300"), Some(i64::MAX));
        assert_eq!(us_to_ns(b"-99999999999999999999999999999999999999999999"), Some(-i64::MAX));
    }

    #[test]
    fn integers_may_be_written_as_floats_but_not_have_a_fraction() {
        assert_eq!(integer(b"9007199254740993"), Some(9_007_199_254_740_993));
        assert_eq!(integer(b"18446744073709551615"), Some(-1));
        assert_eq!(integer(b"5.0"), Some(5));
        assert_eq!(integer(b"5e2"), Some(500));
        assert_eq!(integer(b"5.5"), None);
        assert_eq!(integer(b"0x10"), None);
    }
}
