//! `gpuscope compile`: what torch.compile did, from its structured log.

use gpuscope_job::CompileLogs;

use crate::Console;
use crate::args::CompileArgs;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(args: &CompileArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::new(&args.output, console)?;
    let logs = CompileLogs::open(&console.paths(&args.logs)?)?;
    logs.files().try_for_each(|file| console.files.reads(file))?;
    output.write("compile", &logs.answer()?, console)?;
    Ok(Exit::DONE)
}
