//! Draws of a job: every number is drawn when the job is written down, so that a changed job runs with the same ones.

use crate::rng::{SplitMix64, mix};

#[derive(Debug, Clone)]
pub(super) struct Chance(SplitMix64);

impl Chance {
    pub(super) fn new(seed: u64, purpose: u64) -> Chance {
        Chance(SplitMix64::new(mix(mix(seed) ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15))))
    }

    /// From `low` to `high`, both included.
    pub(super) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.0.below((high - low).max(0) as usize + 1) as i64
    }

    pub(super) fn percent(&mut self, percent: i64) -> bool {
        self.between(1, 100) <= percent
    }

    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.below(choices.len())]
    }

    /// `ns` changed by at most `per_mille` thousandths.
    pub(super) fn around(&mut self, ns: i64, per_mille: i64) -> i64 {
        let span = ns * per_mille / 1000;
        self.between(ns - span, ns + span)
    }
}
