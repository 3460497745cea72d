//! The GPU of a rank: streams that run their commands in order, copy engines that do one copy at a time, kernels of
//! different streams side by side.

use std::collections::VecDeque;

use super::hardware::Hardware;
use super::host::{Position, correlation};
use super::program::{Direction, Effect, Instruction, Kind, Program, Task};
use super::record::GpuRecord;
use super::simulation::{Due, Simulation};

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Task {
        task: Task,
        graph_node: Option<usize>,
        last_of_launch: bool,
    },
    /// Marks where an event is.
    Record {
        event: usize,
    },
    Wait {
        event: usize,
    },
}

#[derive(Debug, Clone, Copy)]
struct Command {
    what: What,
    /// When the GPU can know of it.
    ready: i64,
    correlation: u64,
    external: u64,
    launched: i64,
    step: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Running {
    command: Command,
    start: i64,
    /// Not known of a transfer that still waits for other ranks.
    end: Option<i64>,
}

#[derive(Debug, Default)]
pub(super) struct Stream {
    queue: VecDeque<Command>,
    /// Two where the second started early.
    running: VecDeque<Running>,
    last_end: Option<i64>,
    not_before: i64,
    /// When it looks next whether something can start.
    next_look: i64,
    pub(super) submitted: u64,
    pub(super) completed: u64,
    /// Launches that take a place in the queue.
    pub(super) pending: usize,
}

#[derive(Debug, Default)]
struct Engine {
    busy: bool,
    waiting: VecDeque<usize>,
}

#[derive(Debug)]
pub(super) struct Gpu {
    pub(super) streams: Vec<Stream>,
    engines: [Engine; 3],
    /// Where each event was recorded.
    pub(super) events: Vec<Option<Position>>,
    reached: Vec<Option<i64>>,
}

/// A few bytes are moved by the stream itself, everything else by the engine of its direction.
pub(super) fn engine_of(kind: Kind) -> Option<Direction> {
    const MOVED_BY_AN_ENGINE_BYTES: i64 = 4 << 10;
    match kind {
        Kind::Copy(direction, bytes) if bytes > MOVED_BY_AN_ENGINE_BYTES => Some(direction),
        _ => None,
    }
}

impl Gpu {
    pub(super) fn new(program: &Program) -> Gpu {
        Gpu {
            streams: (0..program.streams).map(|_| Stream::default()).collect(),
            engines: Default::default(),
            events: vec![None; program.events],
            reached: vec![None; program.events],
        }
    }

    pub(super) fn has_room(&self, stream: usize, hardware: &Hardware) -> bool {
        let pending = if hardware.shared_queue {
            self.streams.iter().map(|stream| stream.pending).sum()
        } else {
            self.streams[stream].pending
        };
        pending < hardware.queue_depth
    }
}

impl Simulation<'_> {
    /// A call's work reaches the driver.
    pub(super) fn submit(&mut self, rank: usize, instruction: usize, now: i64) {
        let programs = self.programs;
        let Some(Instruction::Call(call)) = programs[rank].instructions.get(instruction) else { return };
        let (launched, external, step) = self.launched_by(rank);
        let correlation = correlation(instruction);
        let command = |what, latency: i64| Command {
            what,
            ready: now + latency,
            correlation,
            external,
            launched,
            step,
        };
        let stream = match &call.effect {
            Effect::Launch(launch) => {
                let latency = if self.changes.no_launch_overhead() { 0 } else { launch.latency_ns };
                let count = launch.tasks.len();
                for (node, &task) in launch.tasks.iter().enumerate() {
                    let graph_node = (count > 1).then_some(node);
                    let what = What::Task { task, graph_node, last_of_launch: node + 1 == count };
                    self.enqueue(rank, launch.stream, command(what, latency));
                }
                launch.stream
            }
            Effect::Record { stream, event } => {
                self.enqueue(rank, *stream, command(What::Record { event: *event }, 0));
                let position = self.gpus[rank].streams[*stream].submitted;
                self.gpus[rank].events[*event] = Some((*stream, position));
                self.records[rank].events[*event] = Some((*stream, correlation));
                *stream
            }
            Effect::Wait { stream, event } => {
                self.enqueue(rank, *stream, command(What::Wait { event: *event }, 0));
                *stream
            }
            Effect::None | Effect::Synchronize(_) | Effect::Free => return,
        };
        self.advance(rank, stream, now);
    }

    fn enqueue(&mut self, rank: usize, stream: usize, command: Command) {
        let stream = &mut self.gpus[rank].streams[stream];
        stream.submitted += 1;
        stream.queue.push_back(command);
    }

    /// Starts what a stream can start now.
    pub(super) fn advance(&mut self, rank: usize, stream: usize, now: i64) {
        while let Some(command) = self.gpus[rank].streams[stream].queue.front().copied() {
            let moved = match command.what {
                What::Task { task, .. } => self.try_start(rank, stream, command, task, now),
                What::Record { event } => self.try_reach(rank, stream, event, now),
                What::Wait { event } => self.try_pass(rank, stream, event),
            };
            if !moved {
                return;
            }
        }
    }

    /// An event is reached when all before it on its stream is over.
    fn try_reach(&mut self, rank: usize, stream: usize, event: usize, now: i64) -> bool {
        let gpu = &mut self.gpus[rank];
        if !gpu.streams[stream].running.is_empty() {
            return false;
        }
        gpu.streams[stream].queue.pop_front();
        gpu.streams[stream].completed += 1;
        gpu.reached[event] = Some(now);
        self.tell_others(rank, stream, now);
        true
    }

    /// A stream goes on when the event it waits for was reached.
    fn try_pass(&mut self, rank: usize, stream: usize, event: usize) -> bool {
        let gpu = &mut self.gpus[rank];
        let Some(reached) = gpu.reached[event] else { return false };
        let waiting = &mut gpu.streams[stream];
        if !waiting.running.is_empty() {
            return false;
        }
        waiting.not_before = waiting.not_before.max(reached + self.hardware.event_latency_ns);
        waiting.queue.pop_front();
        waiting.completed += 1;
        true
    }

    fn tell_others(&mut self, rank: usize, stream: usize, now: i64) {
        self.wake_host(rank, now);
        for other in (0..self.gpus[rank].streams.len()).filter(|&other| other != stream) {
            self.agenda.add(now, rank, Due::Stream(other));
        }
    }

    /// Whether it started; if not, and it is known when it may, the stream looks again then.
    fn try_start(&mut self, rank: usize, stream: usize, command: Command, task: Task, now: i64) -> bool {
        let place = &self.gpus[rank].streams[stream];
        let after = match place.running.len() {
            0 => place.last_end.map_or(0, |end| end + task.gap_ns),
            1 if task.early_ns > 0 => match place.running[0].end {
                Some(end) => (end - task.early_ns).max(place.running[0].start),
                None => return false,
            },
            _ => return false,
        };
        let at = after.max(command.ready).max(place.not_before);
        if at > now {
            self.look_at(rank, stream, at, now);
            return false;
        }
        if let Some(direction) = engine_of(task.kind) {
            let engine = &mut self.gpus[rank].engines[direction as usize];
            let turn = engine.waiting.front().is_none_or(|&first| first == stream);
            if engine.busy || !turn {
                if !engine.waiting.contains(&stream) {
                    engine.waiting.push_back(stream);
                }
                return false;
            }
            engine.waiting.pop_front();
            engine.busy = true;
        }
        self.start(rank, stream, command, task, now);
        true
    }

    fn look_at(&mut self, rank: usize, stream: usize, at: i64, now: i64) {
        let next_look = &mut self.gpus[rank].streams[stream].next_look;
        if *next_look <= now || *next_look > at {
            *next_look = at;
            self.agenda.add(at, rank, Due::Stream(stream));
        }
    }

    fn start(&mut self, rank: usize, stream: usize, command: Command, task: Task, now: i64) {
        let place = &mut self.gpus[rank].streams[stream];
        place.queue.pop_front();
        let begins = place.running.back().and_then(|running| running.end).unwrap_or(now);
        place.running.push_back(Running { command, start: now, end: None });
        if let Kind::Collective(number) = task.kind {
            self.arrive(rank, stream, number, task.name, now);
        } else {
            let end = begins + self.changes.gpu_time(task.name, task.ns);
            self.ends_at(rank, stream, end);
        }
    }

    fn ends_at(&mut self, rank: usize, stream: usize, end: i64) {
        if let Some(running) = self.gpus[rank].streams[stream].running.back_mut() {
            running.end = Some(end);
        }
        self.agenda.add(end, rank, Due::End(stream));
    }

    /// A transfer begins when its last rank is there; the others are in their kernels and wait.
    fn arrive(&mut self, rank: usize, stream: usize, number: usize, name: &'static str, now: i64) {
        let meeting = &mut self.meetings[number];
        meeting.arrived.push((rank, stream));
        if meeting.arrived.len() < self.programs.len() {
            return;
        }
        let end = now + self.changes.gpu_time(name, self.transfers[number].ns);
        for (rank, stream) in std::mem::take(&mut meeting.arrived) {
            self.ends_at(rank, stream, end);
        }
    }

    pub(super) fn finish(&mut self, rank: usize, stream: usize, now: i64) {
        let gpu = &mut self.gpus[rank];
        let Some(Running { command, start, .. }) = gpu.streams[stream].running.pop_front() else { return };
        let What::Task { task, graph_node, last_of_launch } = command.what else { return };
        let place = &mut gpu.streams[stream];
        place.last_end = Some(now);
        place.completed += 1;
        place.pending -= usize::from(last_of_launch);
        self.records[rank].gpu.push(GpuRecord {
            name: task.name,
            kind: task.kind,
            stream,
            start,
            end: now,
            correlation: command.correlation,
            external: command.external,
            launched: command.launched,
            step: command.step,
            graph_node,
        });
        if let Some(direction) = engine_of(task.kind) {
            let engine = &mut gpu.engines[direction as usize];
            engine.busy = false;
            if let Some(&next) = engine.waiting.front() {
                self.agenda.add(now, rank, Due::Stream(next));
            }
        }
        self.agenda.add(now, rank, Due::Stream(stream));
        self.tell_others(rank, stream, now);
    }
}
