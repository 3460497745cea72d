//! What a range of time holds: for GPUs and the host apart, how many slices, their time, and what takes most of it.

use std::cmp::Reverse;

use gpuscope_trace::{Interval, Ns, TimeSet};
use serde::Serialize;

use super::{Atlas, TrackSort};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RangeStatistics {
    pub sort: &'static str,
    pub count: u64,
    /// Summed; what is inside another slice of its thread adds nothing.
    pub total_ns: Ns,
    /// In which anything of it ran.
    pub union_ns: Ns,
    pub top: Vec<NameTime>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NameTime {
    pub name: String,
    pub count: u64,
    pub total_ns: Ns,
}

const MOST_NAMES: usize = 5;

impl Atlas {
    /// Slices that begin before the range or end after it count with what is inside.
    pub fn range(&self, from: Ns, to: Ns) -> [RangeStatistics; 2] {
        [TrackSort::Gpu, TrackSort::Host].map(|sort| self.of_sort(sort, from, to))
    }

    fn of_sort(&self, sort: TrackSort, from: Ns, to: Ns) -> RangeStatistics {
        let mut names = vec![(0_u64, Ns::ZERO); self.picture().names.len()];
        let (mut count, mut total) = (0, Ns::ZERO);
        let mut spans = Vec::new();
        for (charted, _, lane) in self.lanes().filter(|(_, track, _)| track.sort == sort) {
            let first = lane.end.partition_point(|end| *end <= from);
            let after = first + lane.start[first..].partition_point(|start| *start < to);
            let is_outermost = sort == TrackSort::Gpu || charted.lane == 0;
            count += (after - first) as u64;
            for i in first..after {
                let (start, end) = (lane.start[i].max(from), lane.end[i].min(to));
                let (of_name, time) = &mut names[lane.name[i] as usize];
                *of_name += 1;
                *time += end - start;
                if is_outermost {
                    total += end - start;
                    spans.push(Interval::new(start, end));
                }
            }
        }
        // Lanes are in order, so that sorting them together is quick.
        let union_ns = TimeSet::from_unsorted(spans).len();
        let mut top: Vec<usize> = (0..names.len()).filter(|name| names[*name].0 > 0).collect();
        top.sort_by_key(|name| Reverse(names[*name].1));
        let listed = |name: usize| NameTime {
            name: self.picture().names[name].clone(),
            count: names[name].0,
            total_ns: names[name].1,
        };
        let top = top.into_iter().take(MOST_NAMES).map(listed).collect();
        RangeStatistics { sort: sort.label(), count, total_ns: total, union_ns, top }
    }
}
