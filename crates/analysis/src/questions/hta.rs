//! Everything about all ranks in one report: every breakdown, what it comes to, and what to do about it.
//!
//! Shares are of each rank's window, from its first GPU start to its last GPU end: `compute_time_pct` (memory sets
//! included), `communication_time_pct` and `memcpy_time_pct` as far as nothing hid them, and `gpu_idle_time_pct`;
//! the four make 100. `communication_total_pct` counts communication hidden or not. The whole is the mean over the
//! ranks that have GPU work. The rest are the answers of the questions of the same names.

mod advice;
pub(crate) mod table;

use std::collections::BTreeMap;

use gpuscope_trace::{Ns, View};
use serde::Serialize;

use crate::Question;
use crate::annotations::{Annotations, AnnotationsAnswer};
use crate::bandwidth::{Bandwidth, BandwidthAnswer};
use crate::breakdown::{Breakdown, BreakdownAnswer, RankBreakdown};
use crate::idle::{Idle, IdleAnswer};
use crate::kernels::{Kernels, KernelsAnswer};
use crate::overlap::{Overlap, OverlapAnswer};
use crate::queue::{Queue, QueueAnswer};
use crate::temporal::{Temporal, TemporalAnswer};

pub use advice::Advice;

/// Kernels listed in the summary; all of them are in `kernels`.
const TOP: usize = 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    pub gpu_idle_time_pct: f64,
    pub compute_time_pct: f64,
    pub communication_time_pct: f64,
    pub memcpy_time_pct: f64,
    pub communication_total_pct: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankShares {
    pub rank: u32,
    pub window_ns: Ns,
    pub step_time_ns: Option<Ns>,
    #[serde(flatten)]
    pub shares: Shares,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopKernel {
    pub name: String,
    pub kernel_type: &'static str,
    pub count: u64,
    pub time_ns: Ns,
    /// Of the summed time of all kernels.
    pub pct: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HtaAnswer {
    #[serde(flatten)]
    pub mean: Shares,
    pub ranks: Vec<RankShares>,
    pub top_kernels: Vec<TopKernel>,
    pub bottlenecks: Vec<String>,
    pub recommendations: Vec<String>,
    pub breakdown: BreakdownAnswer,
    pub temporal: TemporalAnswer,
    pub kernels: KernelsAnswer,
    pub overlap: OverlapAnswer,
    pub idle: IdleAnswer,
    pub queue: QueueAnswer,
    pub bandwidth: BandwidthAnswer,
    pub annotations: AnnotationsAnswer,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Hta;

/// What one rank says to each of the questions.
#[derive(Debug)]
pub struct RankReport {
    breakdown: <Breakdown as Question>::Local,
    temporal: <Temporal as Question>::Local,
    kernels: <Kernels as Question>::Local,
    overlap: <Overlap as Question>::Local,
    idle: <Idle as Question>::Local,
    queue: <Queue as Question>::Local,
    bandwidth: <Bandwidth as Question>::Local,
    annotations: <Annotations as Question>::Local,
}

impl Question for Hta {
    type Local = RankReport;
    type Answer = HtaAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankReport {
        RankReport {
            breakdown: Breakdown::default().local(rank, view),
            temporal: Temporal.local(rank, view),
            kernels: Kernels::default().local(rank, view),
            overlap: Overlap.local(rank, view),
            idle: Idle::default().local(rank, view),
            queue: Queue::default().local(rank, view),
            bandwidth: Bandwidth::default().local(rank, view),
            annotations: Annotations::default().local(rank, view),
        }
    }

    fn merge(&self, locals: Vec<RankReport>) -> HtaAnswer {
        let mut parts = Parts::default();
        for local in locals {
            parts.breakdown.push(local.breakdown);
            parts.temporal.push(local.temporal);
            parts.kernels.push(local.kernels);
            parts.overlap.push(local.overlap);
            parts.idle.push(local.idle);
            parts.queue.push(local.queue);
            parts.bandwidth.push(local.bandwidth);
            parts.annotations.push(local.annotations);
        }
        let mut answer = HtaAnswer {
            breakdown: Breakdown::default().merge(parts.breakdown),
            temporal: Temporal.merge(parts.temporal),
            kernels: Kernels::default().merge(parts.kernels),
            overlap: Overlap.merge(parts.overlap),
            idle: Idle::default().merge(parts.idle),
            queue: Queue::default().merge(parts.queue),
            bandwidth: Bandwidth::default().merge(parts.bandwidth),
            annotations: Annotations::default().merge(parts.annotations),
            ..HtaAnswer::default()
        };
        answer.ranks = answer.breakdown.ranks.iter().map(shares).collect();
        answer.mean = mean(&answer.ranks);
        answer.top_kernels = top_kernels(&answer.kernels);
        let advice = advice::all(&answer);
        answer.bottlenecks = advice.iter().map(|advice| advice.bottleneck.clone()).collect();
        answer.recommendations = advice.into_iter().map(|advice| advice.recommendation).collect();
        answer
    }
}

#[derive(Default)]
struct Parts {
    breakdown: Vec<<Breakdown as Question>::Local>,
    temporal: Vec<<Temporal as Question>::Local>,
    kernels: Vec<<Kernels as Question>::Local>,
    overlap: Vec<<Overlap as Question>::Local>,
    idle: Vec<<Idle as Question>::Local>,
    queue: Vec<<Queue as Question>::Local>,
    bandwidth: Vec<<Bandwidth as Question>::Local>,
    annotations: Vec<<Annotations as Question>::Local>,
}

fn shares(rank: &RankBreakdown) -> RankShares {
    let times = &rank.total;
    let of_window = |time: Ns| time.pct_of(times.total_ns);
    RankShares {
        rank: rank.rank,
        window_ns: times.total_ns,
        step_time_ns: rank.step_time_ns,
        shares: Shares {
            gpu_idle_time_pct: of_window(times.idle_ns),
            compute_time_pct: of_window(times.computation_ns),
            communication_time_pct: of_window(times.exposed_comm_ns),
            memcpy_time_pct: of_window(times.exposed_memcpy_ns),
            communication_total_pct: of_window(times.comm_ns),
        },
    }
}

/// Over ranks that have a window at all: an empty one has no shares.
fn mean(ranks: &[RankShares]) -> Shares {
    let working: Vec<&Shares> =
        ranks.iter().filter(|rank| rank.window_ns > Ns::ZERO).map(|rank| &rank.shares).collect();
    let of = |share: fn(&Shares) -> f64| {
        working.iter().map(|shares| share(shares)).sum::<f64>() / working.len().max(1) as f64
    };
    Shares {
        gpu_idle_time_pct: of(|s| s.gpu_idle_time_pct),
        compute_time_pct: of(|s| s.compute_time_pct),
        communication_time_pct: of(|s| s.communication_time_pct),
        memcpy_time_pct: of(|s| s.memcpy_time_pct),
        communication_total_pct: of(|s| s.communication_total_pct),
    }
}

/// By summed time over all ranks.
fn top_kernels(kernels: &KernelsAnswer) -> Vec<TopKernel> {
    let mut sums: BTreeMap<(&str, &'static str), (u64, Ns)> = BTreeMap::new();
    for row in &kernels.kernels {
        let (count, time) = sums.entry((&row.name, row.kernel_type.label())).or_default();
        (*count, *time) = (*count + row.count, *time + row.sum_ns);
    }
    let all: Ns = sums.values().map(|(_, time)| *time).sum();
    let mut top: Vec<TopKernel> = sums
        .into_iter()
        .map(|((name, kernel_type), (count, time_ns))| TopKernel {
            name: name.to_owned(),
            kernel_type,
            count,
            time_ns,
            pct: time_ns.pct_of(all),
        })
        .collect();
    top.sort_by_key(|kernel| std::cmp::Reverse(kernel.time_ns));
    top.truncate(TOP);
    top
}

#[cfg(test)]
mod tests;
