//! `gpuscope timeline`

use std::path::Path;

use gpuscope_analysis::Timeline;
use gpuscope_files::FileKind;
use gpuscope_report::timeline;

use super::{answer, options};
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};
use crate::output::{writable, write_file};

/// What a page may hold and still open at once.
const MOST_SLICES: usize = 1_200_000;

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let wants_page = |file: &&Path| !asked.output.json && !asked.output.csv && FileKind::Html.is_of(file);
    match asked.output.output.as_deref().filter(wants_page) {
        Some(file) => page(file, asked, console),
        None => answer("timeline", &Timeline::default(), asked, console),
    }
}

fn page(file: &Path, asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    writable(file, false)?;
    let file = console.files.writes("-o", file)?;
    let run = console.open(&asked.traces, options(asked, console)?)?;
    let outcome = run.ask(&Timeline { most_slices: Some(MOST_SLICES / run.inputs().max(1)) })?;
    let picture = outcome.answer.picture.unwrap_or_default();
    write_file(&file, |out| timeline::write(&picture, &asked.traces.join(" "), out))?;
    Ok(Exit::DONE)
}
