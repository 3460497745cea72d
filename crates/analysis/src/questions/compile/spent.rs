//! Where the compile time went.

use std::collections::BTreeMap;

use gpuscope_trace::compile_log::{Compilation, CompileLog, Edge, Mark};
use gpuscope_trace::{Ns, StrId};
use serde::Serialize;

use super::Frame;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Following the program's bytecode, and guards.
    Dynamo,
    /// Tracing the forward and backward graphs.
    Aot,
    /// Passes over graphs, lowering.
    Inductor,
    /// Scheduling, fusing and writing code.
    Codegen,
    /// Compilers of C++ and Triton, and loading what they made.
    Kernels,
    /// Trying kernels out.
    Autotune,
    Other,
}

const PHASES: [Phase; 7] = [
    Phase::Dynamo,
    Phase::Aot,
    Phase::Inductor,
    Phase::Codegen,
    Phase::Kernels,
    Phase::Autotune,
    Phase::Other,
];

impl Phase {
    pub fn label(self) -> &'static str {
        match self {
            Phase::Dynamo => "dynamo",
            Phase::Aot => "aot",
            Phase::Inductor => "inductor",
            Phase::Codegen => "codegen",
            Phase::Kernels => "kernels",
            Phase::Autotune => "autotune",
            Phase::Other => "other",
        }
    }

    /// The phase that an event begins; others belong to what they are in.
    fn begun_by(event: &str) -> Option<Phase> {
        Some(match event {
            "dynamo" | "entire_frame_compile" | "bytecode_tracing" | "build_guards" => Phase::Dynamo,
            "backend_compile"
            | "entire_backward_compile"
            | "create_aot_dispatcher_function"
            | "min_cut_rematerialization_partition" => Phase::Aot,
            "inductor_compile"
            | "fx_codegen_and_compile"
            | "_recursive_pre_grad_passes"
            | "_recursive_joint_graph_passes"
            | "_recursive_post_grad_passes" => Phase::Inductor,
            "code_gen" | "GraphLowering.codegen" | "Scheduler.codegen" => Phase::Codegen,
            "compile_file"
            | "async_compile.wait"
            | "async_compile.precompile"
            | "PyCodeCache.load_by_key_path" => Phase::Kernels,
            _ if event.contains("benchmark") || event.contains("utotun") => Phase::Autotune,
            _ if event.starts_with("compile_fx.") => Phase::Inductor,
            _ => return None,
        })
    }
}

/// Time in each phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_field_names, reason = "every duration is named after its unit")]
pub struct Times {
    pub dynamo_ns: Ns,
    pub aot_ns: Ns,
    pub inductor_ns: Ns,
    pub codegen_ns: Ns,
    pub kernels_ns: Ns,
    pub autotune_ns: Ns,
    pub other_ns: Ns,
}

impl Times {
    pub fn sum(self) -> Ns {
        PHASES.into_iter().map(|phase| self.of(phase)).sum()
    }

    fn of(mut self, phase: Phase) -> Ns {
        *self.place(phase)
    }

    fn place(&mut self, phase: Phase) -> &mut Ns {
        match phase {
            Phase::Dynamo => &mut self.dynamo_ns,
            Phase::Aot => &mut self.aot_ns,
            Phase::Inductor => &mut self.inductor_ns,
            Phase::Codegen => &mut self.codegen_ns,
            Phase::Kernels => &mut self.kernels_ns,
            Phase::Autotune => &mut self.autotune_ns,
            Phase::Other => &mut self.other_ns,
        }
    }

    /// From what torch adds up itself, where the log has no events.
    fn measured(compilation: &Compilation) -> Times {
        let metrics = &compilation.metrics;
        let or_zero = |time: Option<Ns>| time.unwrap_or_default();
        let part = |whole: Option<Ns>, of_it: Option<Ns>| (or_zero(whole) - or_zero(of_it)).max(Ns::ZERO);
        Times {
            dynamo_ns: part(metrics.whole, metrics.backend),
            aot_ns: part(metrics.backend, metrics.inductor),
            inductor_ns: part(metrics.inductor, metrics.code_gen),
            codegen_ns: or_zero(metrics.code_gen),
            ..Times::default()
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PhaseTime {
    pub rank: u32,
    pub phase: Phase,
    pub time_ns: Ns,
    pub pct: f64,
}

/// One sort of event that torch times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timed {
    pub rank: u32,
    pub name: String,
    pub phase: Phase,
    pub count: u64,
    pub total_ns: Ns,
    /// Less what is timed inside; null on threads that help, whose time is no part of the compile time.
    pub own_ns: Option<Ns>,
}

/// An event that has begun.
struct Open {
    name: StrId,
    compilation: u32,
    start: Ns,
    /// Of the events inside.
    inside: Ns,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    total: Ns,
    own: Ns,
}

/// Ends come innermost first, but for damage: looking further out than this would be work for nothing.
const DEEPEST: usize = 256;

/// What the marks of a log add up to.
pub(super) struct Spent<'l> {
    log: &'l CompileLog,
    pub by_compilation: Vec<Times>,
    /// By phase and name; of the compiling thread, and of helping ones.
    sums: BTreeMap<(Phase, StrId), Sum>,
    helping: BTreeMap<StrId, Sum>,
    open: Vec<Open>,
}

impl<'l> Spent<'l> {
    pub(super) fn of(log: &'l CompileLog) -> Spent<'l> {
        let by_compilation = vec![Times::default(); log.compilations.len()];
        let mut spent =
            Spent { log, by_compilation, sums: BTreeMap::new(), helping: BTreeMap::new(), open: Vec::new() };
        let mut helping: BTreeMap<StrId, Vec<Ns>> = BTreeMap::new();
        for mark in &log.marks {
            match (mark.compilation, mark.edge) {
                (Some(compilation), Edge::Begin) => spent.begin(mark, compilation),
                (Some(compilation), Edge::End) => spent.end(mark, compilation),
                (None, Edge::Begin) => helping.entry(mark.name).or_default().push(mark.at),
                (None, Edge::End) => {
                    if let Some(start) = helping.get_mut(&mark.name).and_then(Vec::pop) {
                        let sum = spent.helping.entry(mark.name).or_default();
                        sum.count += 1;
                        sum.total += (mark.at - start).max(Ns::ZERO);
                    }
                }
            }
        }
        // The process ended on the way.
        let last = log.marks.last().map_or(Ns::ZERO, |mark| mark.at);
        while !spent.open.is_empty() {
            spent.close(last);
        }
        for (times, compilation) in spent.by_compilation.iter_mut().zip(&log.compilations) {
            if *times == Times::default() {
                *times = Times::measured(compilation);
            }
        }
        spent
    }

    fn begin(&mut self, mark: &Mark, compilation: u32) {
        let around = self.open.last().map_or(Phase::Other, |open| open.phase);
        let phase = Phase::begun_by(self.log.names.get(mark.name)).unwrap_or(around);
        self.open.push(Open { name: mark.name, compilation, start: mark.at, inside: Ns::ZERO, phase });
    }

    /// What is still open inside has ended too; an end without a beginning says nothing.
    fn end(&mut self, mark: &Mark, compilation: u32) {
        let is_it = |open: &Open| (open.name, open.compilation) == (mark.name, compilation);
        let Some(depth) = self.open.iter().rev().take(DEEPEST).position(is_it) else { return };
        for _ in 0..=depth {
            self.close(mark.at);
        }
    }

    fn close(&mut self, at: Ns) {
        let Some(open) = self.open.pop() else { return };
        let total = (at - open.start).max(Ns::ZERO);
        let own = (total - open.inside).max(Ns::ZERO);
        if let Some(around) = self.open.last_mut() {
            around.inside += total;
        }
        *self.by_compilation[open.compilation as usize].place(open.phase) += own;
        let sum = self.sums.entry((open.phase, open.name)).or_default();
        sum.count += 1;
        sum.total += total;
        sum.own += own;
    }

    /// Largest first.
    pub(super) fn timed(&self, rank: u32) -> Vec<Timed> {
        let name = |id: StrId| self.log.names.get(id).to_owned();
        let row = |(phase, id): (Phase, StrId), sum: &Sum, own_ns: Option<Ns>| Timed {
            rank,
            name: name(id),
            phase,
            count: sum.count,
            total_ns: sum.total,
            own_ns,
        };
        let own = self.sums.iter().map(|(key, sum)| row(*key, sum, Some(sum.own)));
        let helping = self.helping.iter().map(|(id, sum)| {
            let phase = Phase::begun_by(self.log.names.get(*id)).unwrap_or(Phase::Other);
            row((phase, *id), sum, None)
        });
        let mut rows: Vec<Timed> = own.chain(helping).collect();
        rows.sort_by(|a, b| b.own_ns.cmp(&a.own_ns).then_with(|| b.total_ns.cmp(&a.total_ns)));
        rows
    }
}

/// The phases of a rank that took any time, in the order of a compilation.
pub(super) fn phases(rank: u32, frames: &[Frame]) -> Vec<PhaseTime> {
    let whole: Ns = frames.iter().map(|frame| frame.compile_ns).sum();
    let row = |phase: Phase| {
        let time_ns: Ns = frames.iter().map(|frame| frame.times.of(phase)).sum();
        PhaseTime { rank, phase, time_ns, pct: time_ns.pct_of(whole) }
    };
    PHASES.into_iter().map(row).filter(|row| row.time_ns > Ns::ZERO).collect()
}
