//! `gpuscope completions SHELL`

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::Console;
use crate::args::Cli;
use crate::exit::{Exit, Failure};

pub(crate) fn run(shell: Shell, console: &mut Console<'_>) -> Result<Exit, Failure> {
    // Into memory first: the generator panics where the writer fails, as a closed pipe does.
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "gpuscope", &mut script);
    console.out.write_all(&script)?;
    Ok(Exit::DONE)
}
