//! One module per question about a trace: a pure function from a view of one rank to a typed answer, and how
//! the answers of several ranks merge.

pub mod findings;
mod model;
mod questions;
mod shared;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod testing;

use gpuscope_table::Tabular;
use gpuscope_trace::{Holds, Quality, View};
use serde::Serialize;

pub use model::{clocks, step_time};
pub use questions::{
    analyze, annotations, bandwidth, breakdown, charts, collectives, compile, copies, counters,
    critical_path, diff, diff_tree, dossier, flame, hta, idle, inference, info, kernels, launches, layers,
    memory, op_kernels, ops, overlap, patterns, phases, profile, queue, stack_depth, stacks, stragglers,
    temporal, throughput, timeline, whatif,
};
pub use shared::gate;

pub use analyze::Analyze;
pub use annotations::Annotations;
pub use bandwidth::Bandwidth;
pub use breakdown::Breakdown;
pub use collectives::Collectives;
pub use compile::Compile;
pub use copies::Copies;
pub use counters::Counters;
pub use critical_path::CriticalPath;
pub use diff::Diff;
pub use diff_tree::TreeDiff;
pub use dossier::Dossier;
pub use flame::Flame;
pub use hta::Hta;
pub use idle::Idle;
pub use inference::Inference;
pub use info::Info;
pub use kernels::Kernels;
pub use launches::Launches;
pub use layers::Layers;
pub use memory::Memory;
pub use op_kernels::OpKernels;
pub use ops::Ops;
pub use overlap::Overlap;
pub use patterns::Patterns;
pub use phases::Phases;
pub use profile::Profile;
pub use questions::quality::quality;
pub use queue::Queue;
pub use stack_depth::StackDepth;
pub use stacks::Stacks;
pub use stragglers::Stragglers;
pub use temporal::Temporal;
pub use throughput::Throughput;
pub use timeline::Timeline;
pub use whatif::WhatIf;

/// A question that can be put to many ranks: each rank answers from its own trace alone, small things only
/// travel, and the merged answer is what the user sees.
pub trait Question: Sync {
    type Local: Send + 'static;
    type Answer: Serialize + Tabular;

    /// What it is about, of all that files may hold.
    fn reads(&self) -> &'static [Holds] {
        &[Holds::Events]
    }

    /// What one rank contributes.
    fn local(&self, rank: u32, view: View<'_>) -> Self::Local;

    /// The answer of the whole run; `locals` come in order of the ranks.
    fn merge(&self, locals: Vec<Self::Local>) -> Self::Answer;

    /// What turned out to be wrong with the data only when the ranks were seen together.
    fn quality(&self, _answer: &Self::Answer) -> Vec<Quality> {
        Vec::new()
    }
}
