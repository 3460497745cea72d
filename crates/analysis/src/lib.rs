//! One module per question about a trace: a pure function from a view of one rank to a typed answer, and how
//! the answers of several ranks merge.

use gpuscope_table::Tabular;
use gpuscope_trace::View;
use serde::Serialize;

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
