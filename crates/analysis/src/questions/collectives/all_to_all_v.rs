//! All-to-alls in which every pair of ranks has a size of its own, as tokens go to experts: who sends how much to whom,
//! and how far the busiest rank is above the mean.

use std::collections::BTreeMap;

use gpuscope_trace::Ns;
use serde::Serialize;

use super::RankCollectives;
use super::collective::Collective;
use super::matched::{Matched, Part};
use super::op::{Op, element_bytes, gb_per_s};
use super::role::{Role, RoleFrom};

/// The all-to-alls of one group.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AllToAllV {
    pub group: Option<String>,
    pub group_description: Option<String>,
    pub role: Option<Role>,
    pub members: Vec<u32>,
    pub count: u64,
    /// Those that lack the trace of some rank.
    pub incomplete: u64,
    /// Bytes that the ranks here sent, all together.
    pub total_bytes: i64,
    /// The rank that sent most against the mean of those here, 1 if all sent the same; mean over calls.
    pub imbalance_mean: Option<f64>,
    pub imbalance_max: Option<f64>,
    /// From the first start to the last end on the ranks' own clocks, summed.
    pub wall_ns: Ns,
    pub gb_per_s: Option<f64>,
    /// Parts of ranks here, and those whose sizes the trace tells in full.
    pub parts: u64,
    pub parts_with_sizes: u64,
    /// Bytes by source and destination, in the order of `members`, over all parts with sizes; empty without any.
    pub sent_bytes: Vec<Vec<i64>>,
}

/// One pair of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) source: u32,
    pub(super) destination: u32,
    pub(super) bytes: i64,
}

impl AllToAllV {
    pub(super) fn links(&self) -> impl Iterator<Item = Link> {
        self.members.iter().zip(&self.sent_bytes).flat_map(|(source, row)| {
            self.members.iter().zip(row).map(|(destination, bytes)| Link {
                source: *source,
                destination: *destination,
                bytes: *bytes,
            })
        })
    }
}

/// A heat map of more ranks than this is no use to anybody.
const MOST_MEMBERS: usize = 1024;

#[derive(Default)]
struct Sums {
    row: AllToAllV,
    imbalances: Vec<f64>,
}

pub(super) fn of(
    matched: &Matched,
    locals: &[RankCollectives],
    roles: &[(Option<Role>, RoleFrom)],
) -> Vec<AllToAllV> {
    let mut groups: BTreeMap<u32, Sums> = BTreeMap::new();
    for collective in matched.iter().filter(|collective| collective.op() == Op::AllToAllV) {
        groups.entry(collective.sort().group).or_default().add(collective, matched);
    }
    for (local, numbers) in locals.iter().zip(&matched.groups_of_rank) {
        for (group, splits) in &local.parts.splits {
            let number = numbers[*group as usize];
            let members = &matched.groups[number as usize].members;
            let Some(sums) = groups.get_mut(&number) else { continue };
            sums.row.parts += splits.calls;
            sums.row.parts_with_sizes += splits.told;
            if splits.told > 0 && members.len() <= MOST_MEMBERS {
                sums.row.sent_bytes.resize(members.len(), vec![0; members.len()]);
                sums.spread(local.parts.rank, members, splits, &present(locals, members));
            }
        }
    }
    groups.into_iter().map(|(group, sums)| sums.row(matched, group, roles)).collect()
}

/// Which of the members are here.
fn present(locals: &[RankCollectives], members: &[u32]) -> Vec<bool> {
    let here = |rank: &u32| locals.binary_search_by_key(rank, |local| local.parts.rank).is_ok();
    members.iter().map(here).collect()
}

impl Sums {
    fn add(&mut self, collective: Collective<'_>, matched: &Matched) {
        let row = &mut self.row;
        row.count += 1;
        row.incomplete += u64::from(!collective.complete());
        let parts = collective.parts();
        let start = parts.iter().map(|part| part.start).min().unwrap_or(Ns::ZERO);
        let end = parts.iter().map(Part::end).max().unwrap_or(Ns::ZERO);
        row.wall_ns += end - start;
        let sizes: Option<Vec<i64>> = parts
            .iter()
            .map(|part| {
                let sort = &matched.sorts[part.sort as usize];
                element_bytes(sort.dtype.as_deref()?)?
                    .checked_mul(sort.in_elements?)
                    .filter(|bytes| *bytes >= 0)
            })
            .collect();
        let Some(sizes) = sizes else { return };
        let sum = sizes.iter().fold(0i64, |sum, size| sum.saturating_add(*size));
        row.total_bytes = row.total_bytes.saturating_add(sum);
        let largest = sizes.iter().copied().max().unwrap_or(0);
        if sum > 0 {
            self.imbalances.push(largest as f64 * sizes.len() as f64 / sum as f64);
        }
    }

    /// What a rank sent is a row; what it got from ranks that are not here goes to theirs.
    fn spread(&mut self, rank: u32, members: &[u32], splits: &super::splits::Splits, present: &[bool]) {
        let Ok(own) = members.binary_search(&rank) else { return };
        let cells = &mut self.row.sent_bytes;
        for (cell, bytes) in cells[own].iter_mut().zip(&splits.sent) {
            *cell = cell.saturating_add(*bytes);
        }
        for (source, bytes) in splits.received.iter().enumerate().filter(|(source, _)| !present[*source]) {
            cells[source][own] = cells[source][own].saturating_add(*bytes);
        }
    }

    fn row(self, matched: &Matched, group: u32, roles: &[(Option<Role>, RoleFrom)]) -> AllToAllV {
        let known = &matched.groups[group as usize];
        let count = self.imbalances.len();
        AllToAllV {
            group: known.name.clone(),
            group_description: known.description.clone(),
            role: roles[group as usize].0,
            members: known.members.clone(),
            imbalance_mean: (count > 0).then(|| self.imbalances.iter().sum::<f64>() / count as f64),
            imbalance_max: self.imbalances.iter().copied().reduce(f64::max),
            gb_per_s: gb_per_s(Some(self.row.total_bytes).filter(|bytes| *bytes > 0), self.row.wall_ns),
            ..self.row
        }
    }
}
