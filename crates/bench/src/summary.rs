//! What repeated measurements of one thing say: their middle, their spread, and how surely their mean is known.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// In the unit of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub count: usize,
    pub mean: f64,
    /// Of a sample: the squares are divided by one less than there are.
    pub std: f64,
    pub min: f64,
    pub median: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
    /// The interval of the mean by Student's distribution; a single sample has none.
    pub ci_low: f64,
    pub ci_high: f64,
}

impl Summary {
    /// Nothing can be said of no samples, or of samples that are no numbers. `confidence` lies between 0 and 1.
    pub fn of(samples: &[f64], confidence: f64) -> Option<Summary> {
        if samples.is_empty() || samples.iter().any(|sample| !sample.is_finite()) {
            return None;
        }
        let sorted = sorted(samples);
        let count = sorted.len();
        let mean = mean(&sorted);
        let std = deviation(&sorted, mean);
        let reach = half_width(count, std, confidence);
        Some(Summary {
            count,
            mean,
            std,
            min: sorted[0],
            median: quantile(&sorted, 0.5),
            p95: quantile(&sorted, 0.95),
            p99: quantile(&sorted, 0.99),
            max: sorted[count - 1],
            ci_low: mean - reach,
            ci_high: mean + reach,
        })
    }
}

pub(crate) fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

pub(crate) fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

pub(crate) fn median(samples: &[f64]) -> f64 {
    quantile(&sorted(samples), 0.5)
}

/// Between two samples in proportion; `sorted` holds at least one.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

fn deviation(samples: &[f64], mean: f64) -> f64 {
    if samples.len() < 2 {
        return 0.0;
    }
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    (squares / (samples.len() - 1) as f64).sqrt()
}

/// Of the interval of a mean.
fn half_width(count: usize, std: f64, confidence: f64) -> f64 {
    if count < 2 {
        return 0.0;
    }
    let wanted = f64::midpoint(1.0, confidence.clamp(0.0, 1.0 - 1e-9));
    let student = StudentsT::new(0.0, 1.0, (count - 1) as f64);
    student.map_or(0.0, |student| student.inverse_cdf(wanted) * std / (count as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_worked_example() {
        // By hand, and as numpy.percentile and scipy.stats.t.interval have it.
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0, 10.0], 0.95).unwrap();
        assert_eq!((summary.count, summary.mean, summary.median), (5, 4.0, 3.0));
        assert_eq!((summary.min, summary.max), (1.0, 10.0));
        assert!((summary.std - 3.535_533_905_932_737_6).abs() < 1e-12);
        assert!((summary.p95 - 8.8).abs() < 1e-12 && (summary.p99 - 9.76).abs() < 1e-12);
        assert!((summary.ci_low - -0.389_945_5).abs() < 1e-6, "{}", summary.ci_low);
        assert!((summary.ci_high - 8.389_945_5).abs() < 1e-6);
    }

    #[test]
    fn one_sample_has_no_spread_and_none_no_summary() {
        let one = Summary::of(&[2.5], 0.95).unwrap();
        assert_eq!((one.std, one.ci_low, one.ci_high, one.p99), (0.0, 2.5, 2.5, 2.5));
        assert_eq!(Summary::of(&[], 0.95), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN], 0.95), None);
    }

    #[test]
    fn the_interval_holds_the_mean_as_often_as_it_says() {
        let mut random = fastrand::Rng::with_seed(7);
        let held = (0..4_000).filter(|_| {
            let samples: Vec<f64> = (0..10).map(|_| crate::random::normal(&mut random)).collect();
            let summary = Summary::of(&samples, 0.9).unwrap();
            summary.ci_low <= 0.0 && 0.0 <= summary.ci_high
        });
        let share = held.count() as f64 / 4_000.0;
        assert!((share - 0.9).abs() < 0.02, "{share}");
    }
}
