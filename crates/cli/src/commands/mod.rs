//! One short file per command.

mod analyze;
mod annotations;
mod bandwidth;
mod bench;
mod breakdown;
mod check;
mod collectives;
mod compile;
mod completions;
mod convert;
mod counters;
mod critical_path;
mod demo;
mod diff;
mod flame;
mod history;
mod hta;
mod idle;
mod inference;
mod info;
mod kernels;
mod launches;
mod layers;
mod limits;
mod memory;
mod op_kernels;
mod ops;
mod overlap;
mod patterns;
mod phases;
mod plot;
mod profile;
mod queue;
mod serve;
mod stacks;
mod stragglers;
mod temporal;
mod throughput;
mod timeline;
mod view;
mod whatif;

use std::sync::Arc;

use gpuscope_analysis::whatif::NamePattern;
use gpuscope_analysis::{Patterns, Question, Queue};
use gpuscope_figure::Pictured;
use gpuscope_job::{JobOptions, Outcome, Progress};
use gpuscope_trace::{Criteria, KindRules, Ns, StepMarker};
use gpuscope_work::Models;
use regex_lite::Regex;

use crate::Console;
use crate::args::{Asked, Command, ReadingArgs, SelectionArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::progress::Bar;
use crate::session::{Session, Wanted};

pub(crate) fn run(command: Command, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match command {
        Command::Analyze(asked) => analyze::run(&asked, console),
        Command::Info(asked) => info::run(&asked, console),
        Command::Breakdown { asked, micro_idle_us } => breakdown::run(&asked, micro_idle_us, console),
        Command::Temporal(asked) => temporal::run(&asked, console),
        Command::Kernels { asked, num_kernels, duration_ratio, exclude_memory } => {
            kernels::run(&asked, num_kernels, duration_ratio, exclude_memory, console)
        }
        Command::Overlap(asked) => overlap::run(&asked, console),
        Command::Idle { asked, consecutive_kernel_delay_us } => {
            idle::run(&asked, consecutive_kernel_delay_us, console)
        }
        Command::Launches { asked, runtime_cutoff_us, launch_delay_cutoff_us } => {
            launches::run(&asked, runtime_cutoff_us, launch_delay_cutoff_us, console)
        }
        Command::Queue { asked, series, max_queue_length } => {
            queue::run(&asked, Queue { series, max_length: max_queue_length }, console)
        }
        Command::Bandwidth { asked, series } => bandwidth::run(&asked, series, console),
        Command::Patterns { asked, operator, min_pattern_len, top_k } => {
            patterns::run(&asked, &Patterns { operator, min_length: min_pattern_len, top: top_k }, console)
        }
        Command::Phases(asked) => phases::run(&asked, console),
        Command::Layers { asked, depth } => layers::run(&asked, depth, console),
        Command::Throughput(asked) => throughput::run(&asked, console),
        Command::Stacks { asked, wanted } => stacks::run(&asked, &wanted, console),
        Command::Flame { asked, wanted } => flame::run(&asked, &wanted, console),
        Command::OpKernels(asked) => op_kernels::run(&asked, console),
        Command::Ops(asked) => ops::run(&asked, console),
        Command::Memory { asked, series } => memory::run(&asked, series, console),
        Command::CriticalPath { asked, annotation, instance } => {
            critical_path::run(&asked, annotation, instance, console)
        }
        Command::Plot(asked) => plot::run(&asked, console),
        Command::Collectives { asked, gpus_per_node } => collectives::run(&asked, gpus_per_node, console),
        Command::Stragglers(asked) => stragglers::run(&asked, console),
        Command::Inference { asked, capture } => inference::run(&asked, &capture, console),
        Command::Counters(asked) => counters::run(&asked, console),
        Command::Annotations { asked, gpu, cpu, kernels } => {
            annotations::run(&asked, (gpu, cpu), kernels, console)
        }
        Command::Timeline(asked) => timeline::run(&asked, console),
        Command::View(wanted) => view::run(&wanted, console),
        Command::Serve(wanted) => serve::run(&wanted, console),
        Command::Mcp(wanted) => serve::mcp(&wanted),
        Command::Whatif { changes, asked } => whatif::run(&asked, &changes, console),
        Command::Diff { asked, tree: true, .. } => diff::tree(&asked, console),
        Command::Diff { asked, against, fail_on, tree: false } => {
            diff::run(&asked, against, fail_on.as_deref(), console)
        }
        Command::Profile(asked) => profile::run(&asked, console),
        Command::Hta(asked) => hta::run(&asked, console),
        Command::Compile(asked) => compile::run(&asked, console),
        Command::Bench(asked) => bench::run(&asked, console),
        Command::History(asked) => history::run(&asked, console),
        Command::Convert(asked) => convert::run(&asked, console),
        Command::Check(asked) => check::run(&asked, console),
        Command::Demo(demo) => demo::run(&demo, console),
        Command::Completions { shell } => completions::run(shell, console),
        Command::Limits { file, what } => limits::run(&file, what, console),
    }
}

/// Puts a question to the traces and shows the answer.
fn answer<Q: Question>(
    command: &str,
    question: &Q,
    asked: &Asked,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let output = Output::new(&asked.output, console)?;
    let outcome = ask(question, asked, options(asked, console)?, console)?;
    output.write(command, &outcome, console)?;
    Ok(Exit::DONE)
}

/// The same for an answer that can be drawn: pages and paper get its charts, and it can be a picture.
fn answer_drawn<Q: Question>(
    command: &str,
    question: &Q,
    asked: &Asked,
    console: &mut Console<'_>,
) -> Result<Exit, Failure>
where
    Q::Answer: Pictured,
{
    let output = Output::with_charts(&asked.output, console)?;
    let outcome = ask(question, asked, options(asked, console)?, console)?;
    output.write_drawn(command, &outcome, console)?;
    Ok(Exit::DONE)
}

/// Where charts show a course over time: whether it has to be found out, and where to the answer goes.
fn with_course<'a>(
    asked: &'a Asked,
    series: bool,
    console: &Console<'_>,
) -> Result<(bool, Output<'a>), Failure> {
    let output = Output::with_charts(&asked.output, console)?;
    let only_drawn = (output.draws() || console.wants(Wanted::Figures)) && !series;
    Ok(if only_drawn { (true, output.without_points()) } else { (series, output) })
}

/// Reads the traces.
fn ask<Q: Question>(
    question: &Q,
    asked: &Asked,
    options: JobOptions,
    console: &Console<'_>,
) -> Result<Outcome<Q::Answer>, Failure> {
    let run = console.open(&asked.traces, options)?;
    Ok(run.ask(question)?)
}

pub(crate) fn options(asked: &Asked, console: &Console<'_>) -> Result<JobOptions, Failure> {
    options_of(&asked.selection, &asked.reading, console)
}

pub(crate) fn options_of(
    selection: &SelectionArgs,
    reading: &ReadingArgs,
    console: &Console<'_>,
) -> Result<JobOptions, Failure> {
    if let (Some(from), Some(to)) = (selection.from, selection.to)
        && from >= to
    {
        return Err(Failure::usage(
            format!("--from {from} --to {to}: nothing lies between, as times are in nanoseconds"),
            "give a --to after --from",
        ));
    }
    let criteria = Criteria {
        device: selection.device,
        stream: selection.stream,
        steps: selection.step,
        from: selection.from.map(Ns),
        to: selection.to.map(Ns),
        drop_last_step: selection.drop_last_step,
    };
    Ok(JobOptions {
        rank: selection.rank,
        rank_regex: reading.rank_regex.clone(),
        select_capture: reading.select_capture.clone(),
        memory: reading.memory,
        criteria,
        rules: rules(reading.classify.as_deref(), console)?,
        step_marker: selection.step_marker.as_deref().map(marker).transpose()?,
        progress: progress(console),
        stop: console.session.as_ref().map(|session| Arc::clone(&session.stop)),
        ..JobOptions::default()
    })
}

fn progress(console: &Console<'_>) -> Option<Box<dyn Progress>> {
    let watched = console.session.as_ref().and_then(Session::progress);
    watched
        .map(|watched| Box::new(watched) as Box<dyn Progress>)
        .or_else(|| console.terminal.watched.then(|| Box::new(Bar::new()) as Box<dyn Progress>))
}

/// Names that an expression is found in.
fn names(flag: &str, pattern: &str) -> Result<NamePattern, Failure> {
    let expression = Regex::new(pattern).map_err(|error| {
        Failure::usage(
            format!("{flag} {pattern}: {error}"),
            "the expression is searched for in the names of kernels and host events",
        )
    })?;
    Ok(NamePattern::new(pattern, move |name| expression.is_match(name)))
}

fn marker(pattern: &str) -> Result<StepMarker, Failure> {
    let expression = Regex::new(pattern).map_err(|error| {
        Failure::usage(
            format!("--step-marker {pattern}: {error}"),
            "the expression is matched against the names of annotations: --step-marker '^train_step'",
        )
    })?;
    Ok(StepMarker::new(move |name| expression.is_match(name)))
}

/// The user's work models, before the built-in ones.
fn models(file: &std::path::Path, console: &Console<'_>) -> Result<Models, Failure> {
    console.files.reads(file)?;
    let unreadable = |message: String| Failure::Unreadable { path: file.display().to_string(), message };
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
    Models::with_user(&text).map_err(|error| unreadable(error.to_string()))
}

/// The built-in rules, after those of the user.
fn rules(file: Option<&std::path::Path>, console: &Console<'_>) -> Result<KindRules, Failure> {
    let Some(file) = file else { return Ok(KindRules::default()) };
    console.files.reads(file)?;
    let unreadable = |message: String| Failure::Unreadable { path: file.display().to_string(), message };
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
    let own = KindRules::parse(&text).map_err(|error| unreadable(error.trim_end().to_owned()))?;
    Ok(own.before(KindRules::default()))
}
