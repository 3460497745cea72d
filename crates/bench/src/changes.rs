//! Where the level of a series of runs changed for good, and by how much.
//!
//! A stretch is cut where its two parts differ most by their ranks, if chance would hardly do as well; then both parts
//! are looked at again.

use serde::Serialize;

use crate::permutation::{by_chance, ranks, standardised};
use crate::summary::median;

/// A level is at least this many runs.
const LEAST: usize = 3;
const DRAWS: u32 = 999;
/// Of one cut: history is long, and a change that never was costs somebody an afternoon.
const LEVEL: f64 = 0.005;

/// The runs of one level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Level {
    pub first: usize,
    /// The one after the last.
    pub end: usize,
    pub median: f64,
    /// How likely a change as clear as the one into this level is by chance; the first level has none.
    pub p: Option<f64>,
}

/// The levels of a series in order, at least one unless it is empty.
pub fn levels(values: &[f64]) -> Vec<Level> {
    if values.is_empty() {
        return Vec::new();
    }
    let mut cuts = Vec::new();
    cut(values, 0, &mut cuts);
    cuts.sort_unstable_by_key(|(at, _)| *at);
    let starts = std::iter::once((0, None)).chain(cuts.iter().map(|&(at, p)| (at, Some(p))));
    let ends = cuts.iter().map(|&(at, _)| at).chain([values.len()]);
    let level = |((first, p), end): ((usize, Option<f64>), usize)| Level {
        first,
        end,
        median: median(&values[first..end]),
        p,
    };
    starts.zip(ends).map(level).collect()
}

fn cut(values: &[f64], offset: usize, cuts: &mut Vec<(usize, f64)>) {
    if values.len() < 2 * LEAST {
        return;
    }
    let ranks = ranks(values);
    let p = by_chance(&ranks, DRAWS, clearest);
    if p > LEVEL {
        return;
    }
    let at = best_place(values, &ranks);
    cuts.push((offset + at, p));
    cut(&values[..at], offset, cuts);
    cut(&values[at..], offset + at, cuts);
}

/// How much the ranks before and after some place differ at most.
fn clearest(ranks: &[f64]) -> f64 {
    clearest_place(ranks).1
}

fn clearest_place(ranks: &[f64]) -> (usize, f64) {
    let mut most = (LEAST, f64::NEG_INFINITY);
    let mut sum: f64 = ranks[..LEAST - 1].iter().sum();
    for at in LEAST..=ranks.len() - LEAST {
        sum += ranks[at - 1];
        let difference = standardised(sum, at, ranks.len()).abs();
        if difference > most.1 {
            most = (at, difference);
        }
    }
    most
}

/// Where values lie closest to the medians of their two parts. Ranks tell best whether there is a change, and about
/// where; but they do not know how far a value is from the others.
fn best_place(values: &[f64], ranks: &[f64]) -> usize {
    const ABOUT: usize = 10;
    let distance = |part: &[f64]| {
        let median = median(part);
        part.iter().map(|value| (value - median).abs()).sum::<f64>()
    };
    let (about, _) = clearest_place(ranks);
    let places = about.saturating_sub(ABOUT).max(LEAST)..=(about + ABOUT).min(values.len() - LEAST);
    let both = places.map(|at| (at, distance(&values[..at]) + distance(&values[at..])));
    both.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(about, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    fn series(random: &mut fastrand::Rng, parts: &[(usize, f64)], noise: f64) -> Vec<f64> {
        let part = |&(runs, level): &(usize, f64)| std::iter::repeat_n(level, runs);
        parts.iter().flat_map(part).map(|level| level * (1.0 + noise * normal(random))).collect()
    }

    #[test]
    fn planted_changes_are_found_where_they_are() {
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..50 {
            let values = series(&mut random, &[(20, 100.0), (15, 110.0), (25, 95.0)], 0.01);
            let levels = levels(&values);
            let starts: Vec<usize> = levels.iter().map(|level| level.first).collect();
            assert_eq!(starts, [0, 20, 35], "{values:?}");
            assert!((levels[1].median - 110.0).abs() < 1.5 && levels[1].end == 35);
            assert!(levels[0].p.is_none() && levels[2].p.is_some_and(|p| p <= LEVEL));
        }
    }

    #[test]
    fn noise_alone_rarely_looks_like_a_change() {
        let mut random = fastrand::Rng::with_seed(6);
        let changed = (0..1_000).filter(|_| levels(&series(&mut random, &[(40, 100.0)], 0.1)).len() > 1);
        assert!(changed.count() <= 12);
    }

    #[test]
    fn short_and_constant_series_are_one_level() {
        assert_eq!(levels(&[]), []);
        assert_eq!(levels(&[1.0]).len(), 1);
        assert_eq!(levels(&[7.0; 40]).len(), 1);
        assert_eq!(levels(&[1.0, 9.0, 1.0, 9.0, 1.0]).len(), 1);
    }
}
