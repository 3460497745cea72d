//! Pipeline bubbles: what each stage waits in sends and receives.
//!
//! A stage that has nothing to compute sits in a receive until its neighbour sends, or in a send until its neighbour
//! takes it: what a transfer took longer on one rank than on the other is waiting. A rank's stage is its place among the
//! ranks that its sends and receives connect.

use std::collections::BTreeMap;

use gpuscope_trace::{Interval, Ns};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::matched::Matched;
use super::op::Op;
use super::role::{Role, RoleFrom};
use super::sketch::Sketch;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StageRow {
    /// Counted from 0.
    pub stage: u32,
    pub ranks: Vec<u32>,
    /// Sends and receives of these ranks.
    pub transfers: u64,
    /// Of these, those whose other end is not here: nobody can say what they waited.
    pub incomplete: u64,
    /// Summed over ranks, as is all below.
    pub wait_ns: Ns,
    pub wait_sending_ns: Ns,
    pub wait_receiving_ns: Ns,
    pub transfer_ns: Ns,
    /// Waiting as a share of the time from the ranks' first GPU work to their last.
    pub wait_pct: f64,
}

pub(super) fn of(
    matched: &Matched,
    sketches: &[Sketch],
    roles: &[(Option<Role>, RoleFrom)],
) -> Vec<StageRow> {
    let is_pipeline = |group: u32| roles[group as usize].0 == Some(Role::Pipeline);
    let stage_of = stages(matched, is_pipeline);
    let mut rows: BTreeMap<u32, StageRow> = BTreeMap::new();
    let mut spans: BTreeMap<u32, Ns> = BTreeMap::new();
    for (member, sketch) in matched.ranks.iter().zip(sketches) {
        let Some(stage) = stage_of.get(&member.rank) else { continue };
        let row = rows.entry(*stage).or_insert_with(|| StageRow { stage: *stage, ..StageRow::default() });
        row.ranks.push(member.rank);
        *spans.entry(*stage).or_default() += sketch.span.map_or(Ns::ZERO, Interval::len);
    }
    for collective in matched.iter().filter(|one| one.sort().peers.is_some() && is_pipeline(one.sort().group))
    {
        let latency = collective.latency();
        for part in collective.parts() {
            let stage = stage_of.get(&collective.rank(part));
            let Some(row) = stage.and_then(|stage| rows.get_mut(stage)) else { continue };
            row.transfers += 1;
            row.incomplete += u64::from(!collective.complete());
            let wait = part.dur - latency;
            row.wait_ns += wait;
            row.transfer_ns += latency;
            match matched.sorts[part.sort as usize].op {
                Op::Send => row.wait_sending_ns += wait,
                _ => row.wait_receiving_ns += wait,
            }
        }
    }
    for (row, span) in rows.values_mut().zip(spans.values()) {
        row.wait_pct = row.wait_ns.pct_of(*span);
    }
    rows.into_values().collect()
}

/// The stage of each rank that sends or receives in a pipeline.
fn stages(matched: &Matched, is_pipeline: impl Fn(u32) -> bool) -> FxHashMap<u32, u32> {
    let mut ties = Ties::default();
    for sort in matched.sorts.iter().filter(|sort| is_pipeline(sort.group)) {
        if let Some((from, to)) = sort.peers {
            ties.tie(from, to);
        }
    }
    let mut ranks: Vec<u32> = ties.other.keys().copied().collect();
    ranks.sort_unstable();
    let mut next: FxHashMap<u32, u32> = FxHashMap::default();
    let mut stages = FxHashMap::default();
    for rank in ranks {
        let next = next.entry(ties.root(rank)).or_default();
        stages.insert(rank, *next);
        *next += 1;
    }
    stages
}

/// Ranks that are connected, however many are in between.
#[derive(Default)]
struct Ties {
    /// Another of the same set; the lowest is itself.
    other: FxHashMap<u32, u32>,
}

impl Ties {
    fn root(&mut self, rank: u32) -> u32 {
        let mut here = rank;
        loop {
            let next = *self.other.entry(here).or_insert(here);
            if next == here {
                return here;
            }
            // Halves the way for the next time.
            let further = *self.other.entry(next).or_insert(next);
            self.other.insert(here, further);
            here = further;
        }
    }

    fn tie(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.other.insert(a.max(b), a.min(b));
    }
}
