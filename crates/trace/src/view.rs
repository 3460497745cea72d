//! What an analysis looks at: a trace, its index, and the selected rows.

use std::any::Any;
use std::sync::Arc;

use crate::index::{GpuEvent, Index, Steps};
use crate::select::Selection;
use crate::time::Ns;
use crate::trace::{Row, Trace};

#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub trace: &'a Trace,
    pub index: &'a Index,
    pub selection: &'a Selection,
}

impl<'a> View<'a> {
    /// The selected GPU events in order of their start.
    pub fn gpu(self) -> impl Iterator<Item = &'a GpuEvent> {
        self.index.gpu(self.trace).iter().filter(move |event| self.selection.has(event.row))
    }

    /// All steps, selected or not: of the user's marker, recorded, or guessed; their origin tells.
    pub fn steps(self) -> &'a Steps {
        self.index.steps(self.trace)
    }

    /// The call that launched a GPU event.
    pub fn launch(self, gpu_row: Row) -> Option<Row> {
        self.index.launches(self.trace).call(gpu_row)
    }

    /// When the launching call of a GPU event began.
    pub fn launch_start(self, gpu_row: Row) -> Option<Ns> {
        self.trace.start(self.launch(gpu_row)?)
    }

    pub fn device(self, row: Row) -> i64 {
        self.trace.track(row).device
    }

    pub fn stream(self, row: Row) -> Option<i64> {
        self.trace.track(row).stream
    }

    /// What a question works out of the selected rows, for all that need it: built once, then shared.
    pub fn derived<T: Any + Send + Sync>(self, build: impl FnOnce() -> T) -> Arc<T> {
        self.index.derived_of(self.selection, build)
    }
}
