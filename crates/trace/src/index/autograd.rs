//! Which backward operator undoes which forward one: by the trace's own arrows, else by sequence number.

use rustc_hash::FxHashMap;

use crate::args::Arg;
use crate::class::{Class, Flow};
use crate::tag::Phase;
use crate::time::Ns;
use crate::trace::{Row, Trace};
use crate::track::ThreadId;

#[derive(Debug, Default)]
pub struct Autograd {
    forward_of: FxHashMap<Row, Row>,
    backward_of: FxHashMap<Row, Row>,
}

impl Autograd {
    pub(super) fn new(trace: &Trace) -> Autograd {
        let mut autograd = Autograd::default();
        autograd.link_by_flow(trace);
        autograd.link_by_sequence_number(trace);
        autograd
    }

    fn link(&mut self, forward: Row, backward: Row) {
        self.forward_of.entry(backward).or_insert(forward);
        self.backward_of.entry(forward).or_insert(backward);
    }

    fn link_by_flow(&mut self, trace: &Trace) {
        let mut ends: Vec<(i64, Phase, ThreadId, Ns)> = Vec::new();
        for point in trace.flows.iter() {
            let tag = trace.tags.get(point.tag);
            if let (Class::Flow(Flow::ForwardBackward), Some(time)) = (tag.class, point.time) {
                ends.push((point.id, tag.phase, trace.tracks.get(point.track).thread, time));
            }
        }
        if ends.is_empty() {
            return;
        }
        let mut operators: FxHashMap<(ThreadId, Ns), Row> = FxHashMap::default();
        for row in trace.rows().filter(|row| trace.class(*row) == Class::Operator) {
            if let Some((start, _)) = trace.span(row) {
                // Of operators that start together the outermost was written first and is meant.
                operators.entry((trace.track(row).thread, start)).or_insert(row);
            }
        }
        let mut from: FxHashMap<i64, Row> = FxHashMap::default();
        for &(id, phase, thread, time) in &ends {
            if phase == Phase::FlowStart {
                from.extend(operators.get(&(thread, time)).map(|row| (id, *row)));
            }
        }
        for &(id, phase, thread, time) in &ends {
            if phase == Phase::FlowEnd
                && let (Some(forward), Some(backward)) = (from.get(&id), operators.get(&(thread, time)))
            {
                self.link(*forward, *backward);
            }
        }
    }

    /// Forward operators have no forward thread of their own (0); of those that share a number the last to
    /// start is the one that autograd recorded.
    fn link_by_sequence_number(&mut self, trace: &Trace) {
        let forward_thread = |row| trace.args.int(row, Arg::FwdThreadId).unwrap_or(0);
        let mut forward: FxHashMap<i64, Row> = FxHashMap::default();
        for (row, number) in trace.args.iter(Arg::SequenceNumber) {
            if number >= 0 && forward_thread(row) == 0 && trace.dur(row).is_some() {
                let latest = forward.entry(number).or_insert(row);
                if trace.start(row) > trace.start(*latest) {
                    *latest = row;
                }
            }
        }
        for (row, number) in trace.args.iter(Arg::SequenceNumber) {
            if forward_thread(row) != 0
                && trace.dur(row).is_some()
                && let Some(&forward) = forward.get(&number)
                && !self.forward_of.contains_key(&row)
            {
                self.link(forward, row);
            }
        }
    }

    pub fn forward(&self, backward: Row) -> Option<Row> {
        self.forward_of.get(&backward).copied()
    }

    /// Every operator that a backward operator undoes, in no order.
    pub fn forward_operators(&self) -> impl Iterator<Item = Row> {
        self.backward_of.keys().copied()
    }

    pub fn backward(&self, forward: Row) -> Option<Row> {
        self.backward_of.get(&forward).copied()
    }
}
