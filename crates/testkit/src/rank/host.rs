//! The host side of a rank: named stretches of time, runtime calls, waiting, memory.

use super::{Frame, RankSim};
use crate::action::Scope;
use crate::catalog::{self, RuntimeCall};
use crate::event::{Link, Name, STREAM_COUNT, STREAMS, SyncKind, What};
use crate::plan::Detail;
use crate::rng::mix;
use crate::shapes::Shape;

/// From what the host waits for to its going on.
pub(super) const WAKE_UP_NS: i64 = 1_700;

const MOST_SYNC_DELAY_NS: i64 = 700;

impl RankSim<'_> {
    pub(super) fn open_external(&self) -> u64 {
        self.frames[self.thread.index()]
            .iter()
            .rev()
            .map(|frame| frame.external)
            .find(|&id| id > 0)
            .unwrap_or(0)
    }

    pub(super) fn open_operator(&self) -> u64 {
        let is_operator = |frame: &&Frame| frame.external > 0 && frame.annotation.is_none();
        self.frames[self.thread.index()].iter().rev().find(is_operator).map_or(0, |frame| frame.external)
    }

    pub(super) fn open(&mut self, scope: Scope) {
        let start = self.now;
        let thread = self.thread;
        let mut frame = Frame {
            event: self.batch.events.len(),
            annotation: None,
            external: 0,
            python: None,
            gpu: [None; STREAM_COUNT],
            transfer: None,
            comm: None,
        };
        if !matches!(scope, Scope::Python(_) | Scope::Module { .. }) {
            frame.external = self.external;
            self.external += 1;
        }
        let external = frame.external;
        let what = match scope {
            Scope::Step(number) => {
                frame.annotation = Some(Name::numbered("ProfilerStep#", number));
                What::Annotation { name: Name::numbered("ProfilerStep#", number), thread, external }
            }
            Scope::Annotation(name) => {
                frame.annotation = Some(name);
                What::Annotation { name, thread, external }
            }
            Scope::Python(name) => self.python_frame(&mut frame, name, None),
            Scope::Module { name, id } => self.python_frame(&mut frame, name, Some(id)),
            Scope::Op { name, shape, link } => What::Op { name, thread, external, shape, link, comm: None },
            Scope::Comm { transfer } => {
                let comm = Some(self.begin_transfer(&transfer));
                frame.transfer = Some(transfer);
                frame.comm = comm;
                let (shape, link) = (Shape::None, Link::None);
                What::Op { name: "record_param_comms", thread, external, shape, link, comm }
            }
        };
        self.record(start, start, what);
        // Transfers must not use up chance: a fault may move them.
        let of_transfer = |frame: &Frame| frame.transfer.is_some();
        let quiet = of_transfer(&frame) || self.frames[thread.index()].last().is_some_and(of_transfer);
        self.frames[thread.index()].push(frame);
        let cost = if frame.python.is_some() { 900 } else { 1_900 };
        if quiet {
            self.now += cost * self.slow_host / 100;
        } else {
            self.work(cost);
        }
    }

    pub(super) fn python_frame(&mut self, frame: &mut Frame, name: Name, module: Option<u32>) -> What {
        let id = self.python;
        self.python += 1;
        frame.python = Some(id);
        let parent = self.frames[self.thread.index()].iter().rev().find_map(|outer| outer.python);
        What::Python { name, thread: self.thread, id, parent, module }
    }

    pub(super) fn close(&mut self) {
        let Some(frame) = self.frames[self.thread.index()].pop() else { return };
        self.now += 190;
        let end = self.now;
        if self.recording {
            let event = &mut self.batch.events[frame.event];
            event.end = end;
            let start = event.start;
            if let What::Annotation { name: Name { text: "ProfilerStep#", number: Some(number) }, .. } =
                event.what
            {
                self.batch.step = Some((number, start, end));
            }
        }
        if let Some(name) = frame.annotation {
            for stream in STREAMS {
                if let Some((first, last)) = frame.gpu[stream.index()] {
                    let what = What::GpuAnnotation { name, stream, external: frame.external };
                    self.record(first - 1, last + 1, what);
                }
            }
        }
        self.now += 60;
    }

    /// A runtime call; returns its start, its end and its correlation.
    pub(super) fn call(&mut self, call: RuntimeCall, feeds_gpu: bool) -> (i64, i64, u64) {
        let start = self.now;
        // Calls that order streams come and go with transfers, so they must not use up chance.
        self.now +=
            if feeds_gpu { self.vary_launch(call.host_ns) } else { call.host_ns * self.slow_host / 100 };
        let correlation = self.record_call(call, start, feeds_gpu);
        (start, self.now, correlation)
    }

    pub(super) fn record_call(&mut self, call: RuntimeCall, start: i64, feeds_gpu: bool) -> u64 {
        self.correlation += 1;
        let correlation = self.correlation;
        let what = What::Runtime {
            name: call.name,
            cbid: call.cbid,
            thread: self.thread,
            correlation,
            external: self.open_external(),
            feeds_gpu,
        };
        let lost = feeds_gpu && self.launch_is_lost(correlation);
        if !lost {
            self.record(start, self.now, what);
        }
        correlation
    }

    pub(super) fn launch_is_lost(&self, correlation: u64) -> bool {
        self.unlinked_per_mille > 0
            && mix(self.plan.seed ^ (u64::from(self.rank) << 40) ^ correlation) % 1000
                < self.unlinked_per_mille
    }

    pub(super) fn host_waits_for_event(&mut self, slot: u32) {
        let Some(event) = self.cuda_events[slot as usize] else { return };
        let kind = SyncKind::EventSync { on: event.stream, record: event.record, event: slot };
        self.blocking_call(catalog::EVENT_SYNC, event.done, 0, kind);
    }

    /// The host waits until some time, wakes up, and is held for so much longer.
    pub(super) fn blocking_call(&mut self, call: RuntimeCall, until: i64, extra_ns: i64, kind: SyncKind) {
        let start = self.now;
        self.now += call.host_ns * self.slow_host / 100;
        let released = self.after_waiting_for(until + WAKE_UP_NS);
        self.now = released + if self.synchronising { extra_ns } else { 0 };
        let correlation = self.record_call(call, start, false);
        self.record_sync(start, self.now, kind, correlation);
    }

    pub(super) fn record_sync(&mut self, start: i64, end: i64, kind: SyncKind, correlation: u64) {
        if self.plan.sync_rows {
            let external = self.open_external();
            // The driver notes it a little later than the call begins.
            let noted = start + ((end - start) / 2).min(MOST_SYNC_DELAY_NS);
            self.record(noted, end, What::Sync { kind, correlation, external });
        }
    }

    pub(super) fn allocate(&mut self, bytes: i64, address: i64) {
        self.allocated += bytes;
        if self.allocated > self.reserved {
            let excess = self.allocated - self.reserved;
            self.reserved += (excess + (20 << 20) - 1) / (20 << 20) * (20 << 20);
        }
        self.now += 310;
        let (allocated, reserved) = (self.allocated, self.reserved);
        if self.plan.detail == Detail::Full || self.planted.is_some() {
            let what = What::Memory { thread: self.thread, bytes, address, allocated, reserved };
            self.record(self.now, self.now, what);
        }
    }
}
