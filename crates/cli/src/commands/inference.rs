//! `gpuscope inference`

use std::sync::Arc;

use gpuscope_analysis::Inference;
use gpuscope_analysis::inference::{Captures, GraphCapture, InferenceAnswer};
use gpuscope_job::{JobOptions, Outcome};
use gpuscope_trace::{Code, Quality, View};

use super::{answer, ask, options};
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// An answer, and the captures it was told from.
type WithCaptures = (Outcome<InferenceAnswer>, Vec<String>);

pub(crate) fn run(asked: &Asked, captures: &[String], console: &mut Console<'_>) -> Result<Exit, Failure> {
    // Better said before anything is read than after.
    let output = Output::new(&asked.output, console)?;
    if !captures.is_empty() {
        let captures = Arc::new(read(asked, captures, console)?);
        return answer("inference", &Inference { captures }, asked, console);
    }
    let mut outcome = ask(&Inference::default(), asked, options(asked, console)?, console)?;
    if !outcome.answer.replays.is_empty()
        && let Some((named, files)) = named_by_captures(asked, console)?
    {
        outcome = named;
        let message = format!("operators of what graphs replayed are taken from {}", files.join(", "));
        outcome.quality.push(Quality::new(Code::GraphCapture, files.len() as u64, message));
    }
    output.write("inference", &outcome, console)?;
    Ok(Exit::DONE)
}

/// The answer with the operators that traces of the capture tell, if there are such beside the traces, and which.
pub(super) fn named_by_captures(
    asked: &Asked,
    console: &Console<'_>,
) -> Result<Option<WithCaptures>, Failure> {
    let files = gpuscope_job::graph_captures_beside(&console.paths(&asked.traces)?);
    if files.is_empty() {
        return Ok(None);
    }
    let graphs = |_, view: View<'_>| GraphCapture::of(view).map(|_| Captures::of(view));
    // What merely has such a name need not be readable.
    let Ok(found) = console.open(&files, whole(asked, console)?).and_then(|run| Ok(run.each(graphs)?)) else {
        return Ok(None);
    };
    let (files, captures): (Vec<String>, Vec<Captures>) = (found.inputs.into_iter().zip(found.answer))
        .filter_map(|(input, captures)| Some((input.path, captures?)))
        .unzip();
    if files.is_empty() {
        return Ok(None);
    }
    let question = Inference { captures: Arc::new(Captures::join(captures)) };
    let outcome = console.open(&asked.traces, options(asked, console)?)?.ask(&question)?;
    Ok(Some((outcome, files)))
}

/// Of a capture all is wanted: what is selected are the traces of its replays.
fn whole(asked: &Asked, console: &Console<'_>) -> Result<JobOptions, Failure> {
    let JobOptions { memory, rules, progress, .. } = options(asked, console)?;
    let all = JobOptions { keep_host_only: true, keep_graph_captures: true, ..JobOptions::default() };
    Ok(JobOptions { memory, rules, progress, ..all })
}

fn read(asked: &Asked, files: &[String], console: &Console<'_>) -> Result<Captures, Failure> {
    let found = console.open(files, whole(asked, console)?)?.each(|_, view| Captures::of(view))?;
    let captures = Captures::join(found.answer);
    if captures.is_empty() {
        return Err(Failure::usage(
            format!("--capture {}: no graph was captured in it", files.join(" ")),
            "it takes a trace recorded while the server captured its graphs, with launches on the host",
        ));
    }
    Ok(captures)
}
