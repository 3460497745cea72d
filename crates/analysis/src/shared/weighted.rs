//! Figures over a value that changes with time, each value weighted by how long it lasted.

use gpuscope_trace::Ns;

/// Values in exact integers, and for how long each was taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weighted {
    values: Vec<(i128, Ns)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) time: Ns,
    pub(crate) min: i128,
    /// A quarter, a half, three quarters of the time it was at most this.
    pub(crate) quartiles: [i128; 3],
    pub(crate) max: i128,
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

impl Weighted {
    pub(crate) fn add(&mut self, value: i128, time: Ns) {
        if time > Ns::ZERO {
            self.values.push((value, time));
        }
    }

    /// None if no time passed.
    pub(crate) fn spread(mut self) -> Option<Spread> {
        self.values.sort_unstable();
        let (min, max) = (self.values.first()?.0, self.values.last()?.0);
        let time: Ns = self.values.iter().map(|(_, time)| *time).sum();
        let whole = i128::from(time.0);
        let mut quartiles = [max; 3];
        let mut until = 0_i128;
        let mut next = 0;
        for (value, time) in &self.values {
            until += i128::from(time.0);
            while next < 3 && until * 4 >= whole * (next as i128 + 1) {
                quartiles[next] = *value;
                next += 1;
            }
        }
        let over_time = |figure: &dyn Fn(f64) -> f64| {
            let area: f64 =
                self.values.iter().map(|(value, time)| figure(*value as f64) * time.as_f64()).sum();
            area / time.as_f64()
        };
        let mean = over_time(&|value| value);
        let deviation = over_time(&|value| (value - mean).powi(2)).sqrt();
        Some(Spread { time, min, quartiles, max, mean, deviation })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_what_an_observer_sees_every_nanosecond(
            values in proptest::collection::vec((-5..5i128, 0..6i64), 0..12),
        ) {
            let mut weighted = Weighted::default();
            let mut seen: Vec<i128> = Vec::new();
            for (value, time) in values {
                weighted.add(value, Ns(time));
                seen.extend((0..time).map(|_| value));
            }
            seen.sort_unstable();
            let Some(spread) = weighted.spread() else {
                prop_assert!(seen.is_empty());
                return Ok(());
            };
            prop_assert_eq!(spread.time.0, seen.len() as i64);
            prop_assert_eq!((spread.min, spread.max), (seen[0], seen[seen.len() - 1]));
            for (k, quartile) in spread.quartiles.iter().enumerate() {
                prop_assert_eq!(*quartile, seen[(seen.len() * (k + 1)).div_ceil(4) - 1]);
            }
            let mean = seen.iter().sum::<i128>() as f64 / seen.len() as f64;
            prop_assert!((spread.mean - mean).abs() < 1e-9);
            let squares: f64 = seen.iter().map(|value| (*value as f64 - mean).powi(2)).sum();
            prop_assert!((spread.deviation - (squares / seen.len() as f64).sqrt()).abs() < 1e-9);
        }
    }
}
