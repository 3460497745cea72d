//! The collectives that hide least behind computation.

use std::collections::BTreeMap;

use gpuscope_trace::{GpuEvent, Kind, Ns, TimeSet, View};
use serde::Serialize;

use crate::collectives::{RankParts, Summary, element_bytes};

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
    /// `parts` are the rank's communication events in the order of the view.
    pub(super) fn of(view: View<'_>, parts: &RankParts) -> RankExposed {
        let computes = |kind| matches!(kind, Kind::Computation | Kind::Memset);
        let computing = view.gpu().filter(|event| computes(event.kind)).map(GpuEvent::interval);
        let computing = TimeSet::from_sorted(computing);
        let hiding = Hiding::of(&computing);
        let mut by_sort = vec![Ns::ZERO; parts.sorts.len()];
        let events = view.gpu().filter(|event| event.kind == Kind::Communication);
        for (event, sort) in events.zip(&parts.sort) {
            let hidden = hiding.until(event.end) - hiding.until(event.start);
            by_sort[*sort as usize] += event.dur() - hidden;
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

/// How much of a set of time lies before any instant.
struct Hiding<'s> {
    set: &'s TimeSet,
    before: Vec<Ns>,
}

impl<'s> Hiding<'s> {
    fn of(set: &'s TimeSet) -> Hiding<'s> {
        let mut sum = Ns::ZERO;
        let before = set
            .intervals()
            .iter()
            .map(|interval| {
                let before = sum;
                sum += interval.len();
                before
            })
            .collect();
        Hiding { set, before }
    }

    fn until(&self, time: Ns) -> Ns {
        let begun = self.set.intervals().partition_point(|interval| interval.start < time);
        let Some(last) = begun.checked_sub(1) else { return Ns::ZERO };
        let interval = self.set.intervals()[last];
        self.before[last] + (interval.end.min(time) - interval.start)
    }
}

pub(super) fn merge(ranks: Vec<RankExposed>, summary: &[Summary]) -> Vec<TopCollective> {
    let count = ranks.len().max(1) as i64;
    let mut sums: BTreeMap<Key, Ns> = BTreeMap::new();
    for (key, time) in ranks.into_iter().flat_map(|rank| rank.0) {
        *sums.entry(key).or_default() += time;
    }
    let row = |((name, group, size_bytes), time): (Key, Ns)| {
        let told = summary.iter().find(|row| {
            *row.name == *name && row.group.as_deref() == group.as_deref() && row.size_bytes == size_bytes
        });
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

#[cfg(test)]
mod tests {
    use gpuscope_trace::Interval;

    use super::*;

    #[test]
    fn time_before_an_instant_is_counted_once() {
        let set = TimeSet::from_sorted([(10, 20), (30, 35)].map(|(a, b)| Interval::new(Ns(a), Ns(b))));
        let hiding = Hiding::of(&set);
        let until = [0, 10, 15, 20, 25, 30, 33, 99].map(|time| hiding.until(Ns(time)).0);
        assert_eq!(until, [0, 0, 5, 10, 10, 10, 13, 15]);
    }
}
