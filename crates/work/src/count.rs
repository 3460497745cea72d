//! Counts of elements, operations and bytes that are exact or absent.
//!
//! Formulas read best as plain arithmetic, but sizes come from traces and may be anything. A [`Count`] that
//! overflows becomes absent and stays so, so that a formula is written once and checked once, at its end.

use std::iter::{Product, Sum};
use std::ops::{Add, Mul, Sub};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count(Option<u128>);

impl Count {
    pub(crate) const UNKNOWN: Count = Count(None);
    pub(crate) const ZERO: Count = Count(Some(0));
    pub(crate) const ONE: Count = Count(Some(1));

    pub(crate) const fn exactly(value: u128) -> Count {
        Count(Some(value))
    }

    pub(crate) fn get(self) -> Option<u128> {
        self.0
    }

    /// The quotient, if there is no rest.
    pub(crate) fn exact_div(self, divisor: Count) -> Count {
        self.with(divisor, |a, b| (b > 0 && a % b == 0).then(|| a / b))
    }

    /// This many, or none.
    pub(crate) fn when(self, condition: bool) -> Count {
        if condition { self } else { Count::ZERO }
    }

    fn with(self, other: Count, f: impl FnOnce(u128, u128) -> Option<u128>) -> Count {
        Count(self.0.zip(other.0).and_then(|(a, b)| f(a, b)))
    }
}

impl From<u64> for Count {
    fn from(value: u64) -> Count {
        Count(Some(u128::from(value)))
    }
}

impl Add for Count {
    type Output = Count;

    fn add(self, other: Count) -> Count {
        self.with(other, u128::checked_add)
    }
}

impl Sub for Count {
    type Output = Count;

    fn sub(self, other: Count) -> Count {
        self.with(other, u128::checked_sub)
    }
}

impl Mul for Count {
    type Output = Count;

    fn mul(self, other: Count) -> Count {
        self.with(other, u128::checked_mul)
    }
}

impl Mul<Count> for u64 {
    type Output = Count;

    fn mul(self, other: Count) -> Count {
        Count::from(self) * other
    }
}

impl Sum for Count {
    fn sum<I: Iterator<Item = Count>>(counts: I) -> Count {
        counts.fold(Count::ZERO, Add::add)
    }
}

impl Product for Count {
    fn product<I: Iterator<Item = Count>>(counts: I) -> Count {
        counts.fold(Count::ONE, Mul::mul)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overflows_stays_absent() {
        let huge = Count::from(u64::MAX) * Count::from(u64::MAX);
        assert_eq!(huge.get(), Some(u128::from(u64::MAX).pow(2)));
        let lost = huge * huge;
        assert_eq!((lost + Count::ZERO).get(), None);
        assert_eq!((Count::ZERO * lost).get(), None);
        assert_eq!((Count::from(1) - Count::from(2)).get(), None);
        assert_eq!(Count::from(7).exact_div(Count::from(2)).get(), None);
        assert_eq!(Count::from(8).exact_div(Count::from(2)).get(), Some(4));
        assert_eq!(Count::from(8).exact_div(Count::ZERO).get(), None);
    }
}
