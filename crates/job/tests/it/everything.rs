//! All questions in one, so that each file is read once.

use gpuscope_analysis::breakdown::RankBreakdown;
use gpuscope_analysis::info::RankInfo;
use gpuscope_analysis::kernels::KernelsAnswer;
use gpuscope_analysis::overlap::RankOverlap;
use gpuscope_analysis::temporal::RankTemporal;
use gpuscope_analysis::{Breakdown, Info, Kernels, Overlap, Question, Temporal};
use gpuscope_table::{Table, Tabular};
use gpuscope_trace::View;
use serde::Serialize;

pub(crate) struct Everything;

/// What one rank answers.
#[derive(Debug, Serialize)]
pub(crate) struct Answers {
    pub(crate) rank: u32,
    pub(crate) info: RankInfo,
    pub(crate) breakdown: RankBreakdown,
    pub(crate) temporal: RankTemporal,
    pub(crate) overlap: RankOverlap,
    pub(crate) kernels: KernelsAnswer,
}

#[derive(Debug, Serialize)]
pub(crate) struct Ranks(pub(crate) Vec<Answers>);

impl Tabular for Ranks {
    fn tables(&self) -> Vec<Table> {
        Vec::new()
    }
}

impl Question for Everything {
    type Local = Answers;
    type Answer = Ranks;

    fn local(&self, rank: u32, view: View<'_>) -> Answers {
        let kernels = Kernels::default();
        Answers {
            rank,
            info: Info.local(rank, view),
            breakdown: Breakdown::default().local(rank, view),
            temporal: Temporal.local(rank, view),
            overlap: Overlap.local(rank, view),
            kernels: kernels.merge(vec![kernels.local(rank, view)]),
        }
    }

    fn merge(&self, locals: Vec<Answers>) -> Ranks {
        Ranks(locals)
    }
}
