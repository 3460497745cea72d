//! One module per question about a trace: a pure function from a view of one rank to a typed answer, and how
//! the answers of several ranks merge.

pub mod annotations;
pub mod bandwidth;
pub mod breakdown;
mod cover;
pub mod diff;
mod durations;
pub mod gate;
pub mod hta;
pub mod idle;
pub mod info;
pub mod kernels;
pub mod launches;
mod lost;
pub mod overlap;
mod quality;
pub mod queue;
mod sm_fill;
pub mod step_time;
pub mod temporal;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod testing;

use gpuscope_table::Tabular;
use gpuscope_trace::View;
use serde::Serialize;

pub use annotations::Annotations;
pub use bandwidth::Bandwidth;
pub use breakdown::Breakdown;
pub use diff::Diff;
pub use hta::Hta;
pub use idle::Idle;
pub use info::Info;
pub use kernels::Kernels;
pub use launches::Launches;
pub use overlap::Overlap;
pub use quality::quality;
pub use queue::Queue;
pub use temporal::Temporal;

/// A question that can be put to many ranks: each rank answers from its own trace alone, small things only
/// travel, and the merged answer is what the user sees.
pub trait Question: Sync {
    type Local: Send;
    type Answer: Serialize + Tabular;

    /// What one rank contributes.
    fn local(&self, rank: u32, view: View<'_>) -> Self::Local;

    /// The answer of the whole run; `locals` come in order of the ranks.
    fn merge(&self, locals: Vec<Self::Local>) -> Self::Answer;
}
