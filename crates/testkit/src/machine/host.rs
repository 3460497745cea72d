//! The host of a rank: works, calls the driver, and waits where a call has to.

use super::program::{Call, Effect, Instruction, Span, Target};
use super::record::{CallRecord, SpanRecord, Waited};
use super::simulation::{Due, Simulation};

/// Where a stream has to be for something to be over: so many of its commands are done.
pub(super) type Position = (usize, u64);

#[derive(Debug, Default, PartialEq)]
enum Phase {
    #[default]
    Between,
    /// The next call can be made as soon as its queue has room.
    WaitsForRoom,
    /// The call's own cost is being paid.
    InCall,
    WaitsFor(Vec<Position>),
    Returns,
}

#[derive(Debug)]
struct OpenSpan {
    span: Span,
    start: i64,
    external: u64,
}

#[derive(Debug, Default)]
pub(super) struct Host {
    next: usize,
    phase: Phase,
    thread: usize,
    open: [Vec<OpenSpan>; 2],
    externals: u64,
    call_start: i64,
    step: Option<u32>,
}

impl Host {
    fn external(&self) -> u64 {
        self.open[self.thread].last().map_or(0, |open| open.external)
    }
}

impl<'p> Simulation<'p> {
    pub(super) fn host_goes_on(&mut self, rank: usize, now: i64) {
        match self.hosts[rank].phase {
            Phase::Between => self.next_instructions(rank, now),
            Phase::InCall => self.call_is_paid(rank, now),
            Phase::Returns => self.end_call(rank, now),
            Phase::WaitsForRoom | Phase::WaitsFor(_) => {}
        }
    }

    /// Something on the rank's GPU is over: a waiting host may go on.
    pub(super) fn wake_host(&mut self, rank: usize, now: i64) {
        match &self.hosts[rank].phase {
            Phase::WaitsForRoom => self.try_call(rank, now),
            Phase::WaitsFor(positions) if self.all_over(rank, positions) => {
                let Some(call) = self.current_call(rank) else { return };
                self.hosts[rank].phase = Phase::Returns;
                self.agenda.add(now + call.return_ns, rank, Due::Host);
            }
            _ => {}
        }
    }

    fn all_over(&self, rank: usize, positions: &[Position]) -> bool {
        positions.iter().all(|&(stream, position)| self.gpus[rank].streams[stream].completed >= position)
    }

    /// All that takes no time, and then the first thing that does.
    fn next_instructions(&mut self, rank: usize, now: i64) {
        let programs = self.programs;
        loop {
            let Some(instruction) = programs[rank].instructions.get(self.hosts[rank].next) else {
                self.records[rank].recording_to = now;
                return;
            };
            match instruction {
                Instruction::Open(span) => self.open(rank, *span, now),
                Instruction::Close => self.close(rank, now),
                Instruction::StartRecording => self.records[rank].recording_from = now,
                Instruction::Work(ns) => {
                    let ns = self.host_time(rank, "", *ns);
                    self.hosts[rank].next += 1;
                    return self.agenda.add(now + ns, rank, Due::Host);
                }
                Instruction::HandOver { thread, wake_ns } => {
                    self.hosts[rank].thread = *thread;
                    self.hosts[rank].next += 1;
                    return self.agenda.add(now + wake_ns, rank, Due::Host);
                }
                Instruction::Call(_) => {
                    self.hosts[rank].call_start = now;
                    return self.try_call(rank, now);
                }
            }
            self.hosts[rank].next += 1;
        }
    }

    fn host_time(&self, rank: usize, call: &str, ns: i64) -> i64 {
        let host = &self.hosts[rank];
        self.changes.host_time(&host.open[host.thread].iter().map(|open| &open.span), call, ns)
    }

    fn open(&mut self, rank: usize, span: Span, now: i64) {
        let host = &mut self.hosts[rank];
        host.externals += 1;
        if let Span::Step(number) = span {
            host.step = Some(number);
        }
        let external = host.externals;
        host.open[host.thread].push(OpenSpan { span, start: now, external });
    }

    fn close(&mut self, rank: usize, now: i64) {
        let host = &mut self.hosts[rank];
        let Some(OpenSpan { span, start, external }) = host.open[host.thread].pop() else { return };
        if let Span::Step(_) = span {
            host.step = None;
        }
        let thread = host.thread;
        self.records[rank].spans.push(SpanRecord { span, thread, start, end: now, external });
    }

    fn current_call(&self, rank: usize) -> Option<&'p Call> {
        match self.programs[rank].instructions.get(self.hosts[rank].next) {
            Some(Instruction::Call(call)) => Some(call),
            _ => None,
        }
    }

    /// Makes the call, unless the queue of its stream is full: then it blocks until work there is over.
    fn try_call(&mut self, rank: usize, now: i64) {
        let Some(call) = self.current_call(rank) else { return };
        let (mut cost, instruction) = (self.host_time(rank, call.name, call.cost_ns), self.hosts[rank].next);
        let mut submitted_at = now + cost;
        if let Effect::Launch(launch) = &call.effect {
            let stream = launch.stream;
            if !self.gpus[rank].has_room(stream, self.hardware) {
                self.hosts[rank].phase = Phase::WaitsForRoom;
                return;
            }
            if self.changes.no_launch_overhead() {
                cost = 0;
            }
            self.gpus[rank].streams[stream].pending += 1;
            submitted_at = now + cost * self.hardware.submitted_percent / 100;
        }
        self.hosts[rank].phase = Phase::InCall;
        self.agenda.add(submitted_at, rank, Due::Submission(instruction));
        self.agenda.add(now + cost, rank, Due::Host);
    }

    fn call_is_paid(&mut self, rank: usize, now: i64) {
        let positions = self.positions_to_wait_for(rank);
        if self.all_over(rank, &positions) {
            self.end_call(rank, now);
        } else {
            self.hosts[rank].phase = Phase::WaitsFor(positions);
        }
    }

    fn positions_to_wait_for(&self, rank: usize) -> Vec<Position> {
        let Some(call) = self.current_call(rank) else { return Vec::new() };
        let gpu = &self.gpus[rank];
        let all_of = |stream: usize| (stream, gpu.streams[stream].submitted);
        match &call.effect {
            _ if self.changes.no_synchronisation() => Vec::new(),
            Effect::Launch(launch) if launch.blocks => vec![all_of(launch.stream)],
            Effect::Synchronize(Target::Stream(stream)) => vec![all_of(*stream)],
            Effect::Synchronize(Target::Event(event)) => gpu.events[*event].into_iter().collect(),
            Effect::Synchronize(Target::Device) | Effect::Free => {
                (0..gpu.streams.len()).map(all_of).collect()
            }
            Effect::None | Effect::Launch(_) | Effect::Record { .. } | Effect::Wait { .. } => Vec::new(),
        }
    }

    fn end_call(&mut self, rank: usize, now: i64) {
        let Some(call) = self.current_call(rank) else { return };
        let waited = match call.effect {
            Effect::Synchronize(target) => Some(Waited::Host(target)),
            Effect::Wait { stream, event } => Some(Waited::Stream { stream, event }),
            _ => None,
        };
        let host = &self.hosts[rank];
        let record = CallRecord {
            name: call.name,
            thread: host.thread,
            start: host.call_start,
            end: now,
            correlation: correlation(host.next),
            external: host.external(),
            waited,
        };
        self.records[rank].calls.push(record);
        self.hosts[rank].phase = Phase::Between;
        self.hosts[rank].next += 1;
        self.next_instructions(rank, now);
    }

    /// What the driver notes of who launched.
    pub(super) fn launched_by(&self, rank: usize) -> (i64, u64, Option<u32>) {
        let host = &self.hosts[rank];
        (host.call_start, host.external(), host.step)
    }
}

/// Calls are numbered as they are made.
pub(super) fn correlation(instruction: usize) -> u64 {
    1_000 + instruction as u64
}
