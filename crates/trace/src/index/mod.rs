//! What several questions need and none should compute twice: built on first use, shared from then on.

mod autograd;
mod derived;
mod gpu;
mod innermost;
mod launches;
mod nesting;
mod order;
mod steps;

use std::any::Any;
use std::sync::{Arc, OnceLock};

pub use autograd::Autograd;
pub use gpu::{GpuEvent, GpuEvents};
pub use innermost::Innermost;
pub use launches::{Launches, LinkedBy};
pub use nesting::Nesting;
pub use order::Order;
pub use steps::{Step, StepCursor, StepMarker, StepOrigin, Steps};

use crate::kinds::KindRules;
use crate::select::{EVERYTHING, Selection};
use crate::trace::{Row, Trace};
use derived::Derived;
use order::ThreadOrder;

/// Stands for "no row" in links.
pub(crate) const NO_ROW: Row = Row::MAX;

pub(crate) fn some_row(row: Row) -> Option<Row> {
    (row != NO_ROW).then_some(row)
}

/// The lazy, shared indexes of one trace.
#[derive(Debug, Default)]
pub struct Index {
    rules: KindRules,
    gpu: OnceLock<GpuEvents>,
    launches: OnceLock<Launches>,
    step_marker: Option<StepMarker>,
    recorded_steps: OnceLock<Steps>,
    /// Of the marker, or guessed.
    other_steps: OnceLock<Steps>,
    order: OnceLock<Order>,
    thread_order: OnceLock<ThreadOrder>,
    nesting: OnceLock<Nesting>,
    innermost: OnceLock<Innermost>,
    autograd: OnceLock<Autograd>,
    derived: Derived,
}

impl Index {
    pub fn new(rules: KindRules) -> Index {
        Index { rules, ..Index::default() }
    }

    /// The user's own steps, in place of the recorded ones.
    #[must_use]
    pub fn with_step_marker(mut self, marker: Option<StepMarker>) -> Index {
        self.step_marker = marker;
        self
    }

    /// GPU events in order of their start.
    pub fn gpu(&self, trace: &Trace) -> &GpuEvents {
        self.gpu.get_or_init(|| GpuEvents::new(trace, &self.rules))
    }

    /// Which call put which GPU event on the device.
    pub fn launches(&self, trace: &Trace) -> &Launches {
        self.launches.get_or_init(|| Launches::new(trace))
    }

    /// The steps by start: those of the user's marker if there is one, else the recorded ones, else a guess.
    pub fn steps(&self, trace: &Trace) -> &Steps {
        if let Some(marker) = &self.step_marker {
            return self.other_steps.get_or_init(|| Steps::marked(trace, marker));
        }
        match self.recorded_steps(trace) {
            none if none.is_empty() => self.other_steps.get_or_init(|| Steps::inferred(trace)),
            recorded => recorded,
        }
    }

    /// The `ProfilerStep#N` annotations, whatever else marks steps.
    pub fn recorded_steps(&self, trace: &Trace) -> &Steps {
        self.recorded_steps.get_or_init(|| Steps::recorded(trace))
    }

    /// All rows by track and start.
    pub fn order(&self, trace: &Trace) -> &Order {
        self.order.get_or_init(|| Order::new(trace))
    }

    fn thread_order(&self, trace: &Trace) -> &ThreadOrder {
        self.thread_order.get_or_init(|| ThreadOrder::new(trace))
    }

    /// The host events of each thread that have a span, by start, longer ones first, then file order.
    pub fn host_threads(&self, trace: &Trace) -> impl Iterator<Item = &[Row]> {
        self.thread_order(trace).threads()
    }

    /// Which host event encloses which.
    pub fn nesting(&self, trace: &Trace) -> &Nesting {
        self.nesting.get_or_init(|| Nesting::new(trace, self.thread_order(trace)))
    }

    /// What each host thread was doing, moment by moment.
    pub fn innermost(&self, trace: &Trace) -> &Innermost {
        self.innermost.get_or_init(|| Innermost::new(trace, self.thread_order(trace)))
    }

    /// Which backward operator belongs to which forward one.
    pub fn autograd(&self, trace: &Trace) -> &Autograd {
        self.autograd.get_or_init(|| Autograd::new(trace))
    }

    /// What a question works out of all rows, whatever is selected, for all that need it.
    pub fn derived<T: Any + Send + Sync>(&self, build: impl FnOnce() -> T) -> Arc<T> {
        self.derived.get(EVERYTHING, build)
    }

    pub(crate) fn derived_of<T: Any + Send + Sync>(
        &self,
        selection: &Selection,
        build: impl FnOnce() -> T,
    ) -> Arc<T> {
        self.derived.get(selection.id(), build)
    }
}
