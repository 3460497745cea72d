//! The call that put a GPU event on its device.
//!
//! By `correlation` first. Only events that carry none are looked up by `External id`, and then by the launch
//! arrow that ends where they start: an event whose correlated call is missing from the trace is unlinked, and
//! must not be given to a call that merely ran under the same operator.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::{NO_ROW, some_row};
use crate::args::Arg;
use crate::class::{Class, Flow};
use crate::select::Bitmap;
use crate::tag::Phase;
use crate::time::Ns;
use crate::trace::{Row, Trace};
use crate::track::ThreadId;

/// What a link rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkedBy {
    Correlation,
    ExternalId,
    Flow,
}

#[derive(Debug)]
pub struct Launches {
    /// Per row the launching call, for GPU events that have one.
    call: Vec<Row>,
    /// GPU events that are linked by something other than correlation.
    weaker: FxHashMap<Row, LinkedBy>,
    /// Calls that launched anything, and those that launched more than one thing.
    launching: Bitmap,
    sharing: Bitmap,
    by_call: OnceLock<ByCall>,
}

/// GPU events of each call, in row order.
#[derive(Debug, Default)]
struct ByCall {
    /// Calls that launched anything, ascending; the events of the i-th are `events[first[i]..first[i + 1]]`.
    calls: Vec<Row>,
    first: Vec<u32>,
    events: Vec<Row>,
}

impl Launches {
    pub(super) fn new(trace: &Trace) -> Launches {
        let mut launches = Launches {
            call: vec![NO_ROW; trace.len()],
            weaker: FxHashMap::default(),
            launching: Bitmap::empty(trace.len()),
            sharing: Bitmap::empty(trace.len()),
            by_call: OnceLock::new(),
        };
        let calls = FirstCall::by(trace, Arg::Correlation);
        let mut without_correlation: Vec<Row> = Vec::new();
        let mut correlations = trace.args.iter(Arg::Correlation).peekable();
        for row in trace.rows().filter(|row| trace.class(*row).is_gpu() && trace.dur(*row).is_some()) {
            while correlations.next_if(|(other, _)| *other < row).is_some() {}
            match correlations.next_if(|(other, _)| *other == row) {
                Some((_, correlation)) => launches.link(row, calls.get(correlation)),
                None => without_correlation.push(row),
            }
        }
        if !without_correlation.is_empty() {
            launches.link_by_external_id(trace, &mut without_correlation);
            launches.link_by_flow(trace, &without_correlation);
        }
        launches
    }

    fn link(&mut self, gpu_row: Row, call: Option<Row>) {
        let Some(call) = call else { return };
        self.call[gpu_row as usize] = call;
        if !self.launching.insert(call) {
            self.sharing.insert(call);
        }
    }

    fn link_by_external_id(&mut self, trace: &Trace, unlinked: &mut Vec<Row>) {
        let calls = FirstCall::by(trace, Arg::ExternalId);
        unlinked.retain(|&row| {
            let call = trace.args.int(row, Arg::ExternalId).and_then(|id| calls.get(id));
            if call.is_some() {
                self.link(row, call);
                self.weaker.insert(row, LinkedBy::ExternalId);
            }
            call.is_none()
        });
    }

    fn link_by_flow(&mut self, trace: &Trace, unlinked: &[Row]) {
        if unlinked.is_empty() || trace.flows.is_empty() {
            return;
        }
        let place = |row: Row| Some((trace.track(row).thread, trace.start(row)?));
        let gpu: FxHashMap<(ThreadId, Ns), Row> =
            unlinked.iter().filter_map(|&row| Some((place(row)?, row))).collect();
        let calls: FxHashMap<(ThreadId, Ns), Row> = trace
            .rows()
            .filter(|row| trace.class(*row).is_call())
            .filter_map(|row| Some((place(row)?, row)))
            .collect();
        let mut from: FxHashMap<i64, Row> = FxHashMap::default();
        let mut to: Vec<(i64, Row)> = Vec::new();
        for point in trace.flows.iter() {
            let tag = trace.tags.get(point.tag);
            let (Class::Flow(Flow::Launch), Some(time)) = (tag.class, point.time) else { continue };
            let place = (trace.tracks.get(point.track).thread, time);
            if tag.phase == Phase::FlowStart {
                from.extend(calls.get(&place).map(|row| (point.id, *row)));
            } else {
                to.extend(gpu.get(&place).map(|row| (point.id, *row)));
            }
        }
        for (id, row) in to {
            if let Some(call) = from.get(&id) {
                self.link(row, Some(*call));
                self.weaker.insert(row, LinkedBy::Flow);
            }
        }
    }

    /// The call that launched a GPU event, if the trace has it.
    #[inline]
    pub fn call(&self, gpu_row: Row) -> Option<Row> {
        some_row(self.call[gpu_row as usize])
    }

    pub fn linked_by(&self, gpu_row: Row) -> Option<LinkedBy> {
        self.call(gpu_row)?;
        Some(self.weaker.get(&gpu_row).copied().unwrap_or(LinkedBy::Correlation))
    }

    /// Whether a call put anything on a device.
    #[inline]
    pub fn has_work(&self, call: Row) -> bool {
        self.launching.has(call)
    }

    /// Whether a call put several GPU events on a device, as a graph launch does.
    #[inline]
    pub fn is_shared(&self, call: Row) -> bool {
        self.sharing.has(call)
    }

    /// The GPU events a call put on a device: one for a kernel launch, all its kernels for a graph launch.
    pub fn launched(&self, call: Row) -> &[Row] {
        if !self.has_work(call) {
            return &[];
        }
        self.by_call.get_or_init(|| ByCall::new(&self.call)).events_of(call)
    }
}

impl ByCall {
    fn new(call_of: &[Row]) -> ByCall {
        let linked = |(row, call): (usize, &Row)| some_row(*call).map(|call| (call, row as Row));
        let mut pairs: Vec<(Row, Row)> = call_of.iter().enumerate().filter_map(linked).collect();
        // Stable and adaptive: GPU events and their calls are nearly in the same order, and rows stay in theirs.
        pairs.sort_by_key(|(call, _)| *call);
        let mut by_call = ByCall::default();
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            by_call.calls.push(group[0].0);
            by_call.first.push(by_call.events.len() as u32);
            by_call.events.extend(group.iter().map(|(_, row)| *row));
        }
        by_call.first.push(by_call.events.len() as u32);
        by_call
    }

    fn events_of(&self, call: Row) -> &[Row] {
        let Ok(i) = self.calls.binary_search(&call) else { return &[] };
        &self.events[self.first[i] as usize..self.first[i + 1] as usize]
    }
}

/// The first call to start with each value of an id.
struct FirstCall {
    /// Ids are nearly always a dense range: then a plain array serves.
    dense: Vec<Row>,
    lowest: i64,
    sparse: FxHashMap<i64, Row>,
}

impl FirstCall {
    fn by(trace: &Trace, arg: Arg) -> FirstCall {
        let ids = || trace.args.iter(arg).filter(|(_, id)| *id > 0);
        let (mut lowest, mut highest, mut count) = (i64::MAX, 0, 0usize);
        for (_, id) in ids() {
            (lowest, highest, count) = (lowest.min(id), highest.max(id), count + 1);
        }
        let width = if count == 0 { 0 } else { (highest - lowest).saturating_add(1) as usize };
        let dense = if width <= count.saturating_mul(8) + 1024 { vec![NO_ROW; width] } else { Vec::new() };
        let mut first = FirstCall { dense, lowest, sparse: FxHashMap::default() };
        for (row, id) in ids() {
            if !trace.class(row).is_call() || trace.dur(row).is_none() {
                continue;
            }
            let slot = match first.dense.get_mut((id - lowest) as usize) {
                Some(slot) => slot,
                None => first.sparse.entry(id).or_insert(NO_ROW),
            };
            if *slot == NO_ROW || trace.start(row) < trace.start(*slot) {
                *slot = row;
            }
        }
        first
    }

    fn get(&self, id: i64) -> Option<Row> {
        if id < self.lowest {
            return None;
        }
        match self.dense.get((id - self.lowest) as usize) {
            Some(row) => some_row(*row),
            None => self.sparse.get(&id).copied(),
        }
    }
}
