//! The queue between host and GPU has an end: whoever launches onto a full one waits until the GPU takes something
//! off it.
//!
//! Nothing in a trace says so, and how long the queue may get is the driver's affair. But it shows: calls take their
//! usual time while the queue grows, and far longer at one certain length, again and again. That length is the depth,
//! and a long call at that depth waited for the work whose start made room.

use std::collections::BTreeMap;

use gpuscope_trace::{Ns, Row, View};
use rustc_hash::FxHashMap;

use crate::syncs::StreamKey;
use crate::typical::TypicalCalls;

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
    pub(crate) fn of(view: View<'_>, typical: &TypicalCalls) -> LaunchQueues {
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
        found
    }

    fn look_at(&mut self, view: View<'_>, typical: &TypicalCalls, stream: StreamKey, mut all: Vec<Launched>) {
        if (all.len() as i64) < LEAST_DEPTH {
            return;
        }
        // By start; the launches in the order of their calls are another order of the same.
        let begun: Vec<(Ns, Row)> = all.iter().map(|launched| (launched.begun, launched.row)).collect();
        debug_assert!(begun.is_sorted_by_key(|(time, _)| *time));
        all.sort_by_key(|launched| launched.called);
        let begun_by = |time: Ns| begun.partition_point(|(begun, _)| *begun <= time);
        let waiting: Vec<i64> = (1..)
            .zip(&all)
            .map(|(launched, last): (i64, _)| launched - begun_by(last.returned) as i64)
            .collect();
        let depth = waiting.iter().copied().max().unwrap_or(0);
        if depth < LEAST_DEPTH {
            return;
        }
        let near = |length: i64| length >= depth - depth / NEAR;
        let mut full = FullQueue { depth, full_from: depth, blocked_calls: 0 };
        let (mut calls_near, mut long_elsewhere) = (0u64, 0u64);
        let mut blocked = Vec::new();
        for (length, launched) in waiting.iter().zip(&all) {
            let long = typical.is_long(view, launched.call);
            calls_near += u64::from(near(*length));
            if !near(*length) {
                long_elsewhere += u64::from(long);
                continue;
            }
            // Had nothing begun meanwhile, it did not wait for room.
            let made_room = begun_by(launched.returned).checked_sub(1).map(|last| begun[last]);
            if let Some((begun, by)) = made_room.filter(|(begun, _)| long && *begun > launched.called) {
                debug_assert!(begun <= launched.returned);
                full.full_from = full.full_from.min(*length);
                full.blocked_calls += 1;
                blocked.push((launched.call, by));
            }
        }
        let calls_elsewhere = all.len() as u64 - calls_near;
        let more_often = u128::from(full.blocked_calls) * u128::from(calls_elsewhere.max(1))
            >= u128::from(MORE_OFTEN) * u128::from(long_elsewhere) * u128::from(calls_near.max(1));
        if full.blocked_calls >= FEWEST_BLOCKED && more_often {
            self.streams.insert(stream, full);
            self.blocked.extend(blocked);
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Selection;

    use super::*;
    use crate::testing::launched_onto;

    fn queues(count: i64, depth: i64) -> LaunchQueues {
        let loaded = launched_onto(depth, count);
        let everything = Selection::everything();
        let view = loaded.view(&everything);
        LaunchQueues::of(view, &TypicalCalls::of(view))
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

    #[test]
    fn a_queue_that_only_grows_is_not_full() {
        assert!(queues(140, 1000).streams.is_empty());
    }
}
