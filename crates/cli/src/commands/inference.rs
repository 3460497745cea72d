//! `gpuscope inference`

use std::sync::Arc;

use gpuscope_analysis::Inference;
use gpuscope_analysis::inference::Captures;
use gpuscope_job::JobOptions;

use super::{answer, options};
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, captures: &[String], console: &mut Console<'_>) -> Result<Exit, Failure> {
    let captures = if captures.is_empty() { Captures::default() } else { read(asked, captures, console)? };
    answer("inference", &Inference { captures: Arc::new(captures) }, asked, console)
}

/// Of a capture all is wanted: what is selected are the traces of its replays.
fn read(asked: &Asked, files: &[String], console: &Console<'_>) -> Result<Captures, Failure> {
    let JobOptions { memory, rules, progress, .. } = options(asked, console)?;
    let whole = JobOptions { memory, rules, progress, keep_host_only: true, ..JobOptions::default() };
    let found = console.open(files, whole)?.each(|_, view| Captures::of(view))?;
    let captures = Captures::join(found.answer);
    if captures.is_empty() {
        return Err(Failure::usage(
            format!("--capture {}: no graph was captured in it", files.join(" ")),
            "it takes a trace recorded while the server captured its graphs, with launches on the host",
        ));
    }
    Ok(captures)
}
