//! The queue between host and GPU has an end: whoever launches onto a full one waits until the GPU takes something
//! off it.
//!
//! Nothing in a trace says so, and how long the queue may get is the driver's affair. But it shows: calls take their
//! usual time while the queue grows, and far longer at one certain length, again and again. That length is the depth,
//! and a long call at that depth waited for the work whose start made room.
//!
//! A recording may begin when the queue is full already, of work that it has not recorded. Then nothing tells the depth,
//! and calls are long from the first on; they waited for that older work.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuscope_trace::{Ns, Row, View};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::idle::Unrecorded;
use crate::model::syncs::StreamKey;
use crate::model::typical::TypicalCalls;

/// A shorter queue has not been seen to fill on any machine.
const LEAST_DEPTH: i64 = 32;
/// So near to the longest, a queue counts as full: calls and starts interleave.
const NEAR: i64 = 32;
/// Fewer long calls may have any reason.
const FEWEST_BLOCKED: u64 = 8;
/// Calls on a full queue are long at least this many times as often as others.
const MORE_OFTEN: u64 = 3;

/// What is known of one stream's queue that was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FullQueue {
    /// Work that was launched and had not begun when a call had to wait.
    pub depth: i64,
    /// From this length on calls were seen to wait.
    pub full_from: i64,
    pub blocked_calls: u64,
}

#[derive(Debug, Default)]
pub(crate) struct LaunchQueues {
    pub streams: BTreeMap<StreamKey, FullQueue>,
    /// Calls that waited for room, and the GPU event whose start made it.
    pub blocked: FxHashMap<Row, Row>,
    /// Calls that waited for work that is not recorded: from before the recording, or after its end.
    pub behind_unrecorded: FxHashSet<Row>,
}

impl LaunchQueues {
    pub(crate) fn has_blocked(&self, call: Row) -> bool {
        self.blocked.contains_key(&call) || self.behind_unrecorded.contains(&call)
    }
}

/// Work of a stream that was launched by a call of its own.
#[derive(Clone, Copy)]
struct Launched {
    called: Ns,
    returned: Ns,
    call: Row,
    row: Row,
    begun: Ns,
}

impl LaunchQueues {
    pub(crate) fn of(view: View<'_>) -> Arc<LaunchQueues> {
        view.index.derived(|| LaunchQueues::find(view, &TypicalCalls::of(view)))
    }

    fn find(view: View<'_>, typical: &TypicalCalls) -> LaunchQueues {
        let launches = view.index.launches(view.trace);
        let mut streams: BTreeMap<StreamKey, Vec<Launched>> = BTreeMap::new();
        for event in view.index.gpu(view.trace).iter() {
            let Some(call) = launches.call(event.row).filter(|call| !launches.is_shared(*call)) else {
                continue;
            };
            if let (Some(stream), Some((called, returned))) = (view.stream(event.row), view.trace.span(call))
            {
                let work = Launched { called, returned, call, row: event.row, begun: event.start };
                streams.entry((view.device(event.row), stream)).or_default().push(work);
            }
        }
        let mut found = LaunchQueues::default();
        for (stream, launched) in streams {
            found.look_at(view, typical, stream, launched);
        }
        found.look_after(view, typical);
        found
    }

    /// Recordings of the GPU may end before those of the host. Long calls that come after the last one that waited for
    /// room, on its thread and of its name, wait like it although what they launch is not recorded.
    fn look_after(&mut self, view: View<'_>, typical: &TypicalCalls) {
        let trace = view.trace;
        let launches = view.index.launches(trace);
        let like = |row: Row| (trace.track(row).thread, trace.name_id(row));
        let mut last = FxHashMap::default();
        for call in self.blocked.keys() {
            let latest = last.entry(like(*call)).or_insert(Ns(i64::MIN));
            *latest = trace.start(*call).max(Some(*latest)).unwrap_or_default();
        }
        if last.is_empty() {
            return;
        }
        let comes_after =
            |row: &Row| trace.start(*row) > last.get(&like(*row)).copied().or(Some(Ns(i64::MAX)));
        let calls = trace.rows().filter(|row| trace.class(*row).is_call() && !launches.has_work(*row));
        let long = calls.filter(comes_after).filter(|row| typical.is_long(view, *row));
        self.behind_unrecorded.extend(long);
    }

    fn look_at(&mut self, view: View<'_>, typical: &TypicalCalls, stream: StreamKey, mut all: Vec<Launched>) {
        if (all.len() as i64) < LEAST_DEPTH {
            return;
        }
        // By start; the launches in the order of their calls are another order of the same.
        let begun: Vec<(Ns, Row)> = all.iter().map(|launched| (launched.begun, launched.row)).collect();
        debug_assert!(begun.is_sorted_by_key(|(time, _)| *time));
        all.sort_by_key(|launched| launched.called);
        let behind_older = behind_older(view, typical, &all, begun[0]);
        let begun_by = |time: Ns| begun.partition_point(|(begun, _)| *begun <= time);
        let waiting: Vec<i64> = (1..)
            .zip(&all)
            .map(|(launched, last): (i64, _)| launched - begun_by(last.returned) as i64)
            .collect();
        let depth = waiting.iter().copied().max().unwrap_or(0);
        if depth < LEAST_DEPTH {
            self.behind_unrecorded.extend(behind_older);
            return;
        }
        let near = |length: i64| length >= depth - depth / NEAR;
        let mut full = FullQueue { depth, full_from: depth, blocked_calls: 0 };
        let (mut calls_near, mut long_elsewhere) = (0u64, 0u64);
        let (mut waited, mut long_near) = (Vec::new(), 0u64);
        for (length, launched) in waiting.iter().zip(&all) {
            if behind_older.contains(&launched.call) {
                continue;
            }
            let long = typical.is_long(view, launched.call);
            calls_near += u64::from(near(*length));
            if !near(*length) {
                long_elsewhere += u64::from(long);
                continue;
            }
            // Had nothing begun meanwhile, it did not wait for room.
            let made_room = begun_by(launched.returned).checked_sub(1).map(|last| begun[last]);
            if let Some((begun, by)) = made_room.filter(|(begun, _)| *begun > launched.called) {
                debug_assert!(begun <= launched.returned);
                waited.push((*length, launched.call, by));
                if long {
                    full.full_from = full.full_from.min(*length);
                    long_near += 1;
                }
            }
        }
        // Once it is known to be full, whoever launches waits, if only for a short kernel.
        waited.retain(|(length, ..)| *length >= full.full_from);
        full.blocked_calls = waited.len() as u64;
        let calls_elsewhere = (all.len() - behind_older.len()) as u64 - calls_near;
        self.behind_unrecorded.extend(behind_older);
        let more_often = u128::from(long_near) * u128::from(calls_elsewhere.max(1))
            >= u128::from(MORE_OFTEN) * u128::from(long_elsewhere) * u128::from(calls_near.max(1));
        if long_near >= FEWEST_BLOCKED && more_often {
            self.streams.insert(stream, full);
            self.blocked.extend(waited.into_iter().map(|(_, call, by)| (call, by)));
        }
    }
}

/// The long calls that returned before the first recorded work of their stream began, if older work held that up. The
/// first launch of a kernel is long anyway, since that loads its code.
fn behind_older(
    view: View<'_>,
    typical: &TypicalCalls,
    in_order: &[Launched],
    (begun, first): (Ns, Row),
) -> FxHashSet<Row> {
    let mut long = FxHashSet::default();
    if !Unrecorded::of(view).held_up(first) {
        return long;
    }
    let mut seen = FxHashSet::default();
    for launched in in_order.iter().take_while(|launched| launched.returned <= begun) {
        if !seen.insert(view.trace.name_id(launched.row)) && typical.is_long(view, launched.call) {
            long.insert(launched.call);
        }
    }
    if (long.len() as u64) < FEWEST_BLOCKED {
        long.clear();
    }
    long
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Selection;

    use super::*;
    use crate::testing::{launched, launched_onto};

    fn queues(count: i64, depth: i64) -> Arc<LaunchQueues> {
        let loaded = launched_onto(depth, count);
        let everything = Selection::everything();
        LaunchQueues::of(loaded.view(&everything))
    }

    #[test]
    fn the_length_at_which_calls_wait_is_the_depth() {
        // Most calls must be short for the long ones to stand out.
        let queues = queues(140, 100);
        let full = queues.streams[&(0, 7)];
        assert!((98..=100).contains(&full.depth), "{full:?}");
        assert!(full.blocked_calls > 20, "{full:?}");
        assert_eq!(queues.blocked.len() as u64, full.blocked_calls);
    }

    /// Sixty launches, the first kernel 5 ms later; every call but the first ten waits as long as a kernel lasts.
    fn begun_full(kernels: impl Fn(i64) -> String) -> usize {
        let us = 1000;
        let (mut sample, mut now) = (crate::testing::trace(), 0);
        for i in 0..60 {
            let took = if i < 10 { 5 * us } else { 50 * us };
            let begins = 8000 * us + i * 51 * us;
            sample = sample.call(i + 1, now..now + took);
            sample = sample.kernel(&kernels(i), 7, begins..begins + 50 * us, i + 1);
            now += took + us;
        }
        let loaded = sample.build();
        let everything = Selection::everything();
        let queues = LaunchQueues::of(loaded.view(&everything));
        assert!(queues.blocked.is_empty() && queues.streams.is_empty());
        queues.behind_unrecorded.len()
    }

    #[test]
    fn calls_wait_for_work_from_before_the_recording() {
        assert_eq!(begun_full(|_| "k".to_owned()), 50);
        // Code that is loaded for the first time explains as much.
        assert_eq!(begun_full(|i| format!("k{i}")), 0);
    }

    #[test]
    fn calls_go_on_waiting_when_the_gpu_is_no_longer_recorded() {
        let us = 1000;
        let mut sample = launched(100, 160);
        for i in 0..20 {
            let called = 100_000 * us + i * 60 * us;
            sample = sample.call(1000 + i, called..called + 50 * us);
        }
        let loaded = sample.build();
        let everything = Selection::everything();
        let queues = LaunchQueues::of(loaded.view(&everything));
        assert_eq!(queues.behind_unrecorded.len(), 20);
    }

    #[test]
    fn a_queue_that_only_grows_is_not_full() {
        assert!(queues(140, 1000).streams.is_empty());
    }
}
