//! Every collective as a row.

use gpuscope_trace::Ns;
use serde::Serialize;

use super::arrivals::{Arrivals, Last};
use super::collective::Collective;
use super::matched::{Matched, Part};
use super::nodes::{Nodes, Span};
use super::op::{Op, gb_per_s};
use super::text::Text;
use crate::model::clocks::Offsets;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CollectiveRow {
    /// The process group's name; null without metadata.
    pub group: Option<Text>,
    pub group_description: Option<Text>,
    pub name: Text,
    pub dtype: Option<Text>,
    pub group_size: Option<i64>,
    pub size_bytes: Option<i64>,
    /// Whether it stays within a machine; null if that cannot be told.
    pub span: Option<Span>,
    /// Source and destination, if point to point.
    pub source_rank: Option<u32>,
    pub destination_rank: Option<u32>,
    /// The step that launched it.
    pub step: Option<i64>,
    /// The earliest start, as written.
    pub start_ns: Ns,
    /// The transfer: the shortest duration.
    pub latency_ns: Ns,
    /// Last start less first, on the ranks' own clocks.
    pub skew_start_ns: Ns,
    pub skew_end_ns: Ns,
    pub first_rank: u32,
    /// The rank that came last, clocks taken into account; null if it cannot be told.
    pub last_rank: Option<u32>,
    /// How far it was behind the one before it.
    pub behind_ns: Option<Ns>,
    /// What is smaller cannot be told, as the clocks differ.
    pub half_width_ns: Ns,
    /// Whether every rank that took part is there.
    pub complete: bool,
    pub algo_gb_per_s: Option<f64>,
    pub bus_gb_per_s: Option<f64>,
    pub ranks: Vec<RankRow>,
}

/// One rank's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RankRow {
    pub rank: u32,
    /// As written.
    pub start_ns: Ns,
    pub dur_ns: Ns,
    /// To the last start, on the ranks' own clocks.
    pub wait_ns: Ns,
    /// Own duration less the shortest: needs no clock.
    pub wait_low_ns: Ns,
    /// On the reference's clock, in its file's time.
    pub aligned_start_ns: Ns,
    pub aligned_wait_ns: Ns,
}

impl CollectiveRow {
    /// How many ranks a bandwidth is between.
    pub(super) fn members(&self, op: Op) -> Option<i64> {
        if op.is_point_to_point() { Some(2) } else { self.group_size }
    }

    /// Last start less first on one clock.
    pub(super) fn aligned_skew(&self) -> Ns {
        self.ranks.iter().map(|rank| rank.aligned_wait_ns).max().unwrap_or(Ns::ZERO)
    }
}

/// What all rows of one sort share.
struct Shared {
    group: Option<Text>,
    description: Option<Text>,
    name: Text,
    dtype: Option<Text>,
    span: Option<Span>,
}

pub(super) fn of(
    matched: &Matched,
    offsets: &Offsets,
    arrivals: &Arrivals,
    nodes: &Nodes,
) -> Vec<CollectiveRow> {
    let spans: Vec<Option<Span>> = matched.groups.iter().map(|group| nodes.span_of(group)).collect();
    let text = |text: &Option<String>| text.as_deref().map(Text::from);
    let shared: Vec<Shared> = matched
        .sorts
        .iter()
        .map(|sort| {
            let group = &matched.groups[sort.group as usize];
            Shared {
                group: text(&group.name),
                description: text(&group.description),
                name: Text::from(sort.name.as_str()),
                dtype: text(&sort.dtype),
                span: sort.peers.map_or(spans[sort.group as usize], |(from, to)| nodes.span([from, to])),
            }
        })
        .collect();
    let rows = matched.iter().zip(&arrivals.last).map(|(collective, last)| {
        row(collective, &shared[collective.parts()[0].sort as usize], matched, offsets, *last)
    });
    rows.collect()
}

fn row(
    collective: Collective<'_>,
    shared: &Shared,
    matched: &Matched,
    offsets: &Offsets,
    last: Option<Last>,
) -> CollectiveRow {
    let (parts, sort) = (collective.parts(), collective.sort());
    let (first, latest) = (collective.first_part(), collective.last_start());
    let ends = || parts.iter().map(Part::end);
    let (size, latency) = (collective.size_bytes(), collective.latency());
    let algo = gb_per_s(size, latency);
    let told = last.filter(|last| last.behind >= last.resolution);
    let mut row = CollectiveRow {
        group: shared.group.clone(),
        group_description: shared.description.clone(),
        name: shared.name.clone(),
        dtype: shared.dtype.clone(),
        group_size: collective.group_size(),
        size_bytes: size,
        span: shared.span,
        source_rank: sort.peers.map(|peers| peers.0),
        destination_rank: sort.peers.map(|peers| peers.1),
        step: first.step(),
        start_ns: collective.written_start(first),
        latency_ns: latency,
        skew_start_ns: latest - first.start,
        skew_end_ns: ends().max().zip(ends().min()).map_or(Ns::ZERO, |(last, first)| last - first),
        first_rank: collective.rank(first),
        last_rank: told.map(|last| collective.rank(&parts[last.last])),
        behind_ns: told.map(|last| last.behind),
        half_width_ns: last.map_or(Ns::ZERO, |last| last.resolution),
        complete: collective.complete(),
        algo_gb_per_s: algo,
        bus_gb_per_s: None,
        ranks: rank_rows(collective, matched, offsets),
    };
    let factor = row.members(sort.op).and_then(|members| sort.op.bus_factor(members));
    row.bus_gb_per_s = algo.zip(factor).map(|(algo, factor)| algo * factor);
    row
}

fn rank_rows(collective: Collective<'_>, matched: &Matched, offsets: &Offsets) -> Vec<RankRow> {
    let (latest, latency) = (collective.last_start(), collective.latency());
    let aligned = |part| offsets.aligned_start(part);
    let last_aligned = collective.parts().iter().map(aligned).max().unwrap_or(Ns::ZERO);
    let row = |part| {
        let start = aligned(part);
        RankRow {
            rank: collective.rank(part),
            start_ns: collective.written_start(part),
            dur_ns: part.dur,
            wait_ns: latest - part.start,
            wait_low_ns: part.dur - latency,
            aligned_start_ns: start - offsets.reference_base(matched, part.member),
            aligned_wait_ns: last_aligned - start,
        }
    };
    collective.parts().iter().map(row).collect()
}
