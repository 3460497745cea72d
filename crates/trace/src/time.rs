//! Time is an integer number of nanoseconds, everywhere.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};

use serde::Serialize;

/// A point in time or a length of time, in nanoseconds.
///
/// Arithmetic saturates: a hostile trace may claim any time at all, and neither a panic nor a wrapped sum
/// would be an honest answer to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Ns(pub i64);

impl Ns {
    pub const ZERO: Ns = Ns(0);
    /// The largest time a reader may accept: differences of any two accepted times still fit in 64 bits.
    pub const LIMIT: Ns = Ns(i64::MAX / 2);

    pub fn from_us(us: i64) -> Ns {
        Ns(us.saturating_mul(1000))
    }

    /// Microseconds that a person typed, to the nearest nanosecond.
    pub fn from_fractional_us(us: f64) -> Ns {
        Ns((us * 1000.0).round() as i64)
    }

    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// `self` as a percentage of `whole`; 0 of nothing.
    pub fn pct_of(self, whole: Ns) -> f64 {
        if whole.0 == 0 { 0.0 } else { 100.0 * self.as_f64() / whole.as_f64() }
    }
}

impl Add for Ns {
    type Output = Ns;
    fn add(self, other: Ns) -> Ns {
        Ns(self.0.saturating_add(other.0))
    }
}

impl Sub for Ns {
    type Output = Ns;
    fn sub(self, other: Ns) -> Ns {
        Ns(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Ns {
    fn add_assign(&mut self, other: Ns) {
        *self = *self + other;
    }
}

impl SubAssign for Ns {
    fn sub_assign(&mut self, other: Ns) {
        *self = *self - other;
    }
}

impl Sum for Ns {
    fn sum<I: Iterator<Item = Ns>>(iter: I) -> Ns {
        iter.fold(Ns::ZERO, Add::add)
    }
}

impl fmt::Display for Ns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_instead_of_wrapping() {
        assert_eq!(Ns(i64::MAX) + Ns(1), Ns(i64::MAX));
        assert_eq!(Ns(i64::MIN) - Ns(1), Ns(i64::MIN));
        assert_eq!([Ns(i64::MAX), Ns(5)].into_iter().sum::<Ns>(), Ns(i64::MAX));
    }

    #[test]
    fn a_share_of_nothing_is_zero() {
        assert_eq!(Ns(5).pct_of(Ns::ZERO).to_bits(), 0.0_f64.to_bits());
        assert!((Ns(1).pct_of(Ns(4)) - 25.0).abs() < 1e-12);
    }
}
