//! `gpuscope analyze`: everything at once, what to take away for people and a report for later.

mod screen;

use std::path::{Path, PathBuf};

use gpuscope_analysis::analyze::AnalyzeAnswer;
use gpuscope_analysis::counters::JoinedRow;
use gpuscope_analysis::{Analyze, Counters, Dossier};
use gpuscope_files::FileKind;
use gpuscope_job::Run;
use gpuscope_trace::{Code, Holds, Quality};

use super::{ask, inference, options};
use crate::Console;
use crate::args::{Asked, OutputArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::session::Wanted;

pub(crate) use screen::show;

/// Where the report goes unless told otherwise.
const REPORT: &str = "gpuscope-report.html";

/// What the page may hold of the timeline and still open at once.
const MOST_SLICES: usize = 1_000_000;
/// What programs and agents read at once; lists that are longer have commands of their own.
const MOST_JSON: usize = 1_000_000;
/// Paths that take less than one part in two thousand are no wider than a pixel.
const LEAST_SHARE: f64 = 0.0005;

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let OutputArgs { json, csv, explain, table, .. } = &asked.output;
    let report = asked.output.output.clone().unwrap_or_else(|| PathBuf::from(REPORT));
    let to_file = OutputArgs { output: Some(report.clone()), ..asked.output.clone() };
    let is_for_program =
        [Wanted::Tables, Wanted::Figures, Wanted::Json].iter().any(|wanted| console.wants(*wanted));
    if *json || *csv || *explain || table.is_some() || !is_page(&report) || is_for_program {
        return tables(asked, console);
    }
    let output = Output::new(&asked.output, console)?;
    // A program that wants a report says where.
    if console.session.is_some() && asked.output.output.is_none() {
        let mut outcome = ask(&Analyze, asked, options(asked, console)?, console)?;
        name_replayed(&mut outcome.answer, asked, console)?;
        show(&outcome, &asked.traces, Report::NotAsked, &output, console)?;
        return Ok(Exit::DONE);
    }
    let run = console.open(&asked.traces, options(asked, console)?)?;
    let mut outcome = run.ask(&dossier(run.inputs()))?;
    name_replayed(&mut outcome.answer.analyze, asked, console)?;
    outcome.answer.analyze.measured = measured(&run, &mut outcome.quality)?;
    // A folder that cannot be written to is no reason to keep the answer back, unless a file was asked for.
    let report = match Output::new(&to_file, console)?.write_report("analyze", &outcome) {
        Ok(()) => Report::Written(&report),
        Err(failure) if asked.output.output.is_some() => return Err(failure),
        Err(_) => Report::Unwritable,
    };
    let outcome = outcome.map(|dossier| dossier.analyze);
    show(&outcome, &asked.traces, report, &output, console)?;
    Ok(Exit::DONE)
}

pub(crate) fn dossier(inputs: usize) -> Dossier {
    Dossier { most_slices: MOST_SLICES / inputs.max(1), least_share: LEAST_SHARE }
}

fn is_page(file: &Path) -> bool {
    FileKind::Html.is_of(file) || FileKind::Pdf.is_of(file)
}

/// What graphs replay gets its operators from a trace of their capture, if there is one beside the traces.
fn name_replayed(answer: &mut AnalyzeAnswer, asked: &Asked, console: &Console<'_>) -> Result<(), Failure> {
    if answer.lacks_capture()
        && let Some((told, files)) = inference::named_by_captures(asked, console)?
    {
        answer.name_replayed(&told.answer, files);
    }
    Ok(())
}

/// What Nsight Compute measured of the kernels, if its pages were given beside the traces.
fn measured(run: &Run, quality: &mut Vec<Quality>) -> Result<Vec<JoinedRow>, Failure> {
    if !run.holds(Holds::Metrics) {
        return Ok(Vec::new());
    }
    // They are read after all.
    quality.retain(|note| note.code != Code::OtherContents);
    Ok(run.ask(&Counters)?.answer.joined)
}

/// The answer as tables, where no page is wanted.
fn tables(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::new(&asked.output, console)?.with_json_within(MOST_JSON);
    let run = console.open(&asked.traces, options(asked, console)?)?;
    let mut outcome = run.ask(&Analyze)?;
    name_replayed(&mut outcome.answer, asked, console)?;
    outcome.answer.measured = measured(&run, &mut outcome.quality)?;
    output.write("analyze", &outcome, console)?;
    let OutputArgs { json, csv, explain, table, output: file, .. } = &asked.output;
    if let (Some(file), false) = (file, *json || *csv || *explain || table.is_some()) {
        show(&outcome, &asked.traces, Report::Written(file), &output, console)?;
    }
    Ok(Exit::DONE)
}

/// What became of the page.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Report<'p> {
    Written(&'p Path),
    Unwritable,
    NotAsked,
}
