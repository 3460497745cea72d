//! `gpuscope bench`: measured runs shown, compared and gated. `bench run` itself is in Python, where models are.

use std::path::Path;

use gpuscope_bench::compare::{Comparison, Speedups};
use gpuscope_bench::data::{self, Measured, Side};
use gpuscope_bench::gate::{self, GateAnswer, Policy};
use gpuscope_bench::history::Series;
use gpuscope_bench::overview::{Best, Overview};
use gpuscope_bench::{Error, Metric};
use gpuscope_job::Outcome;
use gpuscope_report::{Lead, LeadNumber};
use gpuscope_table::Unit;

use super::history;
use crate::Console;
use crate::args::{BenchCommand, CompareArgs, Database, GateArgs, ReportArgs};
use crate::exit::{Exit, Failure};
use crate::output::{Output, unwritable, writable};
use crate::parse;

pub(crate) fn run(command: &BenchCommand, console: &mut Console<'_>) -> Result<Exit, Failure> {
    match command {
        BenchCommand::Run { .. } => Err(Failure::usage(
            "bench run: measuring needs a Python that has the package",
            "python -m gpuscope.bench run, or name an interpreter in GPUSCOPE_PYTHON",
        )),
        BenchCommand::Report(asked) => report(asked, console),
        BenchCommand::Compare(asked) => compare(asked, console),
        BenchCommand::Gate(asked) => gated(asked, console),
    }
}

/// An answer that rests on no traces.
pub(super) fn plain<A>(answer: A) -> Outcome<A> {
    Outcome { answer, inputs: Vec::new(), quality: Vec::new() }
}

fn report(asked: &ReportArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::with_charts(&asked.output)?;
    output.spare(|file| is_same(file, &asked.run))?;
    let mut sides = sides(&asked.run, &asked.database)?;
    // Of a comparison, what is to be.
    let Some(side) = sides.pop() else { return Ok(Exit::DONE) };
    let overview = Overview::of(side.measured);
    let count = overview.measured.benchmarks.len();
    let best = overview.best();
    let verdict = match best.first() {
        Some(best) if count > 1 => format!("The fastest of {count} configurations is {best}."),
        Some(best) => format!("{best}."),
        None => "No configuration was measured: gpuscope history show has the numbers of a trace.".to_owned(),
    };
    let number = |best: Best| LeadNumber {
        label: best.what.to_owned(),
        note: [Some(best.name), best.rate].into_iter().flatten().collect::<Vec<_>>().join(" · "),
        value: best.latency,
    };
    let lead = Lead {
        about: format!("{} · {}", asked.run, overview.title()),
        verdict,
        numbers: best.into_iter().map(number).collect(),
        panel: Some("system"),
    };
    output.leading(lead).write_drawn("bench report", &plain(overview), console)?;
    Ok(Exit::DONE)
}

fn compare(asked: &CompareArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::with_charts(&asked.output)?;
    output.spare(|file| asked.runs.iter().any(|run| is_same(file, run)))?;
    let mut all = Vec::new();
    for run in &asked.runs {
        all.extend(sides(run, &asked.database)?);
    }
    if all.len() < 2 {
        return Err(Failure::usage(
            format!("{}: a comparison takes two runs or more", asked.runs.join(" ")),
            "gpuscope bench compare before.json after.json",
        ));
    }
    let comparison = Comparison::of(&all);
    let number = |side: &String| {
        let Speedups { count, mean, least, most } = comparison.speedups(side)?;
        Some(LeadNumber {
            label: format!("{side} beside {}", comparison.sides[0]),
            value: format!("{mean:.2} ×"),
            note: if count == 1 { String::new() } else { format!("from {least:.2} × to {most:.2} ×") },
        })
    };
    let lead = Lead {
        about: comparison.sides.join(" · "),
        verdict: comparison.verdict.clone(),
        numbers: comparison.sides.iter().skip(1).filter_map(number).collect(),
        panel: None,
    };
    output.leading(lead).write_drawn("bench compare", &plain(comparison), console)?;
    Ok(Exit::DONE)
}

fn gated(asked: &GateArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::new(&asked.output)?;
    for file in asked.markdown.iter().chain(&asked.junit) {
        writable(file, false)?;
    }
    let least = asked.absolute.iter().map(|text| least(text)).collect::<Result<Vec<_>, _>>()?;
    if asked.significance <= 0.0 {
        return Err(Failure::usage(
            "--significance 0: no change is that sure",
            "leave it out, or give 0.001",
        ));
    }
    let policy = Policy {
        relative: asked.relative,
        level: asked.significance,
        newest: asked.newest.into(),
        ..Policy::default()
    };
    let least_change = |metric: &Metric| {
        let told = least.iter().rev().find(|least| least.is_about(metric));
        told.map_or_else(|| metric.least_change(), |least| least.value)
    };
    let (answer, about) = if let [before, after] = asked.runs.as_slice() {
        let answer = GateAnswer::of_two(&one(before, asked)?, &one(after, asked)?, &policy, least_change);
        (answer, format!("{before} · {after}"))
    } else {
        let about = history::path(&asked.database).display().to_string();
        let (series, not_measured_lately) = current_series(asked)?;
        let answer = GateAnswer::of(&series, &policy, least_change);
        (GateAnswer { not_measured_lately, ..answer }, about)
    };
    if let Some(file) = &asked.markdown {
        std::fs::write(file, answer.markdown()).map_err(|source| unwritable(file, source))?;
    }
    if let Some(file) = &asked.junit {
        std::fs::write(file, answer.junit()).map_err(|source| unwritable(file, source))?;
    }
    let exit = if answer.failed { Exit::FOUND } else { Exit::DONE };
    let verdict = answer.verdict();
    if answer.failed && asked.output.output.is_some() {
        writeln!(console.out, "failed: {verdict}")?;
    }
    let lead = Lead { about, verdict, ..Lead::default() };
    output.leading(lead).write("bench gate", &plain(answer), console)?;
    Ok(exit)
}

/// Of a comparison, what is to be.
fn one(run: &str, asked: &GateArgs) -> Result<Side, Failure> {
    let empty = || Failure::usage(format!("{run}: holds no run"), "gpuscope history list names them");
    sides(run, &asked.database)?.pop().ok_or_else(empty)
}

/// What the history has of what is meant, and how many numbers of it nobody measures any more.
fn current_series(asked: &GateArgs) -> Result<(Vec<Series>, usize), Failure> {
    let all = match history::existing(&asked.database)? {
        Some(history) => history.series(&history::wanted(&asked.wanted))?,
        None => Vec::new(),
    };
    if all.is_empty() {
        return Err(Failure::usage(
            format!("{}: no run of the history is meant", history::path(&asked.database).display()),
            "gpuscope history list shows what there is; gpuscope bench run and gpuscope history add add to it",
        ));
    }
    Ok(gate::still_measured(all))
}

/// What does not matter, of one metric or of all times.
#[derive(Debug)]
struct Least {
    metric: Option<String>,
    value: f64,
}

impl Least {
    fn is_about(&self, metric: &Metric) -> bool {
        match &self.metric {
            Some(name) => *name == metric.name,
            None => metric.unit == Unit::Ns,
        }
    }
}

fn least(text: &str) -> Result<Least, Failure> {
    let wrong = |message: String| {
        Failure::usage(
            format!("--absolute {text}: {message}"),
            "a time such as 0.1ms, or METRIC=VALUE such as peak_memory=64MiB or idle_share=1",
        )
    };
    let Some((name, value)) = text.rsplit_once('=') else {
        return Ok(Least { metric: None, value: parse::time(text).map_err(wrong)? as f64 });
    };
    let Some(metric) = Metric::known(name) else {
        return Err(wrong(format!("there is no metric {name}")));
    };
    let value = match metric.unit {
        Unit::Ns => parse::time(value).map(|ns| ns as f64),
        Unit::Bytes => parse::size(value).map(|bytes| bytes as f64),
        _ => parse::positive(value.trim_end_matches('%')),
    };
    Ok(Least { metric: Some(name.to_owned()), value: value.map_err(wrong)? })
}

fn is_same(file: &Path, run: &str) -> bool {
    let both = file.canonicalize().ok().zip(Path::new(run).canonicalize().ok());
    both.is_some_and(|(file, run)| file == run)
}

/// A file if there is one of that name, else a run of the history.
fn sides(run: &str, database: &Database) -> Result<Vec<Side>, Failure> {
    let path = Path::new(run);
    if path.is_file() || path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json")) {
        return Ok(data::sides(path)?);
    }
    let Some(history) = history::existing(database)? else {
        let present = format!("is no history at {}", history::path(database).display());
        return Err(Error::NoSuchRun { wanted: run.to_owned(), present }.into());
    };
    let (row, measurements) = history.run(run, Some(&history::project()))?;
    let label = row.label.clone().unwrap_or_else(|| format!("run {}", row.run));
    Ok(vec![Side { label, measured: Measured::of_history(&row, &measurements) }])
}
