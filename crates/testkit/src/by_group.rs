//! What one rank's communication cost in each of its process groups, as the truth has it.

use std::collections::BTreeMap;

use crate::groups::Groups;
use crate::sweep::{Kind, Sweep};
use crate::truth::GroupTruth;

#[derive(Debug, Default)]
struct Sums {
    collectives: u64,
    comm_ns: i64,
    /// All computation, and the communication of this group only.
    sweep: Sweep,
}

/// Adds up while events are still coming in.
#[derive(Debug)]
pub(crate) struct ByGroup {
    sums: BTreeMap<usize, Sums>,
}

impl ByGroup {
    pub(crate) fn new(groups: &Groups, rank: u32) -> ByGroup {
        let own = groups.all.iter().enumerate().filter(|(_, group)| group.ranks.contains(&rank));
        ByGroup { sums: own.map(|(number, _)| (number, Sums::default())).collect() }
    }

    pub(crate) fn computation(&mut self, start: i64, end: i64) {
        for sums in self.sums.values_mut() {
            sums.sweep.add(start, end, Kind::Computation);
        }
    }

    pub(crate) fn transfer(&mut self, group: usize, start: i64, end: i64) {
        let sums = self.sums.entry(group).or_default();
        sums.collectives += 1;
        sums.comm_ns += end - start;
        sums.sweep.add(start, end, Kind::Communication);
    }

    pub(crate) fn advance(&mut self, horizon: i64) {
        for sums in self.sums.values_mut() {
            sums.sweep.advance(horizon);
        }
    }

    pub(crate) fn finish(self, groups: &Groups) -> Vec<GroupTruth> {
        let used = self.sums.into_iter().filter(|(_, sums)| sums.collectives > 0);
        let truth = |(number, sums): (usize, Sums)| GroupTruth {
            group: groups.all[number].name.clone(),
            description: groups.all[number].description,
            collectives: sums.collectives,
            comm_ns: sums.comm_ns,
            exposed_ns: sums.sweep.finish().exposed_comm_ns,
        };
        used.map(truth).collect()
    }
}
