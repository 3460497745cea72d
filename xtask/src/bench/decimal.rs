//! Exact decimal numbers as they stand in a trace: `4458676388068.751` must not pass through a float.

use std::fmt;

/// `value / 10^digits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    value: i128,
    digits: u32,
}

impl Decimal {
    /// Reads `-12.340`; exponents, which no profiler writes for times, give `None`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let bare = whole.strip_prefix('-').unwrap_or(whole);
        let all_digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
        if bare.is_empty() || bare.len() + fraction.len() > 30 || !all_digits(bare) || !all_digits(fraction) {
            return None;
        }
        Some(Self { value: format!("{whole}{fraction}").parse().ok()?, digits: fraction.len() as u32 })
    }

    /// Adds whole units.
    pub(super) fn plus(self, units: i128) -> Self {
        Self { value: self.value + units * 10_i128.pow(self.digits), ..self }
    }

    /// The largest whole number that is not above.
    pub(super) fn floor(self) -> i128 {
        self.value.div_euclid(10_i128.pow(self.digits))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.digits == 0 {
            return write!(f, "{}", self.value);
        }
        let sign = if self.value < 0 { "-" } else { "" };
        let (unit, magnitude) = (10_u128.pow(self.digits), self.value.unsigned_abs());
        write!(f, "{sign}{}.{:0width$}", magnitude / unit, magnitude % unit, width = self.digits as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    fn plus(text: &str, units: i128) -> String {
        Decimal::parse(text).unwrap().plus(units).to_string()
    }

    #[test]
    fn sums_are_exact_and_keep_their_digits() {
        assert_eq!(plus("4458676388068.751", 713_091), "4458677101159.751");
        assert_eq!(plus("1661203462584767", 1), "1661203462584768");
        assert_eq!(plus("5.010", 0), "5.010");
        assert_eq!(plus("-1.25", 1), "-0.25");
        assert_eq!(plus("-1.25", 2), "0.75");
        assert_eq!(Decimal::parse("-1.25").unwrap().floor(), -2);
    }

    #[test]
    fn what_is_no_plain_decimal_is_refused() {
        for text in ["", "-", ".5", "1e6", "\"5\"", "null", "1.2.3", "+1"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }
}
