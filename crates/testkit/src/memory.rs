//! How full the device's memory is, and what an allocator does that finds no room in it.

use crate::action::Action;
use crate::catalog;
use crate::event::Link;
use crate::fault::Fault;
use crate::groups::Groups;
use crate::plan::Plan;
use crate::program::{self, Builder};
use crate::shapes::Shape;

/// What each device has.
pub(crate) const GPU_MEMORY: i64 = 85_029_158_912;
/// What an allocator that cannot get more has left, and what it holds beyond its largest need.
const LAST_FREE: i64 = 300 << 20;
const SLACK: i64 = 64 << 20;

/// Bytes allocated and reserved before the first step.
pub(crate) fn at_start(plan: &Plan, groups: &Groups, rank: u32) -> (i64, i64) {
    let weights = 12 * (plan.hidden * plan.hidden) as i64 * i64::from(plan.layers);
    let resident = weights * 14;
    let mut held = (resident, resident + (2 << 30));
    for fault in plan.faults.iter().filter(|fault| fault.extent().covers(rank, plan.first_step)) {
        match *fault {
            Fault::MemoryNearLimit { free_bytes, .. } => {
                let reserved = GPU_MEMORY - free_bytes;
                held = ((reserved - SLACK - most_added(plan, groups, rank)).max(0), reserved);
            }
            Fault::Fragmentation { .. } => held.1 = GPU_MEMORY - LAST_FREE,
            _ => {}
        }
    }
    held
}

/// By how much a step's allocations exceed what was there before it, at most.
fn most_added(plan: &Plan, groups: &Groups, rank: u32) -> i64 {
    let (actions, _) = program::step(plan, groups, rank, plan.first_step, 1);
    let (mut added, mut most) = (0, 0);
    for action in actions {
        match action {
            Action::Allocate { bytes, .. } => added += bytes,
            Action::Free { bytes, .. } => added -= bytes,
            _ => {}
        }
        most = added.max(most);
    }
    most
}

impl Builder<'_> {
    /// Enough is reserved, but in no piece large enough: the first request fails, and is repeated once cached blocks
    /// have been given back.
    pub(crate) fn allocation_retries(&mut self, microbatch: u32) {
        if microbatch > 0 || self.graph.is_some() {
            return;
        }
        for (index, fault) in self.faults_here() {
            let Fault::Fragmentation { retry_ns, .. } = fault else { continue };
            self.push(Action::Plant(index));
            self.op("aten::empty", Shape::None, Link::None);
            self.push(Action::Call { call: catalog::MALLOC, ns: retry_ns / 8 });
            self.push(Action::DrainingCall { call: catalog::FREE, ns: retry_ns / 4 });
            self.push(Action::Call { call: catalog::FREE, ns: retry_ns / 4 });
            self.push(Action::Call { call: catalog::MALLOC, ns: retry_ns - retry_ns / 8 - retry_ns / 4 * 2 });
            self.close();
            self.push(Action::Planted);
        }
    }
}
