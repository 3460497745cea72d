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
    plan: Plan,
    hardware: Hardware,
    programs: Vec<Program>,
    transfers: Vec<Transfer>,
}

/// What a profiler does before it records.
#[derive(Debug, Clone, Copy)]
enum Opening {
    AtOnce,
    Stall(i64),
    /// Nothing is in flight when the recording begins.
    Synchronised,
}

/// What all ranks have in common.
#[derive(Debug, Clone)]
struct Plan {
    kind: JobKind,
    shape: Shape,
    warm_up: u32,
    steps: u32,
    /// The number of the first step, which is not recorded.
    first: u32,
}

/// What a run came to.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The step time of the median rank of those that are recorded.
    pub step_ns: i64,
    pub(super) records: Vec<Record>,
}

impl Job {
    pub fn random(seed: u64) -> Job {
        let kind = JOB_KINDS[(seed % JOB_KINDS.len() as u64) as usize];
        let mut draw = Chance::new(seed, 1);
        let vendor = if draw.percent(30) { Vendor::Hip } else { Vendor::Cuda };
        let mut hardware = Hardware::random(&mut draw, vendor);
        let shape = Shape::random(kind, &mut draw);
        let ranks = if kind.has_several_ranks() { draw.between(2, 4) as usize } else { 1 };
        let mut warm_up = draw.between(2, 3) as u32;
        if kind == JobKind::GpuBound {
            let deep = draw.percent(25);
            hardware.queue_depth = if deep { 1022 } else { draw.between(32, 200) as usize };
            // The queue has to be full when the recording begins.
            warm_up = if deep { 20 } else { 4 };
        }
        let steps = draw.between(5, 8) as u32;
        let plan = Plan { kind, shape, warm_up, steps, first: draw.between(1, 12) as u32 };
        let computes: Vec<i64> =
            (0..warm_up + steps).map(|_| draw.around(1_000, plan.shape.uneven_per_mille) / 10).collect();
        let slow_rank = draw.percent(40).then(|| draw.between(0, ranks as i64 - 1) as usize);
        let slow = (draw.between(100, 140), draw.between(100, 130));
        let opening = match draw.between(1, 4) {
            1 => Opening::Synchronised,
            2 => Opening::Stall(draw.between(100, 3_000) * 1_000),
            _ => Opening::AtOnce,
        };
        let write = |rank: usize| {
            let (host, gpu) = if slow_rank == Some(rank) { slow } else { (100, 100) };
            let author = Author::new(&hardware, Chance::new(seed, 100 + rank as u64)).slowed(host, gpu);
            plan.write(author, &computes, opening, rank)
        };
        let (programs, mut operations): (Vec<Program>, Vec<_>) = (0..ranks).map(write).unzip();
        let transfers = transfers(&plan, &operations.swap_remove(0), &mut draw);
        Job { seed, plan, hardware, programs, transfers }
    }

    /// Runs the job with some changes; with none it is the job that is recorded.
    pub fn run(&self, changes: &[Change]) -> Outcome {
        let records = simulation::run(&self.hardware, &self.programs, &self.transfers, changes);
        Outcome { step_ns: step_of_all(&records[..self.recorded_ranks()]), records }
    }

    fn recorded_ranks(&self) -> usize {
        if self.kind() == JobKind::OneRank { 1 } else { self.ranks() }
    }

    /// What the profiler of each recorded rank wrote of a run.
    pub fn traces(&self, outcome: &Outcome) -> Vec<String> {
        let each = outcome.records.iter().zip(&self.programs).take(self.recorded_ranks()).enumerate();
        each.map(|(rank, (record, program))| {
            kineto::text(&self.hardware, &self.transfers, record, rank, self.programs.len(), program.clock_ns)
        })
        .collect()
    }

    pub fn kind(&self) -> JobKind {
        self.plan.kind
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

    /// Changes to ask about, drawn for this job: all but one of them matter, if so many do.
    pub fn changes(&self, count: usize) -> Vec<Change> {
        let mut draw = Chance::new(self.seed, 2);
        let mut candidates = self.candidates(&mut draw);
        let step_ns = self.run(&[]).step_ns;
        let mut chosen = Vec::new();
        while chosen.len() < count && !candidates.is_empty() {
            let index = draw.between(0, candidates.len() as i64 - 1) as usize;
            let change = candidates.swap_remove(index);
            let has_to_matter = chosen.len() + 1 < count && candidates.len() + chosen.len() >= count;
            if !has_to_matter || 50 * (self.run(&[change]).step_ns - step_ns).abs() >= step_ns {
                chosen.push(change);
            }
        }
        chosen
    }

    pub(super) fn candidates(&self, draw: &mut Chance) -> Vec<Change> {
        let names = self.gpu_names();
        let has_work = |part: &&str| names.iter().any(|name| name.contains(part));
        let parts =
            ["gemm", "elementwise", "softmax", "layer_norm", "multi_tensor", "Memcpy HtoD", "Memcpy DtoH"];
        let operators = [
            "aten::linear",
            "aten::conv2d",
            "aten::softmax",
            "DataLoader",
            "Optimizer.step",
            "evaluate_function",
        ];
        let mut changes = vec![
            Change::Gpu { part: None, percent: 50 },
            Change::NoSynchronisation,
            Change::NoLaunchOverhead,
        ];
        changes.extend(
            parts
                .into_iter()
                .filter(has_work)
                .map(|part| Change::Gpu { part: Some(part), percent: draw.pick(&[0, 25, 50, 150, 200]) }),
        );
        changes.extend(
            operators
                .into_iter()
                .filter(|part| self.has_span(part))
                .map(|part| Change::Host { part, percent: draw.pick(&[0, 50]) }),
        );
        if self.ranks() > 1 {
            changes.push(Change::Gpu { part: Some("nccl"), percent: 50 });
            changes.push(Change::Gpu { part: Some("nccl"), percent: draw.pick(&[0, 200]) });
        }
        changes
    }

    /// One line about what is special in the job.
    pub fn describe(&self) -> String {
        let vendor = if self.hardware.vendor == Vendor::Cuda { "CUDA" } else { "HIP" };
        let Shape { wait, exchange, input, .. } = &self.plan.shape;
        let mut said = vec![
            format!("{}, {vendor}, {} ranks, {} steps", self.kind().label(), self.ranks(), self.plan.steps),
            format!("queue of {}", self.hardware.queue_depth),
        ];
        if *wait != Wait::Nowhere {
            said.push(format!("waits: {wait:?}"));
        }
        if *exchange != Exchange::None {
            said.push(format!("exchange: {exchange:?}"));
        }
        if input.memory == Memory::Pageable {
            said.push("pageable input".to_owned());
        }
        let all = [
            (input.ahead, "input on a stream of its own"),
            (self.plan.shape.loader_ns > 0, "loader stalls"),
            (self.plan.shape.frees, "frees"),
            (self.hardware.sync_rows, "sync rows"),
            (self.hardware.early_start_percent > 0, "early starts"),
        ];
        said.extend(all.into_iter().filter(|(is, _)| *is).map(|(_, text)| text.to_owned()));
        said.join(", ")
    }
}

impl Plan {
    /// What a rank runs, and the operations of its transfers.
    fn write(
        &self,
        mut author: Author<'_>,
        computes: &[i64],
        opening: Opening,
        rank: usize,
    ) -> (Program, Vec<&'static str>) {
        let mut carried = Carried::default();
        for (number, &percent) in (self.first..).zip(computes) {
            if number == self.first + self.warm_up {
                match opening {
                    Opening::AtOnce => {}
                    Opening::Stall(ns) => author.work(ns),
                    Opening::Synchronised => author.synchronize(Target::Device),
                }
                author.start_recording();
                author.work(20_000);
            }
            author.step_computes(percent);
            step(&mut author, self.kind, &self.shape, number, &mut carried);
            author.work(4_000);
        }
        author.synchronize(Target::Device);
        author.work(5_000);
        let clock_ns = if rank == 0 { 0 } else { author.draw.between(-2_000_000, 2_000_000) };
        author.finish(clock_ns)
    }
}

/// How long the transfers take: the same ones alike in every step.
fn transfers(plan: &Plan, operations: &[&'static str], draw: &mut Chance) -> Vec<Transfer> {
    let per_step = operations.len() / (plan.warm_up + plan.steps) as usize;
    let sizes: Vec<i64> = (0..per_step).map(|_| draw.around(plan.shape.transfer_ns, 400)).collect();
    let each = operations.iter().zip(sizes.iter().cycle());
    each.map(|(&operation, &ns)| Transfer { operation, elements: ns * 40, ns: draw.around(ns, 40) }).collect()
}
