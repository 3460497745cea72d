//! What every question costs, beside reading the trace: CPU time of one thread, best of a few rounds.
//!
//! `cargo run --release -p gpuscope-analysis --example cost -- TRACE [ROUNDS] [QUESTION]`
//!
//! Each question starts from a fresh index, as its command does; `together` puts all of them to one index. With one
//! question named and one round, `callgrind --collect-atstart=no --toggle-collect='*measured*'` counts that
//! question alone.

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use gpuscope_analysis::critical_path::WindowOf;
use gpuscope_analysis::diff::{DiffAnswer, Side};
use gpuscope_analysis::ops::By;
use gpuscope_analysis::whatif::{Changes, NamePattern, Scale};
use gpuscope_analysis::{
    Analyze, Annotations, Bandwidth, Breakdown, Collectives, Counters, CriticalPath, Diff, Hta, Idle, Info,
    Kernels, Launches, Memory, OpKernels, Ops, Overlap, Patterns, Question, Queue, Stragglers, Temporal,
    WhatIf, quality,
};
use gpuscope_formats::{ReadOptions, read};
use gpuscope_trace::{Index, KindRules, Ns, Selection, Trace, View};
use nix::time::{ClockId, clock_gettime};

const TOGETHER: &str = "together";

type Ask = (&'static str, fn(View<'_>));

/// By command; `quality` is what every command looks for besides.
const QUESTIONS: [Ask; 23] = [
    ("quality", |view| drop(quality(0, view))),
    ("info", |view| ask(&Info, view)),
    ("breakdown", |view| ask(&Breakdown::default(), view)),
    ("temporal", |view| ask(&Temporal, view)),
    ("kernels", |view| ask(&Kernels::default(), view)),
    ("overlap", |view| ask(&Overlap, view)),
    ("idle", |view| ask(&Idle::default(), view)),
    ("launches", |view| ask(&Launches::default(), view)),
    ("queue", |view| ask(&Queue { series: true, ..Queue::default() }, view)),
    ("bandwidth", |view| ask(&Bandwidth { series: true }, view)),
    ("annotations", |view| ask(&Annotations { kernels: true, ..Annotations::default() }, view)),
    ("patterns", |view| ask(&Patterns::default(), view)),
    ("op-kernels", |view| ask(&OpKernels, view)),
    ("ops", |view| ask(&every_operator(), view)),
    ("counters", |view| ask(&Counters, view)),
    ("memory", |view| ask(&Memory { series: true }, view)),
    ("collectives", |view| ask(&Collectives::default(), view)),
    ("stragglers", |view| ask(&Stragglers, view)),
    ("critical-path", |view| ask(&CriticalPath::default(), view)),
    ("whatif", |view| ask(&WhatIf { changes: without_communication() }, view)),
    ("diff", compare),
    ("hta", |view| ask(&Hta, view)),
    ("analyze", |view| ask(&Analyze, view)),
];

/// Not what a command does unless told to, and so no part of `together`: long traces have more steps, not longer ones,
/// so that the path through one step says nothing of how the search for it grows.
const WHOLE_PATH: Ask = ("whole-path", |view| ask(&CriticalPath { window: WindowOf::Everything }, view));

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("which trace?")?;
    let rounds = args.next().map_or(Ok(3), |text| text.parse())?;
    let only = args.next();
    if let Some(only) = &only
        && !QUESTIONS.iter().chain([&WHOLE_PATH]).any(|(name, _)| name == only)
        && only != TOGETHER
    {
        return Err(format!("no question {only}").into());
    }
    let mut trace = load(Path::new(&path))?;
    if only.is_none() {
        let mut best = f64::MAX;
        for _ in 0..rounds {
            let begun = cpu_ms();
            trace = load(Path::new(&path))?;
            best = best.min(cpu_ms() - begun);
        }
        say("events", trace.elements as f64)?;
        say("reading", best)?;
    }
    let asked = QUESTIONS
        .into_iter()
        .chain([WHOLE_PATH])
        .filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name));
    for (name, question) in asked {
        say(name, best_of(rounds, &trace, &[question]))?;
    }
    if only.as_deref().is_none_or(|only| only == TOGETHER) {
        let all = QUESTIONS.map(|(_, question)| question);
        say(TOGETHER, best_of(rounds, &trace, &all))?;
    }
    Ok(())
}

fn load(path: &Path) -> Result<Trace, Box<dyn Error>> {
    Ok(read(File::open(path)?, ReadOptions::default())?.into_trace())
}

fn best_of(rounds: usize, trace: &Trace, questions: &[fn(View<'_>)]) -> f64 {
    let round = |_| {
        let index = Index::new(KindRules::default());
        let selection = Selection::everything();
        let begun = cpu_ms();
        measured(questions, View { trace, index: &index, selection: &selection });
        cpu_ms() - begun
    };
    (0..rounds).map(round).fold(f64::MAX, f64::min)
}

/// A function of its own, so that a profiler can be told to look at nothing else.
#[inline(never)]
fn measured(questions: &[fn(View<'_>)], view: View<'_>) {
    for question in questions {
        question(view);
    }
}

fn ask<Q: Question>(question: &Q, view: View<'_>) {
    std::hint::black_box(question.merge(vec![question.local(0, view)]));
}

/// The trace beside itself: two sides to take and to match.
fn compare(view: View<'_>) {
    let side = |rank| Side::run(&Diff.merge(vec![Diff.local(rank, view)]).0);
    std::hint::black_box(DiffAnswer::between(&side(0), &side(1)));
}

/// The full report.
fn every_operator() -> Ops {
    let short_kernels = Some(Ns::from_us(10));
    let by = By::Arguments;
    Ops { by, recompute: true, kernels: true, overlap: true, short_kernels, ..Ops::default() }
}

fn without_communication() -> Changes {
    let names = NamePattern::new("nccl", |name| name.contains("nccl"));
    Changes { scales: vec![Scale::new(names, 0.0)], ..Changes::default() }
}

fn cpu_ms() -> f64 {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or_else(|_| Duration::ZERO, Duration::from);
    now.as_secs_f64() * 1e3
}

fn say(what: &str, value: f64) -> io::Result<()> {
    writeln!(io::stdout(), "{what:14} {value:12.3}")
}
