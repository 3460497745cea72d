//! Streams that waited for others, in traces without synchronisation rows.
//!
//! After `…StreamWaitEvent` the next launch on that thread goes to the stream that waits. The event was marked by the
//! last `…EventRecord` call after the last launch on another stream; where such calls are not recorded, as in HIP
//! traces, it is taken to stand for the last work launched on another stream. If that had not ended when the waiting
//! work began, the event was an older one: of that stream the last work that had.

use std::collections::BTreeMap;

use gpuscope_trace::{Ns, Row, ThreadId, View};

use super::waits::stream_of;
use crate::syncs::StreamKey;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Record,
    Wait,
    Other,
}

impl Role {
    fn of(name: &str) -> Role {
        if name.contains("EventRecord") {
            Role::Record
        } else if name.contains("StreamWaitEvent") {
            Role::Wait
        } else {
            Role::Other
        }
    }
}

struct Call {
    thread: ThreadId,
    start: Ns,
    row: Row,
    role: Role,
}

/// What had to wait, each with what it waited for.
pub(super) fn by_call_order(view: View<'_>) -> Vec<(Row, Row)> {
    let calls = calls(view);
    let mut found = Vec::new();
    for thread in calls.chunk_by(|a, b| a.thread == b.thread) {
        if thread.iter().any(|call| call.role == Role::Wait) {
            let records = thread.iter().any(|call| call.role == Role::Record);
            let mut order = Order { view, records, launched: BTreeMap::new(), marked: None, waits: Vec::new() };
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
        let Some((start, _)) = trace.span(row) else { continue };
        let name = trace.name_id(row);
        let role = *roles[name.index()].get_or_insert_with(|| Role::of(trace.strings.get(name)));
        if role != Role::Other || launches.has_work(row) {
            calls.push(Call { thread: trace.track(row).thread, start, row, role });
        }
    }
    calls.sort_by_key(|call| (call.thread, call.start, call.row));
    calls
}

/// One thread on the way through its calls.
struct Order<'a> {
    view: View<'a>,
    records: bool,
    /// The last launches on each stream: when they were issued, and the work.
    launched: BTreeMap<StreamKey, Vec<Row>>,
    /// How much had been launched on each stream when an event was last marked.
    marked: Option<Marked>,
    /// Events that the next launch has to wait for.
    waits: Vec<Marked>,
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
            Role::Record => self.marked = self.now(),
            Role::Wait => {
                let event = if self.records { self.marked } else { self.now() };
                self.waits.extend(event);
            }
            Role::Other => self.launch(call.row, found),
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
                Marked { last, count, .. } if last != stream => Some((last, count)),
                Marked { other, .. } => other,
            };
            let source = source.and_then(|(stream, count)| self.ended(stream, count, first));
            found.extend(source.map(|source| (first, source)));
        }
        self.launched.entry(stream).or_default().extend(work);
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
