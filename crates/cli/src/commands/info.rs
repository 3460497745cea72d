//! `gpuscope info`: about the files, so those without GPU work are in it too.

use gpuscope_analysis::Info;
use gpuscope_job::JobOptions;

use super::{ask, options};
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::new(&asked.output, console)?;
    let options = JobOptions { keep_host_only: true, ..options(asked, console)? };
    let outcome = ask(&Info, asked, options, console)?;
    output.write("info", &outcome, console)?;
    Ok(Exit::DONE)
}
