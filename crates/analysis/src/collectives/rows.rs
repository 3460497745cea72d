//! Every collective as a row.

use gpuscope_trace::Ns;
use serde::Serialize;

use super::arrivals::{Arrivals, Last};
use super::collective::Collective;
use super::matched::{Matched, Part};
use super::op::gb_per_s;
use super::text::Text;
use crate::clocks::Offsets;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CollectiveRow {
    /// The process group's name; null without metadata.
    pub group: Option<Text>,
    pub group_description: Option<Text>,
    pub name: Text,
    pub dtype: Option<Text>,
    pub group_size: Option<i64>,
    pub size_bytes: Option<i64>,
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

/// Texts are shared by all rows of one sort.
struct Texts {
    group: Option<Text>,
    description: Option<Text>,
    name: Text,
    dtype: Option<Text>,
}

pub(super) fn of(matched: &Matched, offsets: &Offsets, arrivals: &Arrivals) -> Vec<CollectiveRow> {
    let shared = |text: &Option<String>| text.as_deref().map(Text::from);
    let texts: Vec<Texts> = matched
        .sorts
        .iter()
        .map(|sort| {
            let group = &matched.groups[sort.group as usize];
            Texts {
                group: shared(&group.name),
                description: shared(&group.description),
                name: Text::from(sort.name.as_str()),
                dtype: shared(&sort.dtype),
            }
        })
        .collect();
    let rows = matched.iter().zip(&arrivals.last).map(|(collective, last)| {
        row(collective, &texts[collective.parts()[0].sort as usize], matched, offsets, *last)
    });
    rows.collect()
}

fn row(
    collective: Collective<'_>,
    texts: &Texts,
    matched: &Matched,
    offsets: &Offsets,
    last: Option<Last>,
) -> CollectiveRow {
    let (parts, sort) = (collective.parts(), collective.sort());
    let (first, latest) = (collective.first_part(), collective.last_start());
    let ends = || parts.iter().map(Part::end);
    let (size, latency) = (collective.size_bytes(), collective.latency());
    let algo = gb_per_s(size, latency);
    let ranks = if sort.op.is_point_to_point() { Some(2) } else { collective.group_size() };
    let factor = ranks.and_then(|ranks| sort.op.bus_factor(ranks));
    let told = last.filter(|last| last.behind >= last.resolution);
    CollectiveRow {
        group: texts.group.clone(),
        group_description: texts.description.clone(),
        name: texts.name.clone(),
        dtype: texts.dtype.clone(),
        group_size: collective.group_size(),
        size_bytes: size,
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
        bus_gb_per_s: algo.zip(factor).map(|(algo, factor)| algo * factor),
        ranks: rank_rows(collective, matched, offsets),
    }
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
