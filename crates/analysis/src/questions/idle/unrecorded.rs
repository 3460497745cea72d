//! When did work that was launched before the recording began still run?
//!
//! Such work has no event, so the device looks idle. It shows in what it held up. Streams run in order: if the first
//! event of a stream starts long after its launch returned while nothing that was recorded runs, the stream still had
//! something to do, and as nothing was launched on it since the recording began, that is older. A synchronising call
//! that returned before that launch rules it out, as the device had then done all there was. Only the opening of a
//! recording is judged so: the wait is longer than all that was recorded before it. Later a first event may wait for
//! much else.

use std::sync::Arc;

use gpuscope_trace::{Bitmap, Interval, Ns, Row, View};
use rustc_hash::FxHashSet;

use super::causes::Cause;

/// Waits below this are the price of a launch, or of the first work on a stream.
const EVIDENT: Ns = Ns(1_000_000);

#[derive(Debug, Default)]
pub(crate) struct Unrecorded {
    recording_began: Ns,
    /// First events of streams that started long after their launch returned.
    held_up: Vec<Row>,
}

impl Unrecorded {
    /// Of the whole trace, whatever is selected: what was not selected was recorded nonetheless.
    pub(crate) fn of(view: View<'_>) -> Arc<Unrecorded> {
        view.index.derived(|| Unrecorded::find(view))
    }

    fn find(view: View<'_>) -> Unrecorded {
        let trace = view.trace;
        let Some((recording_began, _)) = trace.extent() else { return Unrecorded::default() };
        // Several tracks may be of one stream.
        let (mut tracks, mut streams) = (Bitmap::empty(trace.tracks.len()), FxHashSet::default());
        let mut held_up: Vec<(Row, Ns)> = Vec::new();
        for event in view.index.gpu(trace).iter() {
            let is_new = tracks.insert(trace.track_id(event.row).0);
            if !is_new || !streams.insert((view.device(event.row), view.stream(event.row))) {
                continue;
            }
            let call = view.launch(event.row).and_then(|call| trace.span(call));
            if let Some((began, _)) = call.filter(|(_, returned)| event.start - *returned >= EVIDENT) {
                held_up.push((event.row, began));
            }
        }
        if !held_up.is_empty() {
            let drained = first_drained(view);
            held_up.retain(|(_, launched)| drained.is_none_or(|drained| *launched < drained));
        }
        Unrecorded { recording_began, held_up: held_up.into_iter().map(|(row, _)| row).collect() }
    }

    /// Whether an event is the first of its stream and waited for older work.
    pub(crate) fn held_up(&self, event: Row) -> bool {
        self.held_up.contains(&event)
    }

    /// Whether it filled the gap that an event ends which a call launched.
    pub(crate) fn fills(&self, gap: Interval, event: Row, call: Interval) -> bool {
        let waited = gap.end - call.end.max(gap.start);
        waited >= EVIDENT && waited > gap.start - self.recording_began && self.held_up.contains(&event)
    }

    /// Time in which no device of the view ran anything that was recorded, but some ran older work.
    pub(crate) fn time(view: View<'_>) -> Ns {
        let unrecorded = Unrecorded::of(view);
        if unrecorded.held_up.is_empty() {
            return Ns::ZERO;
        }
        let (mut busy_until, mut time) = (None::<Ns>, Ns::ZERO);
        for event in view.gpu() {
            if let Some(gap) = busy_until.map(|until| Interval::new(until, event.start))
                && !gap.is_empty()
                && let Some((began, returned)) = view.launch(event.row).and_then(|call| view.trace.span(call))
                && unrecorded.fills(gap, event.row, Interval::new(began, returned))
            {
                time += gap.len();
            }
            busy_until = Some(busy_until.map_or(event.end, |until| until.max(event.end)));
        }
        time
    }
}

/// When a call first returned that waits until the device has done its work.
fn first_drained(view: View<'_>) -> Option<Ns> {
    let trace = view.trace;
    // Each name is looked at once.
    let mut known: Vec<Option<bool>> = vec![None; trace.strings.len()];
    let waits = |row: &Row| {
        let class = trace.class(*row);
        class.is_call()
            && *known[trace.name_id(*row).index()].get_or_insert_with(|| {
                let name = trace.name(*row);
                let cause = Cause::telling(class, name);
                matches!(cause, Some(Cause::Synchronisation | Cause::BlockingCopy)) && !name.contains("Event")
            })
    };
    trace.rows().filter(waits).filter_map(|row| trace.span(row)).map(|(_, returned)| returned).min()
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::{Code, Ns};

    use crate::testing::{Sample, trace};
    use crate::{Breakdown, Idle};

    const MS: i64 = 1_000_000;

    /// A kernel at once on one stream, one after 50 ms on another.
    fn opening(sample: Sample, second_stream: i64) -> (Ns, Ns, Ns) {
        let loaded = sample
            .call(1, 100..110)
            .kernel("runs at once", 7, 120..130, 1)
            .call(2, 200..210)
            .kernel("waits", second_stream, 50 * MS..51 * MS, 2)
            .build();
        let idle = loaded.ask(&Idle::default()).devices[0];
        let parts = idle.host_ns + idle.in_call_ns + idle.launch_ns + idle.queued_ns + idle.unrecorded_ns;
        assert_eq!(parts, idle.idle_ns);
        let breakdown = loaded.ask(&Breakdown::default());
        assert_eq!(breakdown.ranks[0].unrecorded_ns, idle.unrecorded_ns);
        let said = loaded.quality().iter().any(|entry| entry.code == Code::UnrecordedWork);
        assert_eq!(said, idle.unrecorded_ns > Ns::ZERO);
        (idle.idle_ns, idle.unrecorded_ns, idle.queued_ns)
    }

    #[test]
    fn the_first_event_of_a_stream_waits_for_what_was_launched_before_the_recording() {
        let gap = Ns(50 * MS - 130);
        assert_eq!(opening(trace(), 20), (gap, gap, Ns(0)));
    }

    #[test]
    fn a_stream_that_has_run_something_has_nothing_older_to_do() {
        let gap = Ns(50 * MS - 130);
        assert_eq!(opening(trace(), 7), (gap, Ns(0), Ns(50 * MS - 210 - 30_000)));
    }

    #[test]
    fn after_a_synchronisation_nothing_older_is_left() {
        let queued = Ns(50 * MS - 210 - 30_000);
        let synchronised = trace().named_call("cudaDeviceSynchronize", 9, 0..50);
        assert_eq!(opening(synchronised, 20).2, queued);
        let event_only = trace().named_call("cudaEventSynchronize", 9, 0..50);
        assert_eq!(opening(event_only, 20).2, Ns(0));
    }

    #[test]
    fn only_the_opening_of_a_recording_is_judged() {
        let long_before = trace().host("cpu_op", "aten::empty", -80 * MS..0);
        assert_eq!(opening(long_before, 20).1, Ns(0));
    }
}
