//! `gpuscope critical-path`

use std::path::Path;

use gpuscope_analysis::CriticalPath;
use gpuscope_analysis::critical_path::{Instances, WindowOf};
use gpuscope_job::JobOptions;
use gpuscope_job::convert::{Addition, Conversion, convert};

use super::convert::{destination, is_trace_name};
use super::{answer_drawn, options};
use crate::Console;
use crate::args::{Asked, OutputArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;

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
        None => WindowOf::MiddleStep,
    };
    let question = CriticalPath { window };
    match asked.output.output.as_deref().filter(|file| is_trace_name(file) && !asked.output.json) {
        Some(file) => overlay(question, file, asked, console),
        None => answer_drawn("critical-path", &question, asked, console),
    }
}

/// The trace with its path marked, for a viewer.
fn overlay(
    question: CriticalPath,
    file: &Path,
    asked: &Asked,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let run = console.open(&asked.traces, JobOptions { keep_host_only: true, ..options(asked, console)? })?;
    let conversion = Conversion {
        one_rank: asked.selection.rank.is_some(),
        add: vec![Addition::CriticalPath(question)],
        ..Conversion::default()
    };
    let outcome = convert(&run, &conversion, &mut destination(file)?)?;
    let shown = OutputArgs { output: None, ..asked.output.clone() };
    Output::new(&shown)?.write("critical-path", &outcome, console)?;
    Ok(Exit::DONE)
}
