//! Calls that did not return before the GPU had got somewhere, and what they waited for.
//!
//! * Calls with a synchronisation row wait for what the row names.
//! * A copy that returned after its work was done waited for it; so did a launch where all launches do.
//! * Synchronising calls without a row wait for the work given to the device, or to the stream that the thread used
//!   last; giving memory back waits for the device.
//! * A launch on a full queue waits for room (see `launch_queue`).
//! * Any call that took far longer than usual while the GPU was busy is taken to have waited for what happened there
//!   last. That is inferred; the first launch of a kernel is left out, since that loads its code.

use std::sync::Arc;

use gpuscope_trace::{Interval, Kind, Ns, Row, ThreadId, View};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Why;
use crate::model::launch_queue::LaunchQueues;
use crate::model::syncs::{Awaited, LaunchOrder, STREAM_WAITS, StreamKey, Sync};
use crate::model::typical::TypicalCalls;
use crate::shared::cover::Covered;

/// What a call that synchronises costs when there is nothing to wait for.
const OWN_COST: Ns = Ns(5_000);
/// What a copying call costs at most when there is nothing to wait for.
const COPY_COST: Ns = Ns(20_000);
/// A call returns within this after what it waited for.
pub(super) const RETURN: Ns = Ns(30_000);
/// A long call waited for the GPU if that was busy for so much of it, in per cent.
const BUSY_PCT: i128 = 80;

/// A moment on the GPU: a start or an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    pub row: Row,
    pub at_end: bool,
    pub time: Ns,
}

/// A call that waited, or that would have had to.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    pub sources: Vec<Reached>,
    pub why: Why,
    pub inferred: bool,
    /// What the call takes besides.
    pub own: Ns,
    /// From the last source to the return.
    pub lag: Ns,
}

/// By the call.
pub(super) type Waits = FxHashMap<Row, Wait>;

/// Of all calls, whatever the window: it does not change who waited for what.
pub(super) fn find(view: View<'_>, syncs: &[Sync]) -> Arc<Waits> {
    view.derived(|| Finder::new(view, syncs).run())
}

/// What a call does by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    SynchroniseDevice,
    SynchroniseStream,
    SynchroniseEvent,
    Free,
    Other,
}

impl Role {
    fn of(name: &str) -> Role {
        if name.contains("Synchronize") {
            match name {
                _ if name.contains("Stream") => Role::SynchroniseStream,
                _ if name.contains("Event") => Role::SynchroniseEvent,
                _ => Role::SynchroniseDevice,
            }
        } else if name.ends_with("Free") || name.contains("MemFree") && !name.contains("Async") {
            Role::Free
        } else {
            Role::Other
        }
    }
}

struct Call {
    row: Row,
    start: Ns,
    end: Ns,
}

struct Finder<'a> {
    view: View<'a>,
    typical: Arc<TypicalCalls>,
    queues: Arc<LaunchQueues>,
    order: Arc<LaunchOrder>,
    recorded: FxHashMap<Row, &'a Sync>,
    /// GPU events by end.
    by_end: Vec<(Ns, Row)>,
    /// Starts and ends of each stream's events, in order.
    moments: FxHashMap<StreamKey, Vec<Reached>>,
    busy: Covered,
    /// What each thread launched, by call.
    by_thread: FxHashMap<ThreadId, Vec<(Ns, Row)>>,
    /// First launches of a kernel.
    first_uses: FxHashSet<Row>,
    /// Calls that returned after work of theirs was done: copies, or any where all launches wait for their work.
    outlived: FxHashMap<Row, Reached>,
}

impl<'a> Finder<'a> {
    fn new(view: View<'a>, syncs: &'a [Sync]) -> Finder<'a> {
        let typical = TypicalCalls::of(view);
        let mut by_end = Vec::new();
        let mut moments: FxHashMap<StreamKey, Vec<Reached>> = FxHashMap::default();
        let mut by_thread: FxHashMap<ThreadId, Vec<(Ns, Row)>> = FxHashMap::default();
        let mut busy = Covered::default();
        let mut seen = FxHashSet::default();
        let mut first_uses = FxHashSet::default();
        let mut launched = 0;
        let (mut blocking, mut outlived) = (FxHashMap::default(), FxHashMap::default());
        for event in view.gpu() {
            busy.add(event.interval());
            by_end.push((event.end, event.row));
            let of_stream = moments.entry(stream_of(view, event.row)).or_default();
            of_stream.push(Reached { row: event.row, at_end: false, time: event.start });
            of_stream.push(Reached { row: event.row, at_end: true, time: event.end });
            let Some(call) = view.launch(event.row) else { continue };
            let Some((start, end)) = view.trace.span(call) else { continue };
            by_thread.entry(view.trace.track(call).thread).or_default().push((start, event.row));
            let computes = event.kind == Kind::Computation;
            launched += u64::from(computes);
            if event.end <= end {
                let done = Reached { row: event.row, at_end: true, time: event.end };
                let of_kind = if computes { &mut blocking } else { &mut outlived };
                let last = of_kind.entry(call).or_insert(done);
                *last = if done.time > last.time { done } else { *last };
            }
            if seen.insert(view.trace.name_id(event.row)) {
                first_uses.insert(call);
            }
        }
        // A kernel may well be over before its launch returns; that all are is no chance.
        if blocking.len() as u64 * 10 >= launched * 9 {
            outlived.extend(blocking);
        }
        by_end.sort_unstable();
        for of_stream in moments.values_mut() {
            of_stream.sort_by_key(|moment| moment.time);
        }
        for launches in by_thread.values_mut() {
            launches.sort_by_key(|(start, _)| *start);
        }
        // A stream that waits for an event does not hold up the call that tells it to.
        let host_waits = syncs.iter().filter(|sync| view.trace.name(sync.row) != STREAM_WAITS);
        Finder {
            view,
            queues: LaunchQueues::of(view),
            order: LaunchOrder::of(view),
            recorded: host_waits.filter_map(|sync| Some((sync.call?, sync))).collect(),
            typical,
            by_end,
            moments,
            busy,
            by_thread,
            first_uses,
            outlived,
        }
    }

    fn run(&self) -> Waits {
        let trace = self.view.trace;
        let mut roles: Vec<Option<Role>> = vec![None; trace.strings.len()];
        let mut found = Waits::default();
        for row in trace.rows().filter(|row| trace.class(*row).is_call()) {
            let Some((start, end)) = trace.span(row) else { continue };
            let name = trace.name_id(row);
            let role = *roles[name.index()].get_or_insert_with(|| Role::of(trace.strings.get(name)));
            let call = Call { row, start, end };
            if let Some(wait) = self.wait(&call, role) {
                found.insert(row, wait);
            }
        }
        found
    }

    fn wait(&self, call: &Call, role: Role) -> Option<Wait> {
        if let Some(sync) = self.recorded.get(&call.row) {
            let sources = self.awaited(sync.awaited, call.end);
            return Self::synchronised(call, sources, false);
        }
        match role {
            Role::SynchroniseDevice => Self::synchronised(call, self.given_to_device(call), true),
            Role::SynchroniseStream => Self::synchronised(call, self.given_to_stream(call), true),
            Role::SynchroniseEvent => {
                Self::synchronised(call, self.ended_during(call).into_iter().collect(), true)
            }
            Role::Free => self.freed(call),
            Role::Other => {
                self.copied(call).or_else(|| self.queued(call)).or_else(|| self.long_while_busy(call))
            }
        }
    }

    fn synchronised(call: &Call, sources: Vec<Reached>, inferred: bool) -> Option<Wait> {
        let done = sources.iter().map(|source| source.time).max()?;
        let took = call.end - call.start;
        // What it waited for was done before: all of it is what the call costs.
        let own = if done > call.start { took.min(OWN_COST) } else { took };
        let lag = (call.end - done).min(if done > call.start { RETURN } else { OWN_COST });
        Some(Wait { sources, why: Why::Synchronisation, inferred, own, lag })
    }

    /// Giving memory back is work once the GPU is done; a call that only waits has nothing left to do.
    fn freed(&self, call: &Call) -> Option<Wait> {
        let last = self.ended_during(call)?;
        let lag = call.end - last.time;
        let own = lag.max((call.end - call.start).min(OWN_COST));
        Some(Wait { sources: vec![last], why: Why::Synchronisation, inferred: true, own, lag })
    }

    /// A call that returned only after the work it launched: a blocking copy.
    fn copied(&self, call: &Call) -> Option<Wait> {
        let done = *self.outlived.get(&call.row)?;
        let own = self.typical.time(self.view, call.row).min(COPY_COST).min(call.end - call.start);
        let lag = (call.end - done.time).min(RETURN);
        Some(Wait { sources: vec![done], why: Why::Synchronisation, inferred: false, own, lag })
    }

    fn queued(&self, call: &Call) -> Option<Wait> {
        if self.queues.behind_unrecorded.contains(&call.row) {
            // What it waited for is not here; it takes what it costs, and the rest is a delay.
            let own = self.typical.time(self.view, call.row);
            return Some(Wait {
                sources: Vec::new(),
                why: Why::FullQueue,
                inferred: true,
                own,
                lag: Ns::ZERO,
            });
        }
        let row = *self.queues.blocked.get(&call.row)?;
        let time = self.view.trace.start(row)?;
        let own = self.typical.time(self.view, call.row);
        let sources = vec![Reached { row, at_end: false, time }];
        Some(Wait { sources, why: Why::FullQueue, inferred: true, own, lag: call.end - time })
    }

    fn long_while_busy(&self, call: &Call) -> Option<Wait> {
        if !self.typical.is_long(self.view, call.row) || self.first_uses.contains(&call.row) {
            return None;
        }
        let time = Interval::new(call.start, call.end);
        if i128::from(self.busy.within(time).0) * 100 < i128::from(time.len().0) * BUSY_PCT {
            return None;
        }
        let launched = self.view.index.launches(self.view.trace).launched(call.row);
        let own_stream = launched.first().map(|row| stream_of(self.view, *row));
        let last = match own_stream {
            Some(stream) => self.last_moment(stream, call),
            None => self.ended_during(call),
        }?;
        let own = self.typical.time(self.view, call.row);
        Some(Wait {
            sources: vec![last],
            why: Why::Synchronisation,
            inferred: true,
            own,
            lag: (call.end - last.time).min(RETURN),
        })
    }

    fn last_moment(&self, stream: StreamKey, call: &Call) -> Option<Reached> {
        let moments = self.moments.get(&stream)?;
        let passed = moments.partition_point(|moment| moment.time <= call.end);
        moments[..passed].last().copied().filter(|moment| moment.time > call.start)
    }

    /// The last event that ended while the call lasted. So short a call may just as well have had nothing to wait
    /// for, whatever ended meanwhile.
    fn ended_during(&self, call: &Call) -> Option<Reached> {
        if call.end - call.start <= RETURN {
            return None;
        }
        let done = self.by_end.partition_point(|(end, _)| *end <= call.end);
        let (time, row) = *self.by_end[..done].last()?;
        (time > call.start).then_some(Reached { row, at_end: true, time })
    }

    fn given_to_device(&self, call: &Call) -> Vec<Reached> {
        let mut streams: Vec<StreamKey> = self.moments.keys().copied().collect();
        streams.sort_unstable();
        let given = |stream: StreamKey| self.done(self.order.last_before(stream, call.start)?, call.end);
        let mut sources: Vec<Reached> = streams.into_iter().filter_map(given).collect();
        Self::add_unless_known(self.ended_during(call), &mut sources);
        sources
    }

    fn given_to_stream(&self, call: &Call) -> Vec<Reached> {
        let thread = self.view.trace.track(call.row).thread;
        let last_launch = || {
            let launches = self.by_thread.get(&thread)?;
            let before = launches.partition_point(|(start, _)| *start < call.start);
            Some(launches[before.checked_sub(1)?].1)
        };
        let given = || {
            let stream = stream_of(self.view, last_launch()?);
            self.done(self.order.last_before(stream, call.start)?, call.end)
        };
        let mut sources: Vec<Reached> = given().into_iter().collect();
        if sources.iter().all(|source| source.time <= call.start) {
            Self::add_unless_known(self.ended_during(call), &mut sources);
        }
        sources
    }

    fn add_unless_known(source: Option<Reached>, sources: &mut Vec<Reached>) {
        sources.extend(source.filter(|source| !sources.contains(source)));
    }

    fn done(&self, row: Row, until: Ns) -> Option<Reached> {
        let (_, time) = self.view.trace.span(row)?;
        (time <= until).then_some(Reached { row, at_end: true, time })
    }

    fn awaited(&self, awaited: Awaited, until: Ns) -> Vec<Reached> {
        match awaited {
            Awaited::Event(source) => source.and_then(|row| self.done(row, until)).into_iter().collect(),
            Awaited::Stream(stream) => self.last_done_on(stream, until).into_iter().collect(),
            Awaited::Device(device) => {
                let mut streams: Vec<StreamKey> =
                    self.moments.keys().copied().filter(|stream| stream.0 == device).collect();
                streams.sort_unstable();
                streams.into_iter().filter_map(|stream| self.last_done_on(stream, until)).collect()
            }
        }
    }

    fn last_done_on(&self, stream: StreamKey, until: Ns) -> Option<Reached> {
        let moments = self.moments.get(&stream)?;
        let passed = moments.partition_point(|moment| moment.time <= until);
        moments[..passed].iter().rev().copied().find(|moment| moment.at_end)
    }
}

pub(super) fn stream_of(view: View<'_>, row: Row) -> StreamKey {
    (view.device(row), view.stream(row).unwrap_or(-1))
}
