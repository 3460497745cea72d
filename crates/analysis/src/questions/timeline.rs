//! When did what run?
//!
//! The figures: `cpu_active_ns` is the time during which any thread was in an operator or in a runtime or driver call
//! that does not wait, `gpu_active_ns` that during which any GPU event ran, and `overlap_ns` that of both.
//!
//! The picture, if asked for: threads and streams as tracks of lanes in which nothing overlaps, counters, and arrows from
//! launches to what they launched. More events than a picture may hold are left out shortest first, those of the host
//! before those of the GPU, and it is said how many.

mod atlas;
mod counters;
mod lanes;
mod picture;
mod pyramid;
mod range;
mod search;
mod statistics;
#[cfg(test)]
mod tests;

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Ns, View};
use serde::Serialize;

use crate::Question;

pub use atlas::{Atlas, Described, Slice};
pub use lanes::{Lane, SliceKind};
pub use picture::{Counter, DrawnRank, LeftOut, Picture, Track, TrackSort};
pub use pyramid::{Cell, Pyramid};
pub use range::{NameTime, RangeStatistics};
pub use search::Found;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RankTimeline {
    pub rank: u32,
    /// From the first start to the last end of any duration event.
    pub total_ns: Ns,
    pub cpu_active_ns: Ns,
    pub gpu_active_ns: Ns,
    pub overlap_ns: Ns,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimelineAnswer {
    pub ranks: Vec<RankTimeline>,
    /// For renderers; too much for JSON.
    #[serde(skip)]
    pub picture: Option<Picture>,
}

impl Tabular for TimelineAnswer {
    fn tables(&self) -> Vec<Table> {
        let ranks = Table::of("ranks", "Host and GPU activity", &self.ranks)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
            .int("total_ns", Unit::Ns, "From the first start to the last end", |r| r.total_ns.0)
            .int("cpu_active_ns", Unit::Ns, "Any thread in an operator or a call that does not wait", |r| {
                r.cpu_active_ns.0
            })
            .int("gpu_active_ns", Unit::Ns, "Any GPU event running", |r| r.gpu_active_ns.0)
            .int("overlap_ns", Unit::Ns, "Both at once", |r| r.overlap_ns.0)
            .build();
        vec![ranks]
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Timeline {
    /// Make the picture, with at most so many slices of each rank.
    pub most_slices: Option<usize>,
}

#[derive(Debug)]
pub struct RankPicture {
    statistics: RankTimeline,
    picture: Option<picture::OfRank>,
}

impl Question for Timeline {
    type Local = RankPicture;
    type Answer = TimelineAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankPicture {
        RankPicture {
            statistics: statistics::of(rank, view),
            picture: self.most_slices.map(|most| picture::OfRank::new(rank, view, most)),
        }
    }

    fn merge(&self, locals: Vec<RankPicture>) -> TimelineAnswer {
        let ranks = locals.iter().map(|local| local.statistics).collect();
        let pictures: Vec<picture::OfRank> = locals.into_iter().filter_map(|local| local.picture).collect();
        TimelineAnswer { ranks, picture: (!pictures.is_empty()).then(|| Picture::of(pictures)) }
    }
}
