//! Which call of which operator put which GPU work on a device.
//!
//! A GPU event belongs to the innermost operator that holds all of its launching call, on that call's thread;
//! operators named `execute`, which only wrap what a graph executor runs, are passed over. A launch outside of any
//! operator stands for itself. Only operators count as containers here, so that a Python frame or an annotation
//! that bleeds over the end of an operator takes nothing away from it.

use gpuscope_trace::{Bitmap, Class, GpuEvent, Ns, Row, StrId, View};

/// Stands for "no call".
const NONE: u32 = u32::MAX;

/// Calls with GPU work below them, each before what it calls: what is below one follows it without a break.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// The operator's row, or that of a launch outside of any.
    rows: Vec<Row>,
    parents: Vec<u32>,
    /// GPU events straight under each call, by start: `events[first[i]..first[i + 1]]`.
    first: Vec<u32>,
    events: Vec<GpuEvent>,
    /// GPU events without a known launch.
    unlinked: Vec<GpuEvent>,
}

impl Calls {
    pub(crate) fn of(view: View<'_>) -> Calls {
        let mut calls = Calls::default();
        let mut launching = Bitmap::empty(view.trace.len());
        for event in view.gpu() {
            match view.launch(event.row) {
                Some(call) => drop(launching.insert(call)),
                None => calls.unlinked.push(*event),
            }
        }
        let owner = calls.find(view, &launching);
        calls.give(view, &owner);
        calls
    }

    /// Makes the calls; answers per row of a launch to which it belongs.
    fn find(&mut self, view: View<'_>, launching: &Bitmap) -> Vec<u32> {
        let trace = view.trace;
        let mut owner = vec![NONE; trace.len()];
        let execute = trace.strings.lookup("execute");
        let mut open: Vec<Open> = Vec::new();
        for thread in view.index.host_threads(trace) {
            open.clear();
            for tied in thread.chunk_by(|a, b| trace.span(*a) == trace.span(*b)) {
                let Some((start, end)) = trace.span(tied[0]) else { continue };
                // One that ends here may still hold what has no length.
                while open.pop_if(|inner| inner.end < start).is_some() {}
                // An operator as long as its launch holds it, whichever comes first in the file.
                let holds = |row: &Row| is_container(trace.class(*row), trace.name_id(*row), execute);
                for &row in tied.iter().filter(|row| holds(row)) {
                    while open.pop_if(|inner| inner.end < end).is_some() {}
                    open.push(Open { row, end, call: NONE });
                }
                for &row in tied.iter().filter(|row| launching.has(**row)) {
                    owner[row as usize] = self.owner_of(row, end, &mut open);
                }
            }
        }
        owner
    }

    fn owner_of(&mut self, launch: Row, end: Ns, open: &mut [Open]) -> u32 {
        // Ends grow outwards, and what has a number has one all the way out: both are found by halving.
        let holding = open.partition_point(|operator| operator.end >= end);
        if holding == 0 {
            return self.push(launch, NONE);
        }
        let known = open[..holding].partition_point(|operator| operator.call != NONE);
        let mut parent = known.checked_sub(1).map_or(NONE, |i| open[i].call);
        for operator in &mut open[known..holding] {
            operator.call = self.push(operator.row, parent);
            parent = operator.call;
        }
        parent
    }

    fn push(&mut self, row: Row, parent: u32) -> u32 {
        let call = self.rows.len() as u32;
        self.rows.push(row);
        self.parents.push(parent);
        call
    }

    /// Sorts the GPU events by their calls; those of one call stay by start.
    fn give(&mut self, view: View<'_>, owner: &[u32]) {
        let events = || {
            view.gpu().filter_map(|event| {
                let call = owner[view.launch(event.row)? as usize];
                (call != NONE).then_some((call as usize, event))
            })
        };
        self.first = vec![0; self.rows.len() + 1];
        for (call, _) in events() {
            self.first[call + 1] += 1;
        }
        for i in 0..self.rows.len() {
            self.first[i + 1] += self.first[i];
        }
        let mut next = self.first.clone();
        let Some((_, any)) = events().next() else { return };
        self.events = vec![*any; self.first[self.rows.len()] as usize];
        for (call, event) in events() {
            self.events[next[call] as usize] = *event;
            next[call] += 1;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn row(&self, call: usize) -> Row {
        self.rows[call]
    }

    pub(crate) fn parent(&self, call: usize) -> Option<usize> {
        Some(self.parents[call]).filter(|parent| *parent != NONE).map(|parent| parent as usize)
    }

    /// What ran straight under a call, by start.
    pub(crate) fn direct(&self, call: usize) -> &[GpuEvent] {
        &self.events[self.first[call] as usize..self.first[call + 1] as usize]
    }

    pub(crate) fn unlinked(&self) -> &[GpuEvent] {
        &self.unlinked
    }
}

/// An operator that may hold what comes next on its thread.
struct Open {
    row: Row,
    end: Ns,
    /// Its number among the calls, once there is GPU work below it.
    call: u32,
}

fn is_container(class: Class, name: StrId, execute: Option<StrId>) -> bool {
    class == Class::Operator && Some(name) != execute
}
