//! How did the ranks communicate: which parts of which ranks are one collective, how long did each rank wait in
//! it, how long did the data take, and how fast was the network?
//!
//! A rank is in a collective from its own arrival on, but no data can be complete before the last rank has come.
//! The shortest duration is that of the last to come, so it is the transfer (`latency_ns`), and what a rank spent
//! beyond it was waiting (`wait_low_ns`, which needs no clock). `wait_ns`, `skew_start_ns` and `skew_end_ns`
//! compare the ranks' clocks as they are; `aligned_start_ns` and `aligned_wait_ns` are on one clock (see
//! [`crate::clocks`]). Where a member's trace is not there (`complete` is false), the last of those present may
//! itself have waited: the latency is an upper bound, bandwidths are lower ones.
//!
//! [`Matched`] is the same for other questions: which parts belong together, over all ranks.

mod arrivals;
mod collective;
mod host;
mod matched;
mod op;
mod parts;
mod rows;
mod summary;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod text;

use gpuscope_trace::{Quality, View};
use serde::Serialize;

use crate::Question;
use crate::clocks::{Offsets, RankClock};

pub use arrivals::{Arrivals, Last};
pub use collective::Collective;
pub use matched::{Matched, Member, Part};
pub use op::{Op, element_bytes};
pub use parts::{Group, RankParts, Sort};
pub use rows::{CollectiveRow, RankRow};
pub use summary::Summary;
pub(crate) use table::clocks_table;
pub use text::Text;

#[derive(Clone, Debug, Default, Serialize)]
pub struct CollectivesAnswer {
    /// Collectives that are alike, the longest in sum first.
    pub summary: Vec<Summary>,
    /// How each rank's clock differs from the others'.
    pub clocks: Vec<RankClock>,
    /// Every collective, by its start.
    pub collectives: Vec<CollectiveRow>,
    #[serde(skip)]
    quality: Vec<Quality>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Collectives;

impl Question for Collectives {
    type Local = RankParts;
    type Answer = CollectivesAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankParts {
        RankParts::of(rank, view)
    }

    fn merge(&self, locals: Vec<RankParts>) -> CollectivesAnswer {
        let matched = Matched::new(&locals);
        drop(locals);
        let offsets = Offsets::of(&matched);
        let arrivals = Arrivals::of(&matched, &offsets);
        let collectives = rows::of(&matched, &offsets, &arrivals);
        CollectivesAnswer {
            summary: summary::of(&matched, &collectives),
            clocks: offsets.ranks().collect(),
            collectives,
            quality: offsets.quality(),
        }
    }

    fn quality(&self, answer: &CollectivesAnswer) -> Vec<Quality> {
        answer.quality.clone()
    }
}
