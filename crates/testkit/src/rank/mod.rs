//! Executes one rank's program: gives every host action and every piece of GPU work its true time.
//!
//! The host is one line of control that moves between two threads. The GPU is three streams, each of which runs its
//! work in order, not before it was launched and not before the events it was told to wait for.

mod gpu;
mod host;

use std::collections::BTreeMap;

use crate::action::{Action, TransferSpec};
use crate::catalog::{self, KernelSpec};
use crate::change::Change;
use crate::event::{
    Batch, CommArgs, Event, FaultSite, Gpu, Link, Name, STREAM_COUNT, STREAMS, Stream, SyncKind, Thread, What,
};
use crate::fault::Fault;
use crate::groups::Groups;
use crate::memory;
use crate::plan::{JOB_START_NS, Plan};
use crate::program::CUDA_EVENTS;
use crate::purpose::Purpose;
use crate::rng::{jittered, mix};
use crate::shapes::Shape;

const HOST_JITTER: i64 = 120;
const GPU_JITTER: i64 = 15;

/// A collective this rank has launched and whose other members are awaited.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) args: CommArgs,
    pub(crate) stream: Stream,
    pub(crate) start: i64,
    pub(crate) kernel: &'static str,
    pub(crate) ns: i64,
}

/// Why a rank stopped executing.
#[derive(Debug)]
pub(crate) enum Progress {
    Arrived,
    Finished,
}

#[derive(Debug, Clone, Copy, Default)]
struct StreamState {
    ready: i64,
    not_before: i64,
}

#[derive(Debug, Clone, Copy)]
struct CudaEvent {
    done: i64,
    stream: Stream,
    record: u64,
    /// The group whose transfer it marks the end of.
    group: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    /// Where the event waits for its end; none if nothing is recorded.
    event: usize,
    annotation: Option<Name>,
    external: u64,
    python: Option<u64>,
    gpu: [Option<(i64, i64)>; STREAM_COUNT],
    transfer: Option<TransferSpec>,
    comm: Option<u32>,
}

/// The state of one rank between actions.
#[derive(Debug)]
pub(crate) struct RankSim<'p> {
    plan: &'p Plan,
    rank: u32,
    step: u32,
    pub(crate) now: i64,
    thread: Thread,
    purpose: Purpose,
    frames: [Vec<Frame>; 2],
    streams: [StreamState; STREAM_COUNT],
    cuda_events: [Option<CudaEvent>; CUDA_EVENTS],
    recording: bool,
    batch: Batch,
    program: Vec<Action>,
    next_action: usize,
    pub(crate) arrival: Option<Arrival>,
    arrival_gpu: Option<(Gpu, Option<u32>, &'static KernelSpec)>,
    sequence_of_group: BTreeMap<(usize, Option<(u32, u32)>), u64>,
    planted: Option<(usize, i64)>,
    draws: u64,
    external: u64,
    correlation: u64,
    python: u64,
    allocated: i64,
    reserved: i64,
    slow_compute: i64,
    /// Percent of its normal time that a kernel with too few blocks takes.
    narrow: i64,
    /// Thousandths of their normal time that compute kernels take in this step.
    slow_step: i64,
    slow_host: i64,
    /// Percent of their normal time that launches take.
    launching: i64,
    /// Whether calls wait for the GPU before the job's end.
    synchronising: bool,
    /// The group of the last transfer on each stream.
    last_group: [Option<usize>; STREAM_COUNT],
    /// Groups whose transfers nothing waits for.
    overlapped: Vec<usize>,
    unlinked_per_mille: u64,
}

impl<'p> RankSim<'p> {
    pub(crate) fn new(plan: &'p Plan, groups: &Groups, rank: u32, recording: bool) -> RankSim<'p> {
        let (mut slow_compute, mut slow_host, mut narrow, mut unlinked) = (100, 100, 100, 0);
        for fault in plan.faults.iter().filter(|fault| fault.rank().is_none_or(|only| only == rank)) {
            match *fault {
                Fault::SlowCompute { percent, .. } => slow_compute = i64::from(percent),
                Fault::SlowHost { percent, .. } => slow_host = i64::from(percent),
                Fault::LowOccupancy { percent, .. } => narrow = i64::from(percent),
                Fault::UnlinkedKernels { per_mille, .. } => unlinked = u64::from(per_mille),
                _ => {}
            }
        }
        let (allocated, reserved) = memory::at_start(plan, groups, rank);
        RankSim {
            plan,
            rank,
            step: plan.first_step,
            now: JOB_START_NS + 1_000_000 + jittered(40_000, 900, mix(plan.seed ^ u64::from(rank))),
            thread: Thread::Main,
            purpose: Purpose::NONE,
            frames: [Vec::new(), Vec::new()],
            streams: [StreamState::default(); STREAM_COUNT],
            cuda_events: [None; CUDA_EVENTS],
            recording,
            batch: Batch::default(),
            program: Vec::new(),
            next_action: 0,
            arrival: None,
            arrival_gpu: None,
            sequence_of_group: BTreeMap::new(),
            planted: None,
            draws: 0,
            external: 1,
            correlation: 1_000,
            python: 1,
            allocated,
            reserved,
            slow_compute,
            narrow,
            slow_step: 1_000,
            slow_host,
            launching: if plan.changes.contains(&Change::NoLaunchOverhead) { 0 } else { 100 },
            synchronising: !plan.changes.contains(&Change::NoSynchronisation),
            last_group: [None; STREAM_COUNT],
            overlapped: (0..groups.all.len()).filter(|&group| plan.overlaps(&groups.all[group])).collect(),
            unlinked_per_mille: unlinked,
        }
    }

    /// Begins another program; what was recorded so far must have been taken.
    pub(crate) fn load(&mut self, program: Vec<Action>, step: u32) {
        self.program = program;
        self.next_action = 0;
        self.step = step;
        self.draws = 0;
        self.slow_step = self.slowness_of(step);
    }

    fn slowness_of(&self, step: u32) -> i64 {
        let steps_done = i64::from(step.saturating_sub(self.plan.first_step));
        self.plan.faults.iter().fold(1_000, |slow, fault| match *fault {
            Fault::Drift { percent } => slow * (100 + i64::from(percent) * steps_done) / 100,
            Fault::Throttled { rank, from_step, percent } if rank == self.rank && step >= from_step => {
                slow * i64::from(percent) / 100
            }
            _ => slow,
        })
    }

    /// Gives up what was recorded since the last time.
    pub(crate) fn take_batch(&mut self) -> Batch {
        let mut batch = std::mem::take(&mut self.batch);
        batch.horizon = self.now;
        batch
    }

    /// Executes until a transfer is launched or the program ends.
    pub(crate) fn run(&mut self) -> Progress {
        while let Some(action) = self.program.get_mut(self.next_action) {
            let action = std::mem::replace(action, Action::Planted);
            self.next_action += 1;
            self.execute(action);
            if self.arrival.is_some() {
                return Progress::Arrived;
            }
        }
        Progress::Finished
    }

    fn execute(&mut self, action: Action) {
        match action {
            Action::OnThread(thread) => self.thread = thread,
            Action::For(purpose) => self.purpose = purpose,
            Action::Open(scope) => self.open(scope),
            Action::Close => self.close(),
            Action::Work(ns) => self.work(ns),
            Action::Hold(ns) => self.now += ns,
            Action::EmptyOp { name } => {
                let (shape, link) = (Shape::None, Link::None);
                let external = self.external;
                self.external += 1;
                let what = What::Op { name, thread: self.thread, external, shape, link, comm: None };
                self.record(self.now, self.now, what);
                self.now += 100;
            }
            Action::Launch { spec, ns } => self.launch(spec, ns),
            Action::GraphLaunch(kernels) => self.launch_graph(&kernels),
            Action::Copy { kind, bytes, stream } => {
                let gpu = self.call_for_gpu(catalog::MEMCPY);
                let ns = self.vary_gpu(kind.ns(bytes));
                let (start, end) = self.occupy(stream, self.plan.scaled(kind.name(), ns));
                self.record(start, end, What::Copy { kind, stream, bytes, gpu });
            }
            Action::Set { bytes } => {
                let gpu = self.call_for_gpu(catalog::MEMSET);
                let ns = self.vary_gpu(1_100 + bytes / 2_000);
                let (start, end) = self.occupy(Stream::Compute, self.plan.scaled(catalog::MEMSET_NAME, ns));
                self.record(start, end, What::Set { stream: Stream::Compute, bytes, gpu });
            }
            Action::Record { slot, stream } => {
                let (_, _, record) = self.call(catalog::EVENT_RECORD, false);
                let state = self.streams[stream.index()];
                let done = state.ready.max(state.not_before).max(self.now);
                let group = self.last_group[stream.index()];
                self.cuda_events[slot as usize] = Some(CudaEvent { done, stream, record, group });
            }
            Action::Wait { stream, slot } => self.stream_waits(stream, slot),
            Action::SyncEvent { slot } => self.host_waits_for_event(slot),
            Action::SyncStream { stream, extra_ns } => {
                let until = self.streams[stream.index()].ready;
                self.blocking_call(catalog::STREAM_SYNC, until, extra_ns, SyncKind::StreamSync { stream });
            }
            Action::SyncDevice { extra_ns } => {
                let until = self.device_ready();
                self.blocking_call(catalog::DEVICE_SYNC, until, extra_ns, SyncKind::ContextSync);
            }
            Action::HeldCopy { call, kind, bytes } => self.held_copy(call, kind, bytes),
            Action::DrainingCall { call, ns } => {
                let start = self.now;
                self.now = self.after_waiting_for(self.device_ready()) + ns;
                self.record_call(call, start, false);
            }
            Action::Call { call, ns } => {
                let start = self.now;
                self.now += ns;
                self.record_call(call, start, false);
            }
            Action::Allocate { bytes, address } => self.allocate(bytes, address),
            Action::Free { bytes, address } => self.allocate(-bytes, address),
            Action::Transfer => self.arrive(),
            Action::Overhead(ns) => {
                let start = self.now;
                self.now += ns;
                self.record(start, self.now, What::Overhead);
            }
            Action::Plant(fault) => self.planted = Some((fault, self.now)),
            Action::Planted => {
                if let Some((fault, start)) = self.planted.take() {
                    self.batch.sites.push(FaultSite { fault, start, end: self.now });
                }
            }
        }
    }

    /// A key for chance that depends on the place in the program only.
    fn draw(&mut self) -> Option<u64> {
        if self.planted.is_some() {
            return None;
        }
        self.draws += 1;
        let place = (u64::from(self.rank) << 44) ^ (u64::from(self.step) << 22) ^ self.draws;
        Some(mix(self.plan.seed).wrapping_add(place))
    }

    fn vary_host(&mut self, ns: i64) -> i64 {
        let varied = self.draw().map_or(ns, |key| jittered(ns, HOST_JITTER, key));
        varied * self.slow_host / 100
    }

    fn vary_launch(&mut self, ns: i64) -> i64 {
        self.vary_host(ns) * self.launching / 100
    }

    fn vary_gpu(&mut self, ns: i64) -> i64 {
        self.draw().map_or(ns, |key| jittered(ns, GPU_JITTER, key))
    }

    /// When the host goes on if it waits until then; now, if nothing ever waits.
    fn after_waiting_for(&self, until: i64) -> i64 {
        if self.synchronising || self.step >= self.plan.first_step + self.plan.steps {
            self.now.max(until)
        } else {
            self.now
        }
    }

    fn device_ready(&self) -> i64 {
        STREAMS.iter().map(|stream| self.streams[stream.index()].ready).max().unwrap_or(0)
    }

    fn work(&mut self, ns: i64) {
        self.now += self.vary_host(ns);
    }

    fn record(&mut self, start: i64, end: i64, what: What) {
        if self.recording {
            self.batch.events.push(Event { start, end, what });
        }
    }
}
