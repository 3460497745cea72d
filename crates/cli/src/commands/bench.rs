//! `gpuscope bench`: measured runs shown, compared and gated. `bench run` itself is in Python, where models are.

use std::io::Write;
use std::path::{Path, PathBuf};

use gpuscope_bench::compare::{Comparison, Speedups};
use gpuscope_bench::data::{self, Measured, Side};
use gpuscope_bench::gate::{self, GateAnswer, Policy};
use gpuscope_bench::history::Series;
use gpuscope_bench::overview::{Best, Overview};
use gpuscope_bench::{Error, Metric};
use gpuscope_files::{Claim, FileKind};
use gpuscope_job::Outcome;
use gpuscope_report::{Lead, LeadNumber, one_line};
use gpuscope_table::Unit;

use super::history;
use crate::Console;
use crate::args::{BenchCommand, CompareArgs, Database, GateArgs, ReportArgs};
use crate::exit::{Exit, Failure};
use crate::output::{Output, writable, write_file};
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
    let output = Output::with_charts(&asked.output, console)?;
    let mut sides = sides(&asked.run, &asked.database, console)?;
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
    let output = Output::with_charts(&asked.output, console)?;
    let mut all = Vec::new();
    for run in &asked.runs {
        all.extend(sides(run, &asked.database, console)?);
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
    let output = Output::new(&asked.output, console)?;
    let claim = |flag, file: &Option<PathBuf>| -> Result<Option<Claim>, Failure> {
        let Some(file) = file else { return Ok(None) };
        writable(file, false)?;
        Ok(Some(console.files.writes(flag, file)?))
    };
    let (markdown, junit) = (claim("--markdown", &asked.markdown)?, claim("--junit", &asked.junit)?);
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
        let answer = GateAnswer::of_two(
            &one(before, asked, console)?,
            &one(after, asked, console)?,
            &policy,
            least_change,
        );
        (answer, format!("{before} · {after}"))
    } else {
        let about = history::path(&asked.database).display().to_string();
        let (series, not_measured_lately) = current_series(asked, console)?;
        let answer = GateAnswer::of(&series, &policy, least_change);
        (GateAnswer { not_measured_lately, ..answer }, about)
    };
    if let Some(file) = &markdown {
        write_file(file, |out| out.write_all(answer.markdown().as_bytes()))?;
    }
    if let Some(file) = &junit {
        write_file(file, |out| out.write_all(answer.junit().as_bytes()))?;
    }
    let exit = if answer.failed { Exit::FOUND } else { Exit::DONE };
    let verdict = answer.verdict();
    if answer.failed && asked.output.output.is_some() {
        writeln!(console.out, "failed: {}", one_line(&verdict))?;
    }
    let lead = Lead { about, verdict, ..Lead::default() };
    output.leading(lead).write("bench gate", &plain(answer), console)?;
    Ok(exit)
}

/// Of a comparison, what is to be.
fn one(run: &str, asked: &GateArgs, console: &Console<'_>) -> Result<Side, Failure> {
    let empty = || Failure::usage(format!("{run}: holds no run"), "gpuscope history list names them");
    sides(run, &asked.database, console)?.pop().ok_or_else(empty)
}

/// What the history has of what is meant, and how many numbers of it nobody measures any more.
fn current_series(asked: &GateArgs, console: &Console<'_>) -> Result<(Vec<Series>, usize), Failure> {
    let all = match history::existing(&asked.database, console)? {
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

/// A file if there is one of that name, else a run of the history.
fn sides(run: &str, database: &Database, console: &Console<'_>) -> Result<Vec<Side>, Failure> {
    let path = Path::new(run);
    if path.is_file() || FileKind::Json.is_of(path) {
        console.files.reads(path)?;
        return Ok(data::sides(path)?);
    }
    let Some(history) = history::existing(database, console)? else {
        let present = format!("is no history at {}", history::path(database).display());
        return Err(Error::NoSuchRun { wanted: run.to_owned(), present }.into());
    };
    let (row, measurements) = history.run(run, Some(&history::project()))?;
    let label = row.label.clone().unwrap_or_else(|| format!("run {}", row.run));
    Ok(vec![Side { label, measured: Measured::of_history(&row, &measurements) }])
}
