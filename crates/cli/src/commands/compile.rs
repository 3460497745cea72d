//! `gpuscope compile`: what torch.compile did, from its structured log.

use std::path::Path;

use gpuscope_job::CompileLogs;

use crate::Console;
use crate::args::CompileArgs;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(args: &CompileArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::new(&args.output)?;
    if let Some(program) = args.logs.first().filter(|first| is_program(first)) {
        return Err(Failure::usage(
            format!("compile {program}: programs are run by the Python package"),
            "python -m gpuscope.profiling compile runs one; or record with TORCH_TRACE=logs and give the folder",
        ));
    }
    let logs = CompileLogs::open(&args.logs)?;
    output.spare(|file| logs.reads(file))?;
    output.write("compile", &logs.answer()?, console)?;
    Ok(Exit::DONE)
}

fn is_program(argument: &str) -> bool {
    Path::new(argument).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("py"))
}
