//! A random job, and its runs.

use std::collections::BTreeSet;

use super::author::{Author, Memory};
use super::chance::Chance;
use super::change::Change;
use super::hardware::{Hardware, Vendor};
use super::kind::{JOB_KINDS, JobKind};
use super::kineto;
use super::program::{Effect, Instruction, Program, Target, Transfer};
use super::record::{Record, step_of_all};
use super::shape::{Exchange, Shape, Wait};
use super::simulation;
use super::steps::{Carried, step};

/// A job as written down: running it draws no more chance.
#[derive(Debug, Clone)]
pub struct Job {
    pub seed: u64,
    pub kind: JobKind,
    hardware: Hardware,
    shape: Shape,
    programs: Vec<Program>,
    transfers: Vec<Transfer>,
    steps: u32,
}

/// What a run came to.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The median rank's step time.
    pub step_ns: i64,
    records: Vec<Record>,
}

impl Job {
    pub fn random(seed: u64) -> Job {
        let kind = JOB_KINDS[(seed % JOB_KINDS.len() as u64) as usize];
        let mut draw = Chance::new(seed, 1);
        let vendor = if draw.percent(30) { Vendor::Hip } else { Vendor::Cuda };
        let mut hardware = Hardware::random(&mut draw, vendor);
        if kind == JobKind::GpuBound {
            hardware.queue_depth = draw.between(32, 160) as usize;
        }
        let shape = Shape::random(kind, &mut draw);
        let ranks = if kind == JobKind::Distributed { draw.between(2, 4) as usize } else { 1 };
        let (warm_up, steps) = (draw.between(2, 3) as u32, draw.between(4, 8) as u32);
        let first = draw.between(1, 12) as u32;
        let slow_rank = draw.percent(40).then(|| draw.between(0, ranks as i64 - 1) as usize);
        let slow = (draw.between(100, 140), draw.between(100, 130));
        let opening_ns = if draw.percent(50) { draw.between(100, 3_000) * 1_000 } else { 0 };
        let mut programs = Vec::new();
        for rank in 0..ranks {
            let (host, gpu) = if slow_rank == Some(rank) { slow } else { (100, 100) };
            let mut author = Author::new(&hardware, Chance::new(seed, 100 + rank as u64)).slowed(host, gpu);
            let mut carried = Carried::default();
            for index in 0..warm_up + steps {
                if index == warm_up {
                    author.work(opening_ns);
                    author.start_recording();
                    author.work(20_000);
                }
                step(&mut author, kind, &shape, first + index, &mut carried);
                author.work(4_000);
            }
            author.synchronize(Target::Device);
            author.work(5_000);
            let clock = if rank == 0 { 0 } else { author.draw.between(-2_000_000, 2_000_000) };
            programs.push(author.finish(clock));
        }
        let transfers = transfers(&shape, warm_up + steps, &mut draw);
        Job { seed, kind, hardware, shape, programs, transfers, steps }
    }

    /// Runs the job with some changes; with none it is the job that is recorded.
    pub fn run(&self, changes: &[Change]) -> Outcome {
        let records = simulation::run(&self.hardware, &self.programs, &self.transfers, changes);
        Outcome { step_ns: step_of_all(&records), records }
    }

    /// What the profiler of each rank wrote of a run.
    pub fn traces(&self, outcome: &Outcome) -> Vec<String> {
        let each = outcome.records.iter().zip(&self.programs).enumerate();
        each.map(|(rank, (record, program))| {
            kineto::text(&self.hardware, &self.transfers, record, rank, self.programs.len(), program.clock_ns)
        })
        .collect()
    }

    pub fn ranks(&self) -> usize {
        self.programs.len()
    }

    /// The names of all GPU work of the job.
    pub fn gpu_names(&self) -> BTreeSet<&'static str> {
        let launched = |instruction: &Instruction| match instruction {
            Instruction::Call(call) => match &call.effect {
                Effect::Launch(launch) => launch.tasks.iter().map(|task| task.name).collect(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        self.programs.iter().flat_map(|program| &program.instructions).flat_map(launched).collect()
    }

    fn has_span(&self, part: &str) -> bool {
        let opened = |instruction: &Instruction| matches!(instruction, Instruction::Open(span) if span.name().text.contains(part));
        self.programs.iter().any(|program| program.instructions.iter().any(opened))
    }

    /// Changes worth asking about, drawn for this job: as many of different kinds.
    pub fn changes(&self, count: usize) -> Vec<Change> {
        let mut draw = Chance::new(self.seed, 2);
        let names = self.gpu_names();
        let parts: Vec<&'static str> =
            ["gemm", "elementwise", "softmax", "layer_norm", "multi_tensor", "Memcpy HtoD"]
                .into_iter()
                .filter(|part| names.iter().any(|name| name.contains(part)))
                .collect();
        let operators: Vec<&'static str> = [
            "aten::linear",
            "aten::gelu",
            "aten::layer_norm",
            "DataLoader",
            "Optimizer.step",
            "evaluate_function",
        ]
        .into_iter()
        .filter(|part| self.has_span(part))
        .collect();
        let mut changes = vec![
            Change::Gpu { part: None, percent: 50 },
            Change::NoSynchronisation,
            Change::NoLaunchOverhead,
        ];
        for _ in 0..2 {
            if !parts.is_empty() {
                let part = Some(draw.pick(&parts));
                changes.push(Change::Gpu { part, percent: draw.pick(&[0, 50, 200]) });
            }
        }
        if !operators.is_empty() {
            let part = draw.pick(&operators);
            changes.push(Change::Host { part, percent: draw.pick(&[0, 50]) });
        }
        if self.ranks() > 1 {
            changes.push(Change::Gpu { part: Some("nccl"), percent: 50 });
        }
        while changes.len() > count {
            let gone = draw.between(0, changes.len() as i64 - 1) as usize;
            changes.remove(gone);
        }
        changes
    }

    /// One line about what is special in the job.
    pub fn describe(&self) -> String {
        let vendor = if self.hardware.vendor == Vendor::Cuda { "CUDA" } else { "HIP" };
        let Shape { wait, exchange, prefetch, input_memory, .. } = &self.shape;
        let mut said = vec![
            format!("{}, {vendor}, {} ranks, {} steps", self.kind.label(), self.ranks(), self.steps),
            format!("queue of {}", self.hardware.queue_depth),
        ];
        if *wait != Wait::Nowhere {
            said.push(format!("waits: {wait:?}"));
        }
        if *exchange != Exchange::None {
            said.push(format!("exchange: {exchange:?}"));
        }
        if *input_memory == Memory::Pageable {
            said.push("pageable input".to_owned());
        }
        let all = [
            (*prefetch, "input on a stream of its own"),
            (self.shape.loader_ns > 0, "loader stalls"),
            (self.shape.free_percent > 0, "frees"),
            (self.hardware.sync_rows, "sync rows"),
            (self.hardware.early_start_percent > 0, "early starts"),
        ];
        said.extend(all.into_iter().filter(|(is, _)| *is).map(|(_, text)| text.to_owned()));
        said.join(", ")
    }
}

fn transfers(shape: &Shape, steps: u32, draw: &mut Chance) -> Vec<Transfer> {
    let operation = match shape.exchange {
        Exchange::Gathered(_) => "_allgather_base",
        _ => "allreduce",
    };
    let count = shape.exchange.transfers_per_step();
    let sizes: Vec<i64> = (0..count).map(|_| draw.around(shape.transfer_ns, 400)).collect();
    let one = |ns: &i64| Transfer { operation, elements: ns * 40, ns: *ns };
    let mut all: Vec<Transfer> = (0..steps).flat_map(|_| sizes.iter().map(one)).collect();
    for transfer in &mut all {
        transfer.ns = draw.around(transfer.ns, 40);
    }
    all
}
