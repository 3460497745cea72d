//! The call that put a GPU event on its device.
//!
//! By `correlation` first. Only events that carry none are looked up by `External id`, and then by the launch
//! arrow that ends where they start: an event whose correlated call is missing from the trace is unlinked, and
//! must not be given to a call that merely ran under the same operator.

use rustc_hash::FxHashMap;

use super::{NO_ROW, some_row};
use crate::args::Arg;
use crate::class::{Class, Flow};
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

#[derive(Debug, Default)]
pub struct Launches {
    /// Per row the launching call, for GPU events that have one.
    call: Vec<Row>,
    /// GPU events that are linked by something other than correlation.
    weaker: FxHashMap<Row, LinkedBy>,
    /// GPU events of each call, in row order: `events[first[c]..first[c + 1]]` of the c-th launching call.
    events: Vec<Row>,
    ranges: FxHashMap<Row, (u32, u32)>,
}

impl Launches {
    pub(super) fn new(trace: &Trace) -> Launches {
        let mut launches = Launches { call: vec![NO_ROW; trace.len()], ..Launches::default() };
        let calls = FirstCall::by(trace, Arg::Correlation);
        let mut without_correlation: Vec<Row> = Vec::new();
        let mut correlations = trace.args.iter(Arg::Correlation).peekable();
        for row in trace.rows().filter(|row| trace.class(*row).is_gpu() && trace.dur(*row).is_some()) {
            while correlations.next_if(|(other, _)| *other < row).is_some() {}
            match correlations.next_if(|(other, _)| *other == row) {
                Some((_, correlation)) => {
                    launches.call[row as usize] = calls.get(correlation).unwrap_or(NO_ROW);
                }
                None => without_correlation.push(row),
            }
        }
        if !without_correlation.is_empty() {
            launches.link_by_external_id(trace, &mut without_correlation);
            launches.link_by_flow(trace, &without_correlation);
        }
        launches.collect_events();
        launches
    }

    fn link_by_external_id(&mut self, trace: &Trace, unlinked: &mut Vec<Row>) {
        let calls = FirstCall::by(trace, Arg::ExternalId);
        unlinked.retain(|&row| {
            let call = trace.args.int(row, Arg::ExternalId).and_then(|id| calls.get(id));
            if let Some(call) = call {
                self.call[row as usize] = call;
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
                self.call[row as usize] = *call;
                self.weaker.insert(row, LinkedBy::Flow);
            }
        }
    }

    fn collect_events(&mut self) {
        let linked = |(row, call): (usize, &Row)| some_row(*call).map(|call| (call, row as Row));
        let mut pairs: Vec<(Row, Row)> = self.call.iter().enumerate().filter_map(linked).collect();
        pairs.sort_unstable();
        for group in pairs.chunk_by(|a, b| a.0 == b.0) {
            let first = self.events.len() as u32;
            self.events.extend(group.iter().map(|(_, row)| *row));
            self.ranges.insert(group[0].0, (first, self.events.len() as u32));
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

    /// The GPU events a call put on a device: one for a kernel launch, all its kernels for a graph launch.
    pub fn launched(&self, call: Row) -> &[Row] {
        self.ranges.get(&call).map_or(&[], |(from, to)| &self.events[*from as usize..*to as usize])
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
        let calls = || {
            let is_call = |row: Row| trace.class(row).is_call() && trace.dur(row).is_some();
            trace.args.iter(arg).filter(move |(row, id)| *id > 0 && is_call(*row))
        };
        let (mut lowest, mut highest, mut count) = (i64::MAX, 0, 0usize);
        for (_, id) in calls() {
            (lowest, highest, count) = (lowest.min(id), highest.max(id), count + 1);
        }
        let width = if count == 0 { 0 } else { (highest - lowest).saturating_add(1) as usize };
        let dense = if width <= count.saturating_mul(8) + 1024 { vec![NO_ROW; width] } else { Vec::new() };
        let mut first = FirstCall { dense, lowest, sparse: FxHashMap::default() };
        for (row, id) in calls() {
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
