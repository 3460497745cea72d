//! Streams that waited for others, in traces without synchronisation rows.
//!
//! After `…StreamWaitEvent` the next launch on that thread goes to the stream that waits. If an `…EventRecord` call came
//! right before, the event stands for the work launched last on another stream. If not, it is an older one: most
//! likely that of the last communication. Where marking is not recorded, as in HIP traces, the event is taken to stand
//! for the last work launched on another stream. If that had not ended when the waiting work began, the event was older
//! still: of that stream the last work that had.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuscope_trace::{Kind, Ns, Row, ThreadId, View};
use rustc_hash::FxHashSet;

use super::waits::stream_of;
use crate::model::syncs::StreamKey;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Record,
    Wait,
    /// Waiting on the host for the GPU.
    Synchronise,
    Other,
}

impl Role {
    fn of(name: &str) -> Role {
        if name.contains("EventRecord") {
            Role::Record
        } else if name.contains("StreamWaitEvent") {
            Role::Wait
        } else if name.contains("Synchronize") {
            Role::Synchronise
        } else {
            Role::Other
        }
    }
}

struct Call {
    thread: ThreadId,
    start: Ns,
    end: Ns,
    row: Row,
    role: Role,
}

/// An event is marked right before it is waited for if no more time passes.
const RIGHT_BEFORE: Ns = Ns(25_000);

/// What had to wait, each with what it waited for.
pub(super) fn by_call_order(view: View<'_>) -> Arc<Vec<(Row, Row)>> {
    view.index.derived(|| find(view))
}

fn find(view: View<'_>) -> Vec<(Row, Row)> {
    let calls = calls(view);
    let communication = view.index.gpu(view.trace).iter().filter(|event| event.kind == Kind::Communication);
    let communication: FxHashSet<Row> = communication.map(|event| event.row).collect();
    let mut found = Vec::new();
    for thread in calls.chunk_by(|a, b| a.thread == b.thread) {
        if thread.iter().any(|call| call.role == Role::Wait) {
            let records = thread.iter().any(|call| call.role == Role::Record);
            let mut order = Order {
                view,
                communication: &communication,
                records,
                launched: BTreeMap::new(),
                marked: None,
                waits: Vec::new(),
            };
            for call in thread {
                order.take(call, &mut found);
            }
        }
    }
    found
}

fn calls(view: View<'_>) -> Vec<Call> {
    let trace = view.trace;
    let launches = view.index.launches(trace);
    let mut roles: Vec<Option<Role>> = vec![None; trace.strings.len()];
    let mut calls = Vec::new();
    for row in trace.rows().filter(|row| trace.class(*row).is_call()) {
        let Some((start, end)) = trace.span(row) else { continue };
        let name = trace.name_id(row);
        let role = *roles[name.index()].get_or_insert_with(|| Role::of(trace.strings.get(name)));
        if role != Role::Other || launches.has_work(row) {
            calls.push(Call { thread: trace.track(row).thread, start, end, row, role });
        }
    }
    calls.sort_by_key(|call| (call.thread, call.start, call.row));
    calls
}

/// One thread on the way through its calls.
struct Order<'a> {
    view: View<'a>,
    communication: &'a FxHashSet<Row>,
    records: bool,
    /// What was launched on each stream.
    launched: BTreeMap<StreamKey, Vec<Row>>,
    /// When an event was marked right before, and what it stands for.
    marked: Option<(Ns, Marked)>,
    /// Events that the next launch has to wait for.
    waits: Vec<Event>,
}

enum Event {
    /// What had been launched last.
    Newest(Marked),
    /// The last communication.
    Communication,
}

/// How much had been launched on the stream that was last launched to.
#[derive(Clone, Copy)]
struct Marked {
    last: StreamKey,
    count: usize,
    /// The stream that was launched to before.
    other: Option<(StreamKey, usize)>,
}

impl Order<'_> {
    fn take(&mut self, call: &Call, found: &mut Vec<(Row, Row)>) {
        match call.role {
            Role::Record => self.marked = self.now().map(|marked| (call.end, marked)),
            Role::Wait if self.records => {
                let right_before = self.marked.filter(|(time, _)| call.start - *time <= RIGHT_BEFORE);
                // Several streams may wait for one event.
                self.marked = right_before.map(|(_, marked)| (call.end, marked));
                let marked = right_before.map(|(_, marked)| marked);
                self.waits.push(marked.map_or(Event::Communication, Event::Newest));
            }
            Role::Wait => self.waits.extend(self.now().map(Event::Newest)),
            Role::Synchronise => self.marked = None,
            Role::Other => {
                self.marked = None;
                self.launch(call.row, found);
            }
        }
    }

    fn now(&self) -> Option<Marked> {
        let newest = |(stream, rows): (&StreamKey, &Vec<Row>)| {
            let launched = self.view.launch_start(*rows.last()?)?;
            Some((launched, *stream, rows.len()))
        };
        let mut streams: Vec<_> = self.launched.iter().filter_map(newest).collect();
        streams.sort_unstable_by_key(|(launched, _, _)| std::cmp::Reverse(*launched));
        let (_, last, count) = *streams.first()?;
        let other = streams.get(1).map(|(_, stream, count)| (*stream, *count));
        Some(Marked { last, count, other })
    }

    fn launch(&mut self, call: Row, found: &mut Vec<(Row, Row)>) {
        let work = self.view.index.launches(self.view.trace).launched(call);
        let Some(&first) = work.first() else { return };
        let stream = stream_of(self.view, first);
        for event in std::mem::take(&mut self.waits) {
            let source = match event {
                Event::Newest(Marked { last, count, .. }) if last != stream => Some((last, count)),
                Event::Newest(Marked { other, .. }) => other,
                Event::Communication => self.communicating(stream),
            };
            let source = source.and_then(|(stream, count)| self.ended(stream, count, first));
            found.extend(source.map(|source| (first, source)));
        }
        self.launched.entry(stream).or_default().extend(work);
    }

    /// The stream of the last communication, on another stream than one's own.
    fn communicating(&self, own: StreamKey) -> Option<(StreamKey, usize)> {
        let is_communication = |row: Row| self.communication.contains(&row);
        let others = self.launched.iter().filter(|(stream, _)| **stream != own);
        let last = others.filter(|(_, rows)| rows.last().is_some_and(|row| is_communication(*row)));
        let newest = last.max_by_key(|(_, rows)| rows.last().and_then(|row| self.view.launch_start(*row)));
        newest.map(|(stream, rows)| (*stream, rows.len()))
    }

    /// The last work of a stream, of what had been launched, that was over when other work began.
    fn ended(&self, stream: StreamKey, count: usize, before: Row) -> Option<Row> {
        /// Events older than this many launches are forgotten.
        const LOOKED_AT: usize = 64;
        let begun = self.view.trace.start(before)?;
        let launched = &self.launched.get(&stream)?[..count];
        let over = |row: &&Row| self.view.trace.span(**row).is_some_and(|(_, end)| end <= begun);
        launched.iter().rev().take(LOOKED_AT).find(over).copied()
    }
}
