//! How did the ranks communicate: which parts of which ranks are one collective, how long did each rank wait in
//! it, how long did the data take, and how fast was the network?
//!
//! A rank is in a collective from its own arrival on, but no data can be complete before the last rank has come.
//! The shortest duration is that of the last to come, so it is the transfer (`latency_ns`), and what a rank spent
//! beyond it was waiting (`wait_low_ns`, which needs no clock). `wait_ns`, `skew_start_ns` and `skew_end_ns`
//! compare the ranks' clocks as they are; `aligned_start_ns` and `aligned_wait_ns` are on one clock (see
//! [`crate::model::clocks`]). Where a member's trace is not there (`complete` is false), the last of those present may
//! itself have waited: the latency is an upper bound, bandwidths are lower ones.
//!
//! [`Matched`] is the same for other questions: which parts belong together, over all ranks.

mod all_to_all_v;
mod arrivals;
mod collective;
mod figures;
mod groups;
mod host;
mod late;
mod matched;
mod nodes;
mod op;
mod parts;
mod role;
mod rows;
mod sketch;
mod splits;
mod stages;
mod summary;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod text;

use std::sync::Arc;

use gpuscope_trace::{Quality, View};
use serde::Serialize;

use crate::Question;
use crate::model::clocks::{Offsets, RankClock};

pub use all_to_all_v::AllToAllV;
pub use arrivals::{Arrivals, Last};
pub use collective::Collective;
pub use groups::{GroupRankRow, GroupRow, GroupTimes};
pub use late::{Doing, LateRow, Since};
pub use matched::{Matched, Member, Part};
pub use nodes::{Nodes, NodesFrom, Span};
pub use op::{Op, element_bytes};
pub use parts::{Group, RankParts, Sort};
pub use role::{Role, RoleFrom};
pub use rows::{CollectiveRow, RankRow};
pub use sketch::Sketch;
pub use stages::StageRow;
pub use summary::Summary;
use summary::Together;
pub(crate) use table::clocks_table;
pub use text::Text;

#[derive(Clone, Debug, Default, Serialize)]
pub struct CollectivesAnswer {
    /// Collectives that are alike, the longest in sum first.
    pub summary: Vec<Summary>,
    /// The same over all groups.
    pub operations: Vec<Summary>,
    /// What communication cost, by what its groups are for.
    pub groups: Vec<GroupRow>,
    pub group_ranks: Vec<GroupRankRow>,
    /// What pipeline stages wait for each other.
    pub stages: Vec<StageRow>,
    /// Where one rank kept the others waiting longest, and what it did instead.
    pub late: Vec<LateRow>,
    pub all_to_all_v: Vec<AllToAllV>,
    pub nodes: Nodes,
    /// How each rank's clock differs from the others'.
    pub clocks: Vec<RankClock>,
    /// Every collective, by its start.
    pub collectives: Vec<CollectiveRow>,
    #[serde(skip)]
    quality: Vec<Quality>,
}

/// What one rank contributes.
#[derive(Clone, Debug, Default)]
pub struct RankCollectives {
    pub parts: Arc<RankParts>,
    pub sketch: Sketch,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Collectives {
    /// How many ranks share a machine, where the traces do not tell or tell it wrong.
    pub gpus_per_node: Option<u32>,
}

impl Question for Collectives {
    type Local = RankCollectives;
    type Answer = CollectivesAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankCollectives {
        let parts = RankParts::of(rank, view);
        RankCollectives { sketch: Sketch::of(view, &parts), parts }
    }

    fn merge(&self, mut locals: Vec<RankCollectives>) -> CollectivesAnswer {
        locals.dedup_by_key(|local| local.parts.rank);
        let matched = Matched::new(locals.iter().map(|local| &*local.parts));
        let roles = role::of(&matched);
        let all_to_all_v = all_to_all_v::of(&matched, &locals, &roles);
        let sketches: Vec<Sketch> = locals.into_iter().map(|local| local.sketch).collect();
        let offsets = Offsets::of(&matched);
        let arrivals = Arrivals::of(&matched, &offsets);
        let described = sketches.iter().map(|sketch| sketch.described_devices);
        let nodes = Nodes::of(&matched, self.gpus_per_node, described);
        let (groups, group_ranks) = groups::of(&matched, &sketches, &roles, &nodes);
        let collectives = rows::of(&matched, &offsets, &arrivals, &nodes);
        CollectivesAnswer {
            summary: summary::of(&matched, &collectives, Together::InOneGroup),
            operations: summary::of(&matched, &collectives, Together::OverGroups),
            groups,
            group_ranks,
            stages: stages::of(&matched, &sketches, &roles),
            late: late::of(&matched, &arrivals, &sketches),
            all_to_all_v,
            nodes,
            clocks: offsets.ranks().collect(),
            collectives,
            quality: offsets.quality(),
        }
    }

    fn quality(&self, answer: &CollectivesAnswer) -> Vec<Quality> {
        answer.quality.clone()
    }
}
