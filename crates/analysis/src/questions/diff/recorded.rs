//! What the sentence about a comparison has to know of each side, beside its sums.

use std::collections::BTreeSet;

use gpuscope_trace::{Class, Ns, View};
use serde::Serialize;

use super::PartRow;
use crate::breakdown::RankBreakdown;
use crate::diff_tree::RunTree;
use crate::shared::median::median_of;

/// The part of a step in which the GPU did nothing.
pub(super) const IDLE: &str = "GPU idle";

/// What a step consists of. The GPU's idle time is what the others leave of the step time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StepParts {
    pub computation_ns: Ns,
    pub exposed_comm_ns: Ns,
    pub exposed_memcpy_ns: Ns,
    pub idle_ns: Ns,
}

impl StepParts {
    fn of(breakdown: &RankBreakdown) -> Option<StepParts> {
        let step_time = breakdown.step_time.as_ref()?;
        let is_used = |step: i64| step_time.left_out.iter().all(|out| out.step != step);
        let all = || breakdown.steps.iter().chain(&breakdown.inferred_steps);
        // A trace of one step has none that counts, and yet a step time.
        let any_used = all().any(|step| is_used(step.step));
        let used = || all().filter(|step| is_used(step.step) || !any_used).map(|step| &step.times);
        Some(StepParts::within(
            step_time.ns,
            median_of(used().map(|times| times.computation_ns.0).collect()),
            median_of(used().map(|times| times.exposed_comm_ns.0).collect()),
            median_of(used().map(|times| times.exposed_memcpy_ns.0).collect()),
        ))
    }

    fn within(
        step: Ns,
        computation: Option<i64>,
        exposed_comm: Option<i64>,
        exposed_memcpy: Option<i64>,
    ) -> StepParts {
        let [computation_ns, exposed_comm_ns, exposed_memcpy_ns] =
            [computation, exposed_comm, exposed_memcpy].map(|ns| Ns(ns.unwrap_or(0)));
        let idle_ns = step - computation_ns - exposed_comm_ns - exposed_memcpy_ns;
        StepParts { computation_ns, exposed_comm_ns, exposed_memcpy_ns, idle_ns }
    }

    pub(super) fn step(&self) -> Ns {
        self.computation_ns + self.exposed_comm_ns + self.exposed_memcpy_ns + self.idle_ns
    }
}

/// The step of both sides, part by part.
pub(super) fn parts(a: &Recorded, b: &Recorded) -> Vec<PartRow> {
    let (Some(a), Some(b)) = (a.step, b.step) else { return Vec::new() };
    let part = |part: &'static str, a_ns: Ns, b_ns: Ns| PartRow { part, a_ns, b_ns, delta_ns: b_ns - a_ns };
    vec![
        part("computation", a.computation_ns, b.computation_ns),
        part("exposed communication", a.exposed_comm_ns, b.exposed_comm_ns),
        part("exposed copies", a.exposed_memcpy_ns, b.exposed_memcpy_ns),
        part(IDLE, a.idle_ns, b.idle_ns),
    ]
}

/// Of one rank, or of all ranks of a run together.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The names of the GPUs that were used.
    pub hardware: BTreeSet<String>,
    pub ranks: u64,
    /// Steps of the median rank.
    pub steps: u64,
    /// Of the median rank.
    pub step: Option<StepParts>,
    pub(super) operators: BTreeSet<String>,
    /// Calls of the runtime and the driver, which may wait for the GPU.
    pub(super) calls: BTreeSet<String>,
    /// Operators and what they launched; none for a rank that never was.
    pub(super) tree: Option<RunTree>,
}

impl Recorded {
    pub(super) fn of(view: View<'_>, breakdown: &RankBreakdown) -> Recorded {
        Recorded {
            hardware: hardware(view),
            ranks: 1,
            steps: (breakdown.steps.len() + breakdown.inferred_steps.len()) as u64,
            step: StepParts::of(breakdown),
            operators: names(view, |class| class == Class::Operator),
            calls: names(view, Class::is_call),
            tree: Some(RunTree::of_operators(view)),
        }
    }

    /// All ranks of a run.
    pub(super) fn all<'r>(ranks: impl Iterator<Item = &'r Recorded>) -> Recorded {
        let mut all = Recorded { tree: Some(RunTree::default()), ..Recorded::default() };
        let (mut steps, mut parts) = (Vec::new(), Vec::new());
        for rank in ranks {
            all.ranks += rank.ranks;
            all.hardware.extend(rank.hardware.iter().cloned());
            all.operators.extend(rank.operators.iter().cloned());
            all.calls.extend(rank.calls.iter().cloned());
            steps.push(rank.steps as i64);
            parts.extend(rank.step);
            if let (Some(all), Some(tree)) = (&mut all.tree, &rank.tree) {
                all.merge(tree);
            }
        }
        let of = |part: fn(&StepParts) -> Ns| median_of(parts.iter().map(|parts| part(parts).0).collect());
        all.step = of(StepParts::step).map(|step| {
            StepParts::within(
                Ns(step),
                of(|parts| parts.computation_ns),
                of(|parts| parts.exposed_comm_ns),
                of(|parts| parts.exposed_memcpy_ns),
            )
        });
        all.steps = median_of(steps).map_or(0, |steps| steps.max(0) as u64);
        all
    }

    /// A rank made of the medians of others: it called nothing.
    pub(super) fn median<'r>(ranks: impl Iterator<Item = &'r Recorded>) -> Recorded {
        Recorded { ranks: 1, tree: None, ..Recorded::all(ranks) }
    }
}

/// The names of the devices that ran something; of all, if the trace does not say which is which.
fn hardware(view: View<'_>) -> BTreeSet<String> {
    let devices = &view.trace.metadata.devices;
    let used: BTreeSet<i64> = view.gpu().map(|event| view.device(event.row)).collect();
    let of = |is_wanted: &dyn Fn(i64) -> bool| -> BTreeSet<String> {
        let wanted = devices.iter().filter(|device| is_wanted(device.id));
        wanted.filter_map(|device| Some(device.name.as_ref()?.trim().to_owned())).collect()
    };
    let mut names = of(&|id| used.contains(&id));
    if names.is_empty() {
        names = of(&|_| true);
    }
    names.remove("");
    names
}

/// The names of the events of some classes.
fn names(view: View<'_>, is_wanted: impl Fn(Class) -> bool) -> BTreeSet<String> {
    let trace = view.trace;
    let mut seen = vec![false; trace.strings.len()];
    let mut names = BTreeSet::new();
    for row in trace.rows().filter(|row| is_wanted(trace.class(*row)) && view.selection.has(*row)) {
        let name = trace.name_id(row);
        if !std::mem::replace(&mut seen[name.index()], true) {
            names.insert(trace.strings.get(name).to_owned());
        }
    }
    names
}
