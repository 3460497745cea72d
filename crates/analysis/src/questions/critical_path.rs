//! What would have to be faster for the whole to be faster?
//!
//! The critical path leads from the end of a window back to its start, always to what was waited for last. Every
//! nanosecond of the window belongs to exactly one of its stretches (`path`), so `makespan_by` adds up to
//! `makespan_ns`; `inferred_ns` rests on dependencies that the trace does not state, `unexplained_ns` on nothing
//! at all. With several ranks the path goes over to the rank that came last to a collective.
//!
//! `path_ns` and `bound_by` are the weight of HTA's longest path, for comparison: it leaves out waiting between
//! top-level host events and is not contiguous.
//!
//! The window is the chosen annotations', up to the end of the GPU work launched inside; without one the median
//! step (see `breakdown`), and without steps the whole trace.

mod dag;
mod figures;
mod hta;
mod path;
mod table;
mod window;

use gpuscope_trace::{Interval, Kind, Ns, Quality, Row, View};
use serde::{Serialize, Serializer};

use crate::Question;
use crate::idle::{Cause, Causes};
use crate::model::graph::{Coupled, Marks, RankGraph, Window, unexplained_delays, walk};

pub use window::{Instances, WindowOf};

/// What holds the path up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    Cpu,
    GpuCompute,
    GpuComm,
    GpuMemcpy,
    KernelLaunch,
    KernelKernel,
    Sync,
    DataLoading,
    Unknown,
}

impl Bound {
    pub fn label(self) -> &'static str {
        match self {
            Bound::Cpu => "host",
            Bound::GpuCompute => "computation",
            Bound::GpuComm => "communication",
            Bound::GpuMemcpy => "copies",
            Bound::KernelLaunch => "launching",
            Bound::KernelKernel => "between kernels",
            Bound::Sync => "synchronisation",
            Bound::DataLoading => "data loading",
            Bound::Unknown => "not known",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bounds {
    pub cpu_ns: Ns,
    pub gpu_compute_ns: Ns,
    pub gpu_comm_ns: Ns,
    pub gpu_memcpy_ns: Ns,
    pub kernel_launch_ns: Ns,
    pub kernel_kernel_ns: Ns,
    pub sync_ns: Ns,
    pub data_loading_ns: Ns,
    /// Time of which nothing is known; always zero in HTA's weight.
    pub unknown_ns: Ns,
}

impl Bounds {
    fn add(&mut self, bound: Bound, time: Ns) {
        *match bound {
            Bound::Cpu => &mut self.cpu_ns,
            Bound::GpuCompute => &mut self.gpu_compute_ns,
            Bound::GpuComm => &mut self.gpu_comm_ns,
            Bound::GpuMemcpy => &mut self.gpu_memcpy_ns,
            Bound::KernelLaunch => &mut self.kernel_launch_ns,
            Bound::KernelKernel => &mut self.kernel_kernel_ns,
            Bound::Sync => &mut self.sync_ns,
            Bound::DataLoading => &mut self.data_loading_ns,
            Bound::Unknown => &mut self.unknown_ns,
        } += time;
    }
}

/// An event on HTA's path, and how much it weighs there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathEvent {
    pub name: String,
    pub start_ns: Ns,
    pub weight_ns: Ns,
    pub bound_by: Bound,
}

impl PathEvent {
    fn new(view: View<'_>, row: Row, bound_by: Bound, weight_ns: Ns) -> PathEvent {
        let start_ns = view.trace.start(row).unwrap_or_default();
        PathEvent { name: view.trace.name(row).to_owned(), start_ns, weight_ns, bound_by }
    }
}

/// One stretch of the contiguous path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathStretch {
    pub rank: u32,
    /// In the times of that rank.
    pub start_ns: Ns,
    pub dur_ns: Ns,
    pub bound_by: Bound,
    /// What ran, or what waited.
    pub name: Option<String>,
    /// The event's place in the trace's event array.
    pub element: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
    #[serde(skip_serializing_if = "is_zero")]
    pub unexplained_ns: Ns,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(time: &Ns) -> bool {
    *time == Ns::ZERO
}

/// What one name takes of the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathShare {
    pub bound_by: Bound,
    pub name: Option<String>,
    pub sum_ns: Ns,
    pub count: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CriticalPathAnswer {
    /// The rank whose window it is.
    pub rank: u32,
    /// What the window is of.
    pub window: String,
    /// The number of the step, if it was taken because it is the median one, and the step time of its rank.
    pub step: Option<i64>,
    pub step_time_ns: Option<Ns>,
    /// No step is near the step time: it lies between two, and the longer was taken.
    #[serde(skip)]
    between_two_steps: bool,
    pub start_ns: Ns,
    pub path_ns: Ns,
    pub bound_by: Bounds,
    pub makespan_ns: Ns,
    pub makespan_by: Bounds,
    pub inferred_ns: Ns,
    pub inferred_edges: u64,
    pub unexplained_ns: Ns,
    /// The names that make up most of the path, largest first.
    pub top: Vec<PathShare>,
    pub path: Vec<PathStretch>,
    pub events: Vec<PathEvent>,
}

impl CriticalPathAnswer {
    /// Without the stretches of the path and the events on it, of which there may be hundreds of thousands.
    pub(crate) fn in_brief<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Brief<'a> {
            rank: u32,
            window: &'a str,
            step: Option<i64>,
            step_time_ns: Option<Ns>,
            start_ns: Ns,
            path_ns: Ns,
            bound_by: &'a Bounds,
            makespan_ns: Ns,
            makespan_by: &'a Bounds,
            inferred_ns: Ns,
            inferred_edges: u64,
            unexplained_ns: Ns,
            top: &'a [PathShare],
        }
        let brief = Brief {
            rank: self.rank,
            window: &self.window,
            step: self.step,
            step_time_ns: self.step_time_ns,
            start_ns: self.start_ns,
            path_ns: self.path_ns,
            bound_by: &self.bound_by,
            makespan_ns: self.makespan_ns,
            makespan_by: &self.makespan_by,
            inferred_ns: self.inferred_ns,
            inferred_edges: self.inferred_edges,
            unexplained_ns: self.unexplained_ns,
            top: &self.top,
        };
        brief.serialize(serializer)
    }
}

#[derive(Clone, Debug, Default)]
pub struct CriticalPath {
    pub window: WindowOf,
}

/// One rank's graph of the window, and what its parts are called.
#[derive(Debug)]
pub struct LocalPath {
    rank: u32,
    window: String,
    step: Option<window::ChosenStep>,
    span: Interval,
    weighed: hta::Weighed,
    graph: RankGraph,
    names: path::Names,
}

impl Question for CriticalPath {
    type Local = Option<LocalPath>;
    type Answer = CriticalPathAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> Option<LocalPath> {
        let found = self.window.find(view)?;
        let span = found.window.span;
        // As much again before it: other ranks may have been behind, and what ran first was launched earlier.
        let with_before = Interval::new(span.start - span.len(), span.end);
        let window = Window { span: with_before, ..found.window };
        let graph = RankGraph::new(rank, view, &window, &Marks::NONE);
        let names = path::Names::of(view, &graph.graph);
        let weighed = hta::weigh(view, found.annotated);
        Some(LocalPath { rank, window: found.name, step: found.step, span, weighed, graph, names })
    }

    fn merge(&self, mut locals: Vec<Option<LocalPath>>) -> CriticalPathAnswer {
        if self.window == WindowOf::MedianStep {
            one_window(&mut locals);
        }
        let mut ranks = Vec::new();
        let mut graphs = Vec::new();
        let mut first: Option<CriticalPathAnswer> = None;
        for local in locals.into_iter().flatten() {
            let LocalPath { rank, window, step, span, weighed, graph, names } = local;
            first.get_or_insert_with(|| CriticalPathAnswer {
                rank,
                window,
                step: step.map(|step| step.number),
                step_time_ns: step.map(|step| step.step_time),
                between_two_steps: step.is_some_and(|step| step.between_two),
                path_ns: weighed.path,
                bound_by: weighed.bounds,
                events: weighed.events,
                makespan_ns: span.len(),
                start_ns: span.start,
                inferred_edges: graph.graph.inferred(span),
                ..CriticalPathAnswer::default()
            });
            ranks.push((rank, names));
            graphs.push(graph);
        }
        let Some(mut answer) = first else { return CriticalPathAnswer::default() };
        let window = Interval::new(answer.start_ns, answer.start_ns + answer.makespan_ns);
        let coupled = Coupled::of(graphs);
        answer.take_path(&coupled, &walk(&coupled, 0, window), &ranks);
        answer
    }

    fn quality(&self, answer: &CriticalPathAnswer) -> Vec<Quality> {
        unexplained_delays(answer.unexplained_ns, answer.makespan_ns, "the path").into_iter().collect()
    }
}

/// Where ranks took different steps for the median one, those stay that took what most did: other steps are at other
/// times, and share no collective with it.
fn one_window(locals: &mut Vec<Option<LocalPath>>) {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for local in locals.iter().flatten() {
        match counts.iter_mut().find(|(window, _)| *window == local.window) {
            Some((_, count)) => *count += 1,
            None => counts.push((&local.window, 1)),
        }
    }
    // Of equal ones that of the lowest rank.
    let Some(most) = counts.iter().rev().max_by_key(|(_, count)| *count).map(|(most, _)| (*most).to_owned())
    else {
        return;
    };
    locals.retain(|local| local.as_ref().is_some_and(|local| local.window == most));
}

fn gpu_bound(kind: Kind) -> Bound {
    match kind {
        Kind::Communication => Bound::GpuComm,
        Kind::Memcpy => Bound::GpuMemcpy,
        Kind::Memset | Kind::Computation => Bound::GpuCompute,
    }
}

/// What time in a host event counts as.
fn host_bound(causes: &mut Causes<'_>, row: Row) -> Bound {
    match causes.of(row).0 {
        Cause::DataLoading => Bound::DataLoading,
        Cause::Synchronisation | Cause::BlockingCopy => Bound::Sync,
        _ => Bound::Cpu,
    }
}
