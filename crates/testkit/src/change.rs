//! The same job with one thing changed: what a prediction of "what if" is held to.
//!
//! A change uses the same chance everywhere, so that two jobs differ by the change and its consequences only.

use serde::Serialize;

use crate::groups::Group;
use crate::plan::Plan;

/// One thing that is otherwise in a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Change {
    /// GPU work whose name contains this takes `percent` of its time. A transfer's time is that from its last arrival
    /// to its end; waiting for others is not scaled.
    ScaleKernels { part: String, percent: u32 },
    /// Calls that launch GPU work take no time, and what they launch can start at once.
    NoLaunchOverhead,
    /// No call waits for the GPU before the end of the job; planted waits are gone, too.
    NoSynchronisation,
    /// Nothing waits for the transfers of the groups with this name or description.
    Overlap { group: String },
}

impl Plan {
    #[must_use]
    pub fn with_change(mut self, change: Change) -> Plan {
        self.changes.push(change);
        self
    }

    /// GPU work whose name contains `part` takes `percent` of its time; of transfers the part after the last arrival.
    #[must_use]
    pub fn scale_kernels(self, part: &str, percent: u32) -> Plan {
        self.with_change(Change::ScaleKernels { part: part.to_owned(), percent })
    }

    /// Launching takes no time, neither on the host nor on the way to the GPU.
    #[must_use]
    pub fn without_launch_overhead(self) -> Plan {
        self.with_change(Change::NoLaunchOverhead)
    }

    /// The host never waits for the GPU.
    #[must_use]
    pub fn without_synchronisation(self) -> Plan {
        self.with_change(Change::NoSynchronisation)
    }

    /// Transfers of a group (`default_pg`, `dp`, `pp`, `tp`, or its name) run beside everything else.
    #[must_use]
    pub fn with_perfect_overlap(self, group: &str) -> Plan {
        self.with_change(Change::Overlap { group: group.to_owned() })
    }

    /// One rank works like any other: the faults that make it slow are gone.
    #[must_use]
    pub fn with_rank_as_median(mut self, rank: u32) -> Plan {
        self.faults.retain(|fault| fault.rank() != Some(rank) || !fault.costs_time());
        self
    }

    /// The time of GPU work after all changes.
    pub(crate) fn scaled(&self, name: &str, ns: i64) -> i64 {
        self.changes.iter().fold(ns, |ns, change| match change {
            Change::ScaleKernels { part, percent } if name.contains(part.as_str()) => {
                ns * i64::from(*percent) / 100
            }
            _ => ns,
        })
    }

    pub(crate) fn overlaps(&self, group: &Group) -> bool {
        self.changes.iter().any(|change| {
            matches!(change, Change::Overlap { group: wanted } if *wanted == group.name || wanted == group.description)
        })
    }
}
