//! What can be different when a job runs once more.

use super::program::Span;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// GPU work whose name contains the part, or all of it, takes so many percent of its time. Of a transfer between
    /// ranks only the transfer is scaled: waiting for the others is not.
    Gpu { part: Option<&'static str>, percent: u32 },
    /// What the host does itself inside operators whose name contains the part takes so many percent of its time: its
    /// work and the cost of its calls, not what it waits for.
    Host { part: &'static str, percent: u32 },
    /// The host never waits for the GPU: synchronisations, blocking copies and frees return after their own cost. Only
    /// a full queue still holds it.
    NoSynchronisation,
    /// Calls that hand work to the GPU cost nothing and the work may start at once. The GPU's own gaps between queued
    /// work stay.
    NoLaunchOverhead,
}

impl Change {
    pub fn label(&self) -> String {
        match self {
            Change::Gpu { part: None, percent } => format!("all GPU work to {percent} %"),
            Change::Gpu { part: Some(part), percent } => format!("{part} to {percent} %"),
            Change::Host { part, percent } => format!("host {part} to {percent} %"),
            Change::NoSynchronisation => "no synchronisation".to_owned(),
            Change::NoLaunchOverhead => "no launch overhead".to_owned(),
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Change::Gpu { part: None, .. } => "all GPU work",
            Change::Gpu { part: Some("nccl"), .. } => "communication",
            Change::Gpu { part: Some(_), .. } => "GPU work by name",
            Change::Host { .. } => "host work by name",
            Change::NoSynchronisation => "no synchronisation",
            Change::NoLaunchOverhead => "no launch overhead",
        }
    }
}

/// The changes of one run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Changes<'c>(pub(super) &'c [Change]);

impl Changes<'_> {
    pub(super) fn gpu_time(self, name: &str, ns: i64) -> i64 {
        let scale = |ns, change: &Change| match change {
            Change::Gpu { part, percent } if part.is_none_or(|part| name.contains(part)) => {
                ns * i64::from(*percent) / 100
            }
            _ => ns,
        };
        self.0.iter().fold(ns, scale)
    }

    /// Of host work, or of a call with its name, inside some open spans.
    pub(super) fn host_time<'s>(
        self,
        open: &(impl Iterator<Item = &'s Span> + Clone),
        call: &str,
        ns: i64,
    ) -> i64 {
        let scale = |ns, change: &Change| match change {
            Change::Host { part, percent }
                if call.contains(part) || open.clone().any(|span| span.name().text.contains(part)) =>
            {
                ns * i64::from(*percent) / 100
            }
            _ => ns,
        };
        self.0.iter().fold(ns, scale)
    }

    pub(super) fn no_synchronisation(self) -> bool {
        self.0.contains(&Change::NoSynchronisation)
    }

    pub(super) fn no_launch_overhead(self) -> bool {
        self.0.contains(&Change::NoLaunchOverhead)
    }
}
