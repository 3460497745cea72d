//! Writes down what the host of one rank does. What a job is like is drawn once for all ranks; here only what varies
//! from rank to rank and from step to step.

use super::chance::Chance;
use super::hardware::{Fetch, Hardware, Vendor};
use super::names::{self, Collective, call};
use super::program::{Call, Direction, Effect, Instruction, Kind, Launch, Program, Span, Target, Task};
use crate::event::Name;

/// Above this the driver copies pageable memory in pieces, after the stream has drained.
const STAGED_AT_ONCE_BYTES: i64 = 64 << 10;

pub(super) const COMPUTE: usize = 0;
pub(super) const COMMUNICATION: usize = 1;
pub(super) const COPIES: usize = 2;
pub(super) const SIDE: usize = 3;
pub(super) const STREAMS: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    Pinned,
    Pageable,
}

#[derive(Debug)]
pub(super) struct Author<'h> {
    pub(super) hardware: &'h Hardware,
    pub(super) draw: Chance,
    program: Program,
    /// The operations of the transfers so far, in the order that all ranks have.
    transfers: Vec<&'static str>,
    host_percent: i64,
    gpu_percent: i64,
    /// How much this step computes, in percent of a middling one.
    step_percent: i64,
}

impl<'h> Author<'h> {
    pub(super) fn new(hardware: &'h Hardware, draw: Chance) -> Author<'h> {
        let program = Program { streams: STREAMS, ..Program::default() };
        Author {
            hardware,
            draw,
            program,
            transfers: Vec::new(),
            host_percent: 100,
            gpu_percent: 100,
            step_percent: 100,
        }
    }

    /// A rank whose host or GPU is slower than those of the others.
    pub(super) fn slowed(mut self, host_percent: i64, gpu_percent: i64) -> Author<'h> {
        (self.host_percent, self.gpu_percent) = (host_percent, gpu_percent);
        self
    }

    pub(super) fn finish(self, clock_ns: i64) -> (Program, Vec<&'static str>) {
        (Program { clock_ns, ..self.program }, self.transfers)
    }

    pub(super) fn step_computes(&mut self, percent: i64) {
        self.step_percent = percent;
    }

    fn computing_ns(&self, ns: i64) -> i64 {
        ns * self.gpu_percent / 100 * self.step_percent / 100
    }

    fn push(&mut self, instruction: Instruction) {
        self.program.instructions.push(instruction);
    }

    pub(super) fn start_recording(&mut self) {
        self.push(Instruction::StartRecording);
    }

    pub(super) fn hand_over(&mut self, thread: usize) {
        let wake_ns = self.draw.around(self.hardware.thread_wake_ns, 300);
        self.push(Instruction::HandOver { thread, wake_ns });
    }

    pub(super) fn span(&mut self, span: Span, inside: impl FnOnce(&mut Self)) {
        self.push(Instruction::Open(span));
        inside(self);
        self.push(Instruction::Close);
    }

    pub(super) fn operator(&mut self, name: &'static str, inside: impl FnOnce(&mut Self)) {
        self.span(Span::Operator(Name::plain(name)), inside);
    }

    pub(super) fn annotation(&mut self, name: &'static str, inside: impl FnOnce(&mut Self)) {
        self.span(Span::Annotation(Name::plain(name)), inside);
    }

    pub(super) fn work(&mut self, ns: i64) {
        // What is long consists of much, and varies less.
        let per_mille = if ns > 100_000 { 40 } else { 150 };
        let mut ns = self.draw.around(ns, per_mille) * self.host_percent / 100;
        if self.draw.between(1, 1_000) <= self.hardware.interrupted_per_mille {
            ns += self.draw.between(10_000, 60_000);
        }
        self.push(Instruction::Work(ns));
    }

    fn call(&mut self, name: &'static str, cost_ns: i64, effect: Effect) {
        let cost_ns = self.draw.around(cost_ns, 300);
        let return_ns = self.draw.around(self.hardware.return_latency_ns, 200);
        self.push(Instruction::Call(Call { name, cost_ns, return_ns, effect }));
    }

    fn named(&mut self, cuda: &'static str, cost_ns: i64, effect: Effect) {
        self.call(call(self.hardware.vendor, cuda), cost_ns, effect);
    }

    fn task(&mut self, name: &'static str, kind: Kind, ns: i64) -> Task {
        let ns = self.draw.around(ns, 25).max(800);
        let gap_ns = self.draw.around(self.hardware.stream_gap_ns, 250);
        Task { name, kind, ns, gap_ns, early_ns: 0 }
    }

    fn launch(&mut self, name: &'static str, stream: usize, tasks: Vec<Task>, blocks: bool) {
        let latency_ns = self.draw.around(self.hardware.launch_latency_ns, 250);
        let cost_ns = self.hardware.launch_call_ns;
        self.call(name, cost_ns, Effect::Launch(Launch { stream, tasks, latency_ns, blocks }));
    }

    pub(super) fn kernel(&mut self, name: &'static str, ns: i64, stream: usize) {
        let mut task = self.task(name, Kind::Kernel, self.computing_ns(ns));
        if self.draw.percent(self.hardware.early_start_percent) {
            task.early_ns = self.draw.between(400, 3_000).min(task.ns / 2);
        }
        self.launch(call(self.hardware.vendor, "cudaLaunchKernel"), stream, vec![task], false);
    }

    pub(super) fn set(&mut self, bytes: i64, stream: usize) {
        let task = self.task(names::SET, Kind::Set(bytes), 1_200 + bytes / 1_000);
        self.launch(call(self.hardware.vendor, "cudaMemsetAsync"), stream, vec![task], false);
    }

    /// Many kernels with one call.
    pub(super) fn graph(&mut self, kernels: &[(&'static str, i64)], stream: usize) {
        let gap_ns = self.hardware.graph_gap_ns;
        let mut tasks: Vec<Task> = Vec::with_capacity(kernels.len());
        for &(name, ns) in kernels {
            let task = self.task(name, Kind::Kernel, self.computing_ns(ns));
            tasks.push(Task { gap_ns: self.draw.around(gap_ns, 250), ..task });
        }
        let cost = self.hardware.launch_call_ns * 2 + 150 * kernels.len() as i64;
        let latency_ns = self.draw.around(self.hardware.launch_latency_ns * 3 / 2, 250);
        let effect = Effect::Launch(Launch { stream, tasks, latency_ns, blocks: false });
        self.named("cudaGraphLaunch", cost, effect);
    }

    fn copy_ns(&self, bytes: i64, memory: Memory, direction: Direction) -> i64 {
        let speed = match (direction, memory) {
            (Direction::DeviceToDevice, _) => 40 * self.hardware.copy_bytes_per_us,
            (_, Memory::Pinned) => self.hardware.copy_bytes_per_us,
            // The host has to fill the staging buffers in between.
            (_, Memory::Pageable) => self.hardware.copy_bytes_per_us / 3,
        };
        1_100 + bytes * 1_000 / speed
    }

    pub(super) fn copy(&mut self, direction: Direction, memory: Memory, bytes: i64, stream: usize) {
        let cuda = self.hardware.vendor == Vendor::Cuda;
        let name = copy_name(cuda, direction, memory);
        let ns = self.copy_ns(bytes, memory, direction);
        let task = self.task(name, Kind::Copy(direction, bytes), ns);
        let pageable = memory == Memory::Pageable && direction != Direction::DeviceToDevice;
        let staged = direction == Direction::HostToDevice && bytes <= STAGED_AT_ONCE_BYTES;
        match (cuda, pageable) {
            (true, true) => self.launch("cudaMemcpyAsync", stream, vec![task], !staged),
            (true, false) => self.launch("cudaMemcpyAsync", stream, vec![task], false),
            (false, true) => self.launch("hipMemcpyWithStream", stream, vec![task], true),
            (false, false) => self.launch("hipMemcpyAsync", stream, vec![task], false),
        }
    }

    /// The host wants one value from the device.
    pub(super) fn item(&mut self) {
        self.operator("aten::item", |author| {
            author.work(2_000);
            author.operator("aten::_local_scalar_dense", |author| {
                author.work(2_500);
                let pinned = author.hardware.fetch == Fetch::Pinned && author.hardware.vendor == Vendor::Cuda;
                let memory = if pinned { Memory::Pinned } else { Memory::Pageable };
                let bytes = author.draw.pick(&[4, 8]);
                author.copy(Direction::DeviceToHost, memory, bytes, COMPUTE);
                if author.hardware.vendor == Vendor::Cuda {
                    author.synchronize(Target::Stream(COMPUTE));
                }
                author.work(800);
            });
            author.work(500);
        });
    }

    pub(super) fn synchronize(&mut self, target: Target) {
        let name = match target {
            Target::Device => "cudaDeviceSynchronize",
            Target::Stream(_) => "cudaStreamSynchronize",
            Target::Event(_) => "cudaEventSynchronize",
        };
        self.named(name, 2_200, Effect::Synchronize(target));
    }

    pub(super) fn allocate(&mut self, ns: i64) {
        self.named("cudaMalloc", ns, Effect::None);
    }

    pub(super) fn free(&mut self) {
        self.named("cudaFree", 30_000, Effect::Free);
    }

    pub(super) fn record(&mut self, stream: usize) -> usize {
        let event = self.program.events;
        self.program.events += 1;
        self.named("cudaEventRecord", 1_100, Effect::Record { stream, event });
        event
    }

    pub(super) fn wait(&mut self, stream: usize, event: usize) {
        self.named("cudaStreamWaitEvent", 1_000, Effect::Wait { stream, event });
    }

    /// One stream goes on only after what another has been given so far.
    pub(super) fn follow(&mut self, stream: usize, on: usize) {
        let event = self.record(on);
        self.wait(stream, event);
    }

    /// Starts the next transfer behind the computing stream, and returns the event at its end.
    pub(super) fn transfer(&mut self, collective: &Collective) -> usize {
        let &Collective { operation, host, annotation, cuda, hip } = collective;
        let kernel = if self.hardware.vendor == Vendor::Cuda { cuda } else { hip };
        let number = self.transfers.len();
        self.transfers.push(operation);
        let mut done = 0;
        self.operator(host, |author| {
            author.work(9_000);
            author.span(Span::Communication(number), |author| {
                author.work(4_000);
                author.annotation(annotation, |author| {
                    author.work(3_000);
                    author.follow(COMMUNICATION, COMPUTE);
                    author.named("cudaStreamIsCapturing", 700, Effect::None);
                    let task = author.task(kernel, Kind::Collective(number), 0);
                    let name = call(author.hardware.vendor, "cudaLaunchKernelExC");
                    author.launch(name, COMMUNICATION, vec![task], false);
                    done = author.record(COMMUNICATION);
                });
                author.work(3_000);
            });
            author.work(4_000);
        });
        done
    }
}

fn copy_name(cuda: bool, direction: Direction, memory: Memory) -> &'static str {
    match (direction, cuda, memory) {
        (Direction::DeviceToDevice, ..) => "Memcpy DtoD (Device -> Device)",
        (Direction::HostToDevice, false, _) => "Memcpy HtoD (Host -> Device)",
        (Direction::DeviceToHost, false, _) => "Memcpy DtoH (Device -> Host)",
        (Direction::HostToDevice, true, Memory::Pinned) => "Memcpy HtoD (Pinned -> Device)",
        (Direction::HostToDevice, true, Memory::Pageable) => "Memcpy HtoD (Pageable -> Device)",
        (Direction::DeviceToHost, true, Memory::Pinned) => "Memcpy DtoH (Device -> Pinned)",
        (Direction::DeviceToHost, true, Memory::Pageable) => "Memcpy DtoH (Device -> Pageable)",
    }
}
