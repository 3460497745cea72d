//! The work of operators put down to GPU events, so that it adds up along whatever the events are put down to.
//!
//! All the work of a call is that of the longest kernel below it: the product, not the copy that prepares it.

use gpuscope_trace::{Bitmap, GpuEvent, Kind, Row, View};
use gpuscope_work::{Models, Work};

use super::calls::Calls;
use super::counted::counted;
use super::kinds::Kinds;
use super::work::Works;

pub(crate) struct EventWork {
    /// By row.
    flops: Vec<(Row, u128)>,
    known: Bitmap,
}

impl EventWork {
    /// Of the work that `counts`.
    pub(crate) fn of(view: View<'_>, models: &Models, counts: impl Fn(&Work) -> bool) -> EventWork {
        let calls = Calls::of(view);
        let kinds = Kinds::of(view, &calls);
        let works = Works::of(view, &calls, &kinds, models);
        let mut found = EventWork { flops: Vec::new(), known: Bitmap::empty(view.trace.len()) };
        let mut open: Option<Open> = None;
        for counted in counted(&calls, &kinds, &works) {
            // What is below a call follows it without a break.
            if counted.work.is_some() || !counted.known {
                found.close(open.take());
            }
            if let Some(work) = counted.work.filter(|work| counts(work)) {
                open = Some(Open { flops: work.flops, longest: None });
            }
            for event in calls.direct(counted.call).iter().filter(|_| counted.known) {
                found.known.insert(event.row);
                if let Some(open) = &mut open {
                    open.see(event);
                }
            }
        }
        found.close(open);
        found.flops.sort_unstable();
        found
    }

    fn close(&mut self, open: Option<Open>) {
        let placed = open.and_then(|open| Some((open.longest?.row, open.flops)));
        self.flops.extend(placed);
    }

    /// Operations that are put down to a GPU event.
    pub(crate) fn flops(&self, row: Row) -> u128 {
        let found = self.flops.binary_search_by_key(&row, |(row, _)| *row);
        found.map_or(0, |place| self.flops[place].1)
    }

    /// Whether a GPU event is of an operator with known work.
    pub(crate) fn is_known(&self, row: Row) -> bool {
        self.known.has(row)
    }
}

/// A call whose work counts, while what is below it goes by.
struct Open {
    flops: u128,
    longest: Option<GpuEvent>,
}

impl Open {
    fn see(&mut self, event: &GpuEvent) {
        let size = |event: &GpuEvent| (event.kind == Kind::Computation, event.dur());
        if self.longest.is_none_or(|longest| size(event) > size(&longest)) {
            self.longest = Some(*event);
        }
    }
}
