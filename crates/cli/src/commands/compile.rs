//! `gpuscope compile`: what torch.compile did, from its structured log.

use gpuscope_analysis::Compile;
use gpuscope_job::{Error, JobOptions};

use crate::Console;
use crate::args::CompileArgs;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(args: &CompileArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::new(&args.output, console)?;
    let options = JobOptions { keep_host_only: true, ..JobOptions::default() };
    let outcome = console.open(&args.logs, options).and_then(|run| Ok(run.ask(&Compile)?));
    output.write("compile", &outcome.map_err(of_logs)?, console)?;
    Ok(Exit::DONE)
}

/// A folder without any.
fn of_logs(failure: Failure) -> Failure {
    let Failure::Job(Error::NoneReadable(errors)) = &failure else { return failure };
    match errors.iter().map(AsRef::as_ref).collect::<Vec<_>>()[..] {
        [Error::NoTraces { path, found }] => {
            Failure::Job(Error::NoLogs { path: path.clone(), found: found.clone() })
        }
        _ => failure,
    }
}
