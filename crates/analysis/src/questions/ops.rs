//! Which operators took the GPU's time?
//!
//! A GPU event belongs to the innermost operator around its launching call, on the launching thread; a launch
//! outside of any operator, such as that of a graph, is a row of its own. For each call of an operator the GPU
//! events straight under it are united (`direct_kernel_ns`), and so are all those anywhere below it
//! (`subtree_kernel_ns`); rows are sums over calls, `count` the calls with GPU events straight under them, and
//! `pct` the share of all direct time. Communication counts. What no launch is known for belongs to no operator:
//! `ranks` says how much that is.
//!
//! By arguments, calls with other shapes, types, strides or concrete values are apart. Then operators with a work
//! model have a row even if others launch for them (`aten::convolution`), and `count` is their calls with GPU work
//! anywhere below.

mod calls;
mod counted;
mod event_work;
mod figures;
mod kernels;
mod kinds;
mod literal;
mod mfu;
mod overlap;
mod rates;
mod roofline;
mod rows;
mod short;
mod table;
mod tally;
mod tf32;
mod unions;
mod work;

use gpuscope_trace::{Code, Ns, Quality, View};
use gpuscope_work::Models;
use serde::Serialize;

use crate::Question;
use crate::phases::recomputed;
pub(crate) use calls::Calls;
pub(crate) use kinds::Kind as KindOfCall;
use kinds::Kinds;
use rows::{OfRank, sort};
use tally::{Rules, Tallies};
use work::Works;

pub(crate) use event_work::EventWork;
pub use kernels::KernelOfOp;
pub use literal::Literal;
pub use mfu::{Mfu, PerStep, PrecisionFlops, RankUtilisation, Utilisation};
pub use roofline::{Bound, Limits, RankRoof};
pub use short::{Bin, ShortKernels, ShortRow};
pub use work::WorkOfOp;

/// How rows are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    Category,
    #[default]
    Name,
    Arguments,
}

/// As in the trace; null where it has none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Arguments {
    pub input_dims: Option<Literal>,
    pub input_types: Option<Literal>,
    pub input_strides: Option<Literal>,
    pub concrete_inputs: Option<Literal>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpRow {
    pub rank: u32,
    pub name: String,
    pub category: String,
    #[serde(flatten)]
    pub arguments: Option<Arguments>,
    /// Whether activation checkpointing ran it again; only if that is told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recompute: Option<bool>,
    pub count: u64,
    pub direct_kernel_ns: Ns,
    pub subtree_kernel_ns: Ns,
    /// Of all direct time of the rank.
    pub pct: f64,
    #[serde(flatten)]
    pub overlap: Option<OverlapOfOp>,
    #[serde(flatten)]
    pub work: Option<WorkOfOp>,
    /// Largest first; only if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernels: Option<Vec<KernelOfOp>>,
}

/// The part of the direct time during which another stream of the device was busy too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OverlapOfOp {
    pub overlap_ns: Ns,
    pub overlap_pct: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CategoryRow {
    pub rank: u32,
    pub category: String,
    pub count: u64,
    pub direct_kernel_ns: Ns,
    pub pct: f64,
}

/// How much of a rank's GPU time the rows speak of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankOps {
    pub rank: u32,
    /// Calls with GPU events straight under them.
    pub calls: u64,
    pub direct_kernel_ns: Ns,
    /// Direct time of calls that activation checkpointing ran again.
    pub recompute_kernel_ns: Ns,
    pub recompute_pct: f64,
    /// GPU events that no launch is known for, and so no operator.
    pub unlinked_kernels: u64,
    /// The sum of their durations.
    pub unlinked_kernel_ns: Ns,
    /// Of the summed durations of all GPU events.
    pub unlinked_pct: f64,
    /// Calls for which the profiler recorded FLOPs and there is a work model.
    pub recorded_flops_calls: u64,
    /// Those where the two differ by more than one percent.
    pub recorded_flops_differ: u64,
    /// Rows that `--top` left out, and their direct time.
    pub rows_left_out: u64,
    pub left_out_kernel_ns: Ns,
    /// Why there is no roofline, although there is work.
    #[serde(skip)]
    pub no_roofline: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpsAnswer {
    #[serde(skip)]
    pub by: By,
    pub ops: Vec<OpRow>,
    pub categories: Vec<CategoryRow>,
    pub ranks: Vec<RankOps>,
    pub mfu: Mfu,
    /// For those who draw.
    #[serde(skip)]
    pub roofs: Vec<RankRoof>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_kernels: Option<ShortKernels>,
}

#[derive(Clone, Debug, Default)]
pub struct Ops {
    pub by: By,
    /// Recomputed calls apart.
    pub recompute: bool,
    /// Every kernel of each row.
    pub kernels: bool,
    /// How much of each row's time other streams were busy too.
    pub overlap: bool,
    /// GPU events shorter than this, and who launched them.
    pub short_kernels: Option<Ns>,
    /// Only so many rows of each rank.
    pub top: Option<usize>,
    /// The built-in ones, if none are given.
    pub models: Option<Models>,
    /// In place of what the trace says it ran on.
    pub limits: Limits,
    pub per_step: PerStep,
}

impl Question for Ops {
    type Local = OpsAnswer;
    type Answer = OpsAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> OpsAnswer {
        let calls = Calls::of(view);
        let times = unions::times(&calls);
        let kinds = Kinds::of(view, &calls);
        let works = Works::of(view, &calls, &kinds, self.models());
        let again = recomputed(view, (0..calls.len()).map(|call| calls.row(call)));
        let limits = self.limits.clone().or_of(view);
        let rules = Rules {
            by_arguments: self.by == By::Arguments,
            recomputed: self.recompute.then_some(&again),
            has_model: &works.has_model,
        };
        let tallies = Tallies::of(&calls, &kinds, &times, &rules);
        let rank = OfRank {
            rank,
            view,
            calls: &calls,
            kinds: &kinds,
            times: &times,
            works: &works,
            limits: &limits,
        };
        let mut ops = rank.rows(&tallies, self);
        let categories = rank.categories(&ops);
        sort(&mut ops, self.by);
        let mut about = rank.about(&again);
        let left_out = ops.split_off(self.top.unwrap_or(ops.len()).min(ops.len()));
        about.rows_left_out = left_out.len() as u64;
        about.left_out_kernel_ns = left_out.iter().map(|row| row.direct_kernel_ns).sum();
        let mfu = rank.mfu(&again, self.per_step);
        let short_kernels = self.short_kernels.map(|most| short::study(rank.rank, view, &calls, most));
        let roofs = vec![RankRoof::of(rank.rank, &limits, &works)];
        OpsAnswer { by: self.by, ops, categories, ranks: vec![about], mfu, roofs, short_kernels }
    }

    fn merge(&self, locals: Vec<OpsAnswer>) -> OpsAnswer {
        let mut locals = locals.into_iter();
        let mut all = locals.next().unwrap_or_default();
        for local in locals {
            all.ops.extend(local.ops);
            all.categories.extend(local.categories);
            all.ranks.extend(local.ranks);
            all.mfu.join(local.mfu);
            all.roofs.extend(local.roofs);
            match (&mut all.short_kernels, local.short_kernels) {
                (Some(all), Some(more)) => all.join(more),
                (none, more) => *none = more,
            }
        }
        // Stable, so that equal ones stay by rank.
        all.categories.sort_by_key(|row| std::cmp::Reverse(row.direct_kernel_ns));
        sort(&mut all.ops, self.by);
        all
    }

    fn quality(&self, answer: &OpsAnswer) -> Vec<Quality> {
        answer.ranks.iter().flat_map(RankOps::quality).collect()
    }
}

impl Ops {
    fn models(&self) -> &Models {
        self.models.as_ref().unwrap_or_else(|| Models::built_in())
    }
}

impl RankOps {
    fn quality(&self) -> Vec<Quality> {
        let unknown = self.no_roofline.iter().map(|why| Quality::new(Code::UnknownGpu, 1, why));
        let differ = (self.recorded_flops_differ > 0).then(|| {
            let (differ, calls) = (self.recorded_flops_differ, self.recorded_flops_calls);
            let message = format!(
                "the FLOPs that the profiler recorded differ by more than 1 % from those of the work models in \
                 {differ} of {calls} calls"
            );
            Quality::new(Code::DifferentFlops, differ, message)
        });
        unknown.chain(differ).map(|entry| entry.of_rank(self.rank)).collect()
    }
}

#[cfg(test)]
mod tests;
