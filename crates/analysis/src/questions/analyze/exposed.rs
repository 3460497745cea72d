//! The collectives that hide least behind computation.

use std::collections::BTreeMap;

use gpuscope_trace::Ns;
use serde::Serialize;

use crate::collectives::{RankCollectives, Summary, element_bytes};

/// Sorts of collectives listed.
const TOP: usize = 10;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TopCollective {
    pub name: String,
    /// What the group is for, else its name.
    pub group: Option<String>,
    pub size_bytes: Option<i64>,
    pub count: u64,
    /// Not hidden behind computation: the mean over ranks, summed over all of them.
    pub exposed_ns: Ns,
    pub bus_gb_per_s: Option<f64>,
    /// The rank that came last most often.
    pub last_rank: Option<u32>,
}

/// What tells sorts of collectives apart: name, group and size.
type Key = (String, Option<String>, Option<i64>);

/// One rank's exposed time by sort of collective.
#[derive(Debug, Default)]
pub(super) struct RankExposed(BTreeMap<Key, Ns>);

impl RankExposed {
    pub(super) fn of(local: &RankCollectives) -> RankExposed {
        let parts = &local.parts;
        let mut by_sort = vec![Ns::ZERO; parts.sorts.len()];
        for (sort, exposed) in parts.sort.iter().zip(&local.sketch.exposed) {
            by_sort[*sort as usize] += *exposed;
        }
        let mut exposed = RankExposed::default();
        for (sort, time) in parts.sorts.iter().zip(by_sort) {
            let elements = sort.op.message(sort.in_elements, sort.out_elements);
            let size = elements.zip(sort.dtype.as_deref().and_then(element_bytes));
            let size = size.and_then(|(elements, bytes)| elements.checked_mul(bytes));
            let group = parts.groups[sort.group as usize].name.clone();
            *exposed.0.entry((sort.name.clone(), group, size)).or_default() += time;
        }
        exposed
    }
}

pub(super) fn merge(ranks: Vec<RankExposed>, summary: &[Summary]) -> Vec<TopCollective> {
    let count = ranks.len().max(1) as i64;
    let mut sums: BTreeMap<Key, Ns> = BTreeMap::new();
    for (key, time) in ranks.into_iter().flat_map(|rank| rank.0) {
        *sums.entry(key).or_default() += time;
    }
    // The first of those that are alike.
    let alike = summary.iter().rev().map(|row| ((&*row.name, row.group.as_deref(), row.size_bytes), row));
    let told: BTreeMap<_, &Summary> = alike.collect();
    let row = |((name, group, size_bytes), time): (Key, Ns)| {
        let told = told.get(&(name.as_str(), group.as_deref(), size_bytes)).copied();
        let purpose = told.and_then(|row| row.group_description.as_deref());
        let purpose = purpose.filter(|text| !text.is_empty() && *text != "undefined");
        TopCollective {
            group: purpose.map(str::to_owned).or(group),
            count: told.map_or(0, |row| row.count),
            bus_gb_per_s: told.and_then(|row| row.bus_gb_per_s),
            last_rank: told.and_then(|row| row.last_rank),
            exposed_ns: Ns(time.0 / count),
            name,
            size_bytes,
        }
    };
    let mut top: Vec<TopCollective> =
        sums.into_iter().map(row).filter(|row| row.exposed_ns > Ns::ZERO).collect();
    // Stable, so that equal ones stay by name.
    top.sort_by_key(|row| std::cmp::Reverse(row.exposed_ns));
    top.truncate(TOP);
    top
}
