//! `gpuscope critical-path`

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gpuscope_analysis::critical_path::{Instances, WindowOf};
use gpuscope_analysis::{Annotations, CriticalPath};
use gpuscope_job::convert::{Addition, Conversion, convert};
use gpuscope_job::{JobOptions, Run};

use super::convert::{destination, is_trace_name};
use super::options;
use crate::Console;
use crate::args::{Asked, OutputArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Names listed before the rest is left out.
const MOST_LISTED: usize = 8;

pub(crate) fn run(
    asked: &Asked,
    annotation: Option<String>,
    instance: (usize, usize),
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let instances = Instances { first: instance.0, last: instance.1 };
    let window = match annotation {
        Some(containing) if containing.is_empty() => WindowOf::Everything,
        Some(containing) => WindowOf::Annotation { containing, instances },
        None => WindowOf::MedianStep,
    };
    let question = CriticalPath { window };
    match asked.output.output.as_deref().filter(|file| is_trace_name(file) && !asked.output.json) {
        Some(file) => overlay(question, file, asked, console),
        None => answer(&question, asked, console),
    }
}

fn answer(question: &CriticalPath, asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::with_charts(&asked.output, console)?;
    let run = console.open(&asked.traces, options(asked, console)?)?;
    let outcome = run.ask(question)?;
    if outcome.answer.window.is_empty() {
        finds(&question.window, &run)?;
    }
    output.write_drawn("critical-path", &outcome, console)?;
    Ok(Exit::DONE)
}

/// An error if annotations are wanted and no rank has such.
fn finds(window: &WindowOf, run: &Run) -> Result<(), Failure> {
    let WindowOf::Annotation { containing, instances } = window else { return Ok(()) };
    let rows = run.ask(&Annotations::default())?.answer.rows;
    let mut there: BTreeMap<u32, u64> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.name.contains(containing.as_str())) {
        *there.entry(row.rank).or_default() += row.count;
    }
    let most = there.into_values().max().unwrap_or(0);
    if most > instances.first as u64 {
        return Ok(());
    }
    if most > 0 {
        return Err(Failure::usage(
            format!("--instance {}: `{containing}` occurs {most} times, counted from 0", instances.first),
            "give a lower number",
        ));
    }
    let names: BTreeSet<&str> = rows.iter().map(|row| &*row.name).collect();
    let shown: Vec<&str> = names.iter().take(MOST_LISTED).copied().collect();
    let more = if names.len() > MOST_LISTED { ", …" } else { "" };
    let present = if shown.is_empty() {
        "there are none".to_owned()
    } else {
        format!("there are {}{more}", shown.join(", "))
    };
    Err(Failure::usage(
        format!("--annotation {containing}: no annotation has that in its name; {present}"),
        "see them all with `gpuscope annotations`",
    ))
}

/// The trace with its path marked, for a viewer.
fn overlay(
    question: CriticalPath,
    file: &Path,
    asked: &Asked,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let mut destination = destination(file, console)?;
    let run = console.open(&asked.traces, JobOptions { keep_host_only: true, ..options(asked, console)? })?;
    finds(&question.window, &run)?;
    let conversion = Conversion {
        one_rank: asked.selection.rank.is_some(),
        add: vec![Addition::CriticalPath(question)],
        ..Conversion::default()
    };
    let outcome = convert(&run, &conversion, &mut destination, &console.files)?;
    let shown = OutputArgs { output: None, ..asked.output.clone() };
    Output::new(&shown, console)?.write("critical-path", &outcome, console)?;
    Ok(Exit::DONE)
}
