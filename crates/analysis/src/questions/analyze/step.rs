//! A step in a few numbers: how long, how evenly, and what the GPUs did in it.

use gpuscope_trace::Ns;
use serde::Serialize;

use super::differs::Differs;
use crate::breakdown::{BreakdownAnswer, RankBreakdown, StepTimes};
use crate::shared::median::median;

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
    /// Shares of the GPUs' time from first to last event of the steps that are explained, over all ranks, but for time in
    /// which work from before the recording still ran; they make 100.
    pub computation_pct: f64,
    pub exposed_comm_pct: f64,
    pub exposed_memcpy_pct: f64,
    pub idle_pct: f64,
    /// In what a rank is unlike the median one, if in anything.
    pub differs: Option<Differs>,
}

/// What the GPUs did from first to last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shares {
    total: Ns,
    computation: Ns,
    exposed_comm: Ns,
    exposed_memcpy: Ns,
    idle: Ns,
}

impl Shares {
    pub(super) fn of(rank: &RankBreakdown) -> Shares {
        let times = &rank.total;
        Shares {
            total: times.total_ns - rank.unrecorded_ns,
            computation: times.computation_ns,
            exposed_comm: times.exposed_comm_ns,
            exposed_memcpy: times.exposed_memcpy_ns,
            idle: times.idle_ns - rank.unrecorded_ns,
        }
    }

    pub(super) fn add(&mut self, other: &Shares) {
        self.total += other.total;
        self.computation += other.computation;
        self.exposed_comm += other.exposed_comm;
        self.exposed_memcpy += other.exposed_memcpy;
        self.idle += other.idle;
    }
}

impl StepSummary {
    /// What shares of time are of.
    pub fn whole(&self) -> &'static str {
        if self.steps == 0 { "of the recorded time" } else { "of a step" }
    }

    pub(super) fn of(breakdown: &BreakdownAnswer, shares: &Shares) -> StepSummary {
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
            computation_pct: shares.computation.pct_of(shares.total),
            exposed_comm_pct: shares.exposed_comm.pct_of(shares.total),
            exposed_memcpy_pct: shares.exposed_memcpy.pct_of(shares.total),
            idle_pct: shares.idle.pct_of(shares.total),
            differs: Differs::of(ranks),
        }
    }
}
