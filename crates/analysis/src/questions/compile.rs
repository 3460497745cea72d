//! What did torch.compile compile, how long did that take, where did it stop following the program, and what did it fuse?
//!
//! From the structured log of each process. Times are those that torch marks itself: every nanosecond belongs to the
//! innermost phase that was under way on the compiling thread, so that phases add up to the compile time; threads that
//! help are listed and not added. Graph breaks at one line for one reason are one row, however often frames met them.
//!
//! Operators before fusion are the calls in the graphs that inductor was given (forward and inference, and backward once
//! it is compiled), less views, which launch nothing either way; kernels after it are the launches in the code that
//! inductor wrote. Their ratio is 1 where nothing was fused.

mod advice;
mod breaks;
mod fusion;
mod recompiles;
mod spent;
mod table;

use gpuscope_trace::compile_log::{Cache, Compilation, CompileLog, Lookup};
use gpuscope_trace::{Holds, Ns, Payload, View};
use serde::Serialize;

use crate::Question;

pub use breaks::Break;
pub use recompiles::Recompile;
pub use spent::{Phase, PhaseTime, Timed};

use fusion::Fusion;
use spent::{Spent, Times};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CompileAnswer {
    /// Of the rank that compiled longest: ranks compile at the same time.
    pub compile_time_ns: Ns,
    /// Places in the program where graphs broke, over all ranks.
    pub total_graph_breaks: u64,
    pub total_recompiles: u64,
    pub ops_before_fusion: u64,
    pub ops_after_fusion: u64,
    /// Null where nothing was compiled to kernels.
    pub fusion_ratio: Option<f64>,
    pub recommendations: Vec<String>,
    pub ranks: Vec<RankSummary>,
    pub frames: Vec<Frame>,
    pub breaks: Vec<Break>,
    pub recompiles: Vec<Recompile>,
    pub phases: Vec<PhaseTime>,
    pub timed: Vec<Timed>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankSummary {
    pub rank: u32,
    pub torch_version: Option<String>,
    pub compilations: u64,
    pub failed: u64,
    pub compile_ns: Ns,
    pub graph_breaks: u64,
    pub recompiles: u64,
    pub ops_before_fusion: u64,
    pub ops_after_fusion: u64,
    pub fusion_ratio: Option<f64>,
    pub cache_hits: u64,
    pub cache_misses: u64,
    pub cache_bypasses: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Compiled,
    Failed,
    /// The log does not say how it ended.
    Unfinished,
}

impl Status {
    pub fn label(self) -> &'static str {
        match self {
            Status::Compiled => "compiled",
            Status::Failed => "failed",
            Status::Unfinished => "unfinished",
        }
    }
}

/// One frame compiled once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Frame {
    pub rank: u32,
    pub compile_id: String,
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<i64>,
    pub status: Status,
    pub attempts: u32,
    pub compile_ns: Ns,
    #[serde(flatten)]
    pub times: Times,
    pub graph_breaks: u64,
    pub guards: Option<i64>,
    /// Operators of the graph as the program was written.
    pub ops_captured: u64,
    pub ops_before_fusion: u64,
    pub views: u64,
    /// Null for code whose launches cannot be counted.
    pub ops_after_fusion: Option<u64>,
    pub fusion_ratio: Option<f64>,
    pub cache_hits: u64,
    pub cache_misses: u64,
    pub fail_reason: Option<String>,
    /// The lines of the program that led here, outermost first.
    pub called_from: Vec<String>,
}

/// What torch.compile did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compile;

impl Question for Compile {
    type Local = CompileAnswer;
    type Answer = CompileAnswer;

    fn reads(&self) -> &'static [Holds] {
        &[Holds::CompileLog]
    }

    fn local(&self, rank: u32, view: View<'_>) -> CompileAnswer {
        match &view.trace.payload {
            Some(Payload::CompileLog(log)) => local(rank, log),
            _ => CompileAnswer::default(),
        }
    }

    fn merge(&self, locals: Vec<CompileAnswer>) -> CompileAnswer {
        merge(locals)
    }
}

/// What one process contributes.
pub fn local(rank: u32, log: &CompileLog) -> CompileAnswer {
    let spent = Spent::of(log);
    let frames: Vec<Frame> = log
        .compilations
        .iter()
        .zip(&spent.by_compilation)
        .map(|(compilation, times)| frame(rank, compilation, *times))
        .collect();
    let breaks = breaks::breaks(rank, log);
    let recompiles = recompiles::recompiles(rank, log, &frames);
    let found = |wanted| log.compilations.iter().map(|compilation| lookups(compilation, wanted)).sum();
    let fusion = total(&frames);
    let summary = RankSummary {
        rank,
        torch_version: log.torch_version.clone(),
        compilations: frames.len() as u64,
        failed: frames.iter().filter(|frame| frame.status == Status::Failed).count() as u64,
        compile_ns: frames.iter().map(|frame| frame.compile_ns).sum(),
        graph_breaks: breaks.len() as u64,
        recompiles: recompiles.len() as u64,
        ops_before_fusion: fusion.before,
        ops_after_fusion: fusion.after.unwrap_or(0),
        fusion_ratio: fusion.ratio(),
        cache_hits: found(Lookup::Hit),
        cache_misses: found(Lookup::Miss),
        cache_bypasses: found(Lookup::Bypass),
    };
    let phases = spent::phases(rank, &frames);
    let timed = spent.timed(rank);
    CompileAnswer {
        ranks: vec![summary],
        frames,
        breaks,
        recompiles,
        phases,
        timed,
        ..CompileAnswer::default()
    }
}

/// The answer of all processes, in the order of their ranks.
pub fn merge(locals: Vec<CompileAnswer>) -> CompileAnswer {
    let mut all = CompileAnswer::default();
    for local in locals {
        all.ranks.extend(local.ranks);
        all.frames.extend(local.frames);
        all.breaks.extend(local.breaks);
        all.recompiles.extend(local.recompiles);
        all.phases.extend(local.phases);
        all.timed.extend(local.timed);
    }
    let fusion = total(&all.frames);
    all.compile_time_ns = all.ranks.iter().map(|rank| rank.compile_ns).max().unwrap_or_default();
    all.total_graph_breaks = breaks::places(&all.breaks);
    all.total_recompiles = all.recompiles.len() as u64;
    (all.ops_before_fusion, all.ops_after_fusion) = (fusion.before, fusion.after.unwrap_or(0));
    all.fusion_ratio = fusion.ratio();
    all.recommendations = advice::recommendations(&all);
    all
}

fn frame(rank: u32, compilation: &Compilation, times: Times) -> Frame {
    let fusion = Fusion::of(&compilation.pieces);
    let metrics = &compilation.metrics;
    let status = match (&metrics.fail_type, compilation.ended) {
        (Some(_), _) => Status::Failed,
        (None, true) => Status::Compiled,
        (None, false) => Status::Unfinished,
    };
    let callers = compilation.stack.split_last().map_or(&[][..], |(_, callers)| callers);
    Frame {
        rank,
        compile_id: compilation.id.to_string(),
        function: compilation.code.function.clone(),
        file: compilation.code.file.clone(),
        line: compilation.code.line,
        status,
        attempts: compilation.attempts,
        compile_ns: times.sum(),
        times,
        graph_breaks: compilation.breaks.len() as u64,
        guards: metrics.guards,
        ops_captured: fusion::captured(&compilation.pieces),
        ops_before_fusion: fusion.before,
        views: fusion.views,
        ops_after_fusion: fusion.after,
        fusion_ratio: fusion.ratio(),
        cache_hits: lookups(compilation, Lookup::Hit),
        cache_misses: lookups(compilation, Lookup::Miss),
        fail_reason: metrics.fail_reason.as_deref().map(breaks::first_line),
        called_from: breaks::of_program(callers),
    }
}

/// Graphs looked up in inductor's cache with this outcome; what autograd's cache holds is looked up there, too.
fn lookups(compilation: &Compilation, wanted: Lookup) -> u64 {
    compilation.caches.iter().filter(|lookup| **lookup == (Cache::FxGraph, wanted)).count() as u64
}

/// Over frames whose kernels could be counted.
fn total(frames: &[Frame]) -> Fusion {
    let mut total = Fusion::default();
    for frame in frames {
        let Some(after) = frame.ops_after_fusion else { continue };
        total.before += frame.ops_before_fusion;
        total.views += frame.views;
        total.after = Some(total.after.unwrap_or(0) + after);
    }
    total
}

#[cfg(test)]
mod tests;
