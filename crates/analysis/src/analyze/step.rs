//! A step in a few numbers: how long, how evenly, and what the GPUs did in it.

use gpuscope_trace::Ns;
use serde::Serialize;

use super::differs::Differs;
use crate::breakdown::{BreakdownAnswer, StepTimes};
use crate::median::median;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StepSummary {
    /// The median rank's step time; none without steps.
    pub median_ns: Option<Ns>,
    /// Of all periods of all ranks.
    pub p99_ns: Option<Ns>,
    pub steps: usize,
    /// How far the slowest rank's step time is above the fastest's.
    pub spread_pct: f64,
    /// They are a guess: nothing marks them.
    pub inferred: bool,
    /// Shares of the GPUs' time from first to last event, over all ranks, but for time in which work from before the
    /// recording still ran; they make 100.
    pub computation_pct: f64,
    pub exposed_comm_pct: f64,
    pub exposed_memcpy_pct: f64,
    pub idle_pct: f64,
    /// In what a rank is unlike the median one, if in anything.
    pub differs: Option<Differs>,
}

impl StepSummary {
    /// What shares of time are of.
    pub fn whole(&self) -> &'static str {
        if self.steps == 0 { "of the recorded time" } else { "of a step" }
    }

    pub(super) fn of(breakdown: &BreakdownAnswer) -> StepSummary {
        let ranks = &breakdown.ranks;
        let steps: Vec<Ns> = ranks.iter().filter_map(|rank| rank.step_time_ns).collect();
        let rows = |rank: &crate::breakdown::RankBreakdown| {
            if rank.steps.is_empty() { rank.inferred_steps.clone() } else { rank.steps.clone() }
        };
        let all: Vec<StepTimes> = ranks.iter().flat_map(rows).collect();
        let mut periods: Vec<Ns> = all.iter().filter_map(|step| step.period_ns).collect();
        periods.sort_unstable();
        let p99 = periods.get((periods.len() * 99).div_ceil(100).saturating_sub(1)).copied();
        let (shortest, longest) = (steps.iter().min(), steps.iter().max());
        let sum =
            |part: fn(&crate::breakdown::Times) -> Ns| ranks.iter().map(|rank| part(&rank.total)).sum::<Ns>();
        let unrecorded: Ns = ranks.iter().map(|rank| rank.unrecorded_ns).sum();
        let total = sum(|times| times.total_ns) - unrecorded;
        StepSummary {
            median_ns: median(steps.clone()),
            p99_ns: p99,
            steps: ranks
                .iter()
                .map(|rank| rank.steps.len().max(rank.inferred_steps.len()))
                .max()
                .unwrap_or(0),
            spread_pct: shortest.zip(longest).map_or(0.0, |(short, long)| (*long - *short).pct_of(*short)),
            inferred: ranks.iter().any(|rank| !rank.inferred_steps.is_empty()),
            computation_pct: sum(|times| times.computation_ns).pct_of(total),
            exposed_comm_pct: sum(|times| times.exposed_comm_ns).pct_of(total),
            exposed_memcpy_pct: sum(|times| times.exposed_memcpy_ns).pct_of(total),
            idle_pct: (sum(|times| times.idle_ns) - unrecorded).pct_of(total),
            differs: Differs::of(ranks),
        }
    }
}
