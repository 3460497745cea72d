//! `gpuscope timeline`

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use gpuscope_analysis::Timeline;
use gpuscope_report::timeline;

use super::{answer, options};
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// What a page may hold and still open at once.
const MOST_SLICES: usize = 1_200_000;

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let wants_page = |file: &&Path| {
        !asked.output.json
            && !asked.output.csv
            && file.extension().is_some_and(|end| end.eq_ignore_ascii_case("html"))
    };
    match asked.output.output.as_deref().filter(wants_page) {
        Some(file) => page(file, asked, console),
        None => answer("timeline", &Timeline::default(), asked, console),
    }
}

fn page(file: &Path, asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::new(&asked.output)?;
    let run = console.open(&asked.traces, options(asked, console)?)?;
    output.spare(|file| run.reads(file))?;
    let outcome = run.ask(&Timeline { most_slices: Some(MOST_SLICES / run.inputs().max(1)) })?;
    let unwritable = |source| Failure::Unwritable { path: file.display().to_string(), source };
    let mut out = BufWriter::new(File::create(file).map_err(unwritable)?);
    let picture = outcome.answer.picture.unwrap_or_default();
    timeline::write(&picture, &asked.traces.join(" "), &mut out).map_err(unwritable)?;
    out.flush().map_err(unwritable)?;
    Ok(Exit::DONE)
}
