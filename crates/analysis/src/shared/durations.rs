//! Count, sum, mean, spread: figures over the lengths of a number of events.

use gpuscope_trace::Ns;

/// Figures over a number of events, in exact integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Durations {
    pub(crate) count: u64,
    pub(crate) sum: i128,
    pub(crate) squares: u128,
    pub(crate) min: Ns,
    pub(crate) max: Ns,
}

impl Durations {
    pub(crate) fn add(&mut self, duration: Ns) {
        let square = u128::from(duration.0.unsigned_abs()).pow(2);
        let one =
            Durations { count: 1, sum: duration.0.into(), squares: square, min: duration, max: duration };
        self.join(&one);
    }

    pub(crate) fn join(&mut self, other: &Durations) {
        if self.count == 0 {
            *self = *other;
            return;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Sample standard deviation: the numerator is exact, so events of equal length give 0.
    pub(crate) fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let (n, sum) = (u128::from(self.count), self.sum.unsigned_abs());
        let exact = n.checked_mul(self.squares).zip(sum.checked_mul(sum));
        let numerator = match exact {
            Some((scaled, square)) => scaled.saturating_sub(square) as f64,
            // Durations of centuries: a float is near enough.
            None => (n as f64 * self.squares as f64 - (sum as f64).powi(2)).max(0.0),
        };
        (numerator / (n as f64 * (n - 1) as f64)).sqrt()
    }

    /// The sum as a time; durations of centuries give the largest there is.
    pub(crate) fn sum_ns(&self) -> Ns {
        Ns(i64::try_from(self.sum).unwrap_or(i64::MAX))
    }
}
