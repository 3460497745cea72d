//! `gpuscope diff`

use gpuscope_analysis::Diff;
use gpuscope_analysis::diff::{DiffAnswer, TotalsAnswer};
use gpuscope_job::{Outcome, Run};

use super::options;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let [before, after] = asked.traces.as_slice() else {
        return Err(Failure::usage(
            format!("diff compares two runs, not {}", asked.traces.len()),
            "give two files or two folders: gpuscope diff before/ after/",
        ));
    };
    let output = Output::new(&asked.output)?;
    let totals = |traces: &String, console: &Console<'_>| -> Result<Outcome<TotalsAnswer>, Failure> {
        let run = Run::open(std::slice::from_ref(traces), options(asked, console)?)?;
        output.spare(|file| run.reads(file))?;
        Ok(run.ask(&Diff)?)
    };
    let (a, b) = (totals(before, console)?, totals(after, console)?);
    let outcome = Outcome {
        answer: DiffAnswer::between(&a.answer.0, &b.answer.0),
        inputs: a.inputs.into_iter().chain(b.inputs).collect(),
        quality: a.quality.into_iter().chain(b.quality).collect(),
    };
    output.write("diff", &outcome, console)?;
    Ok(Exit::DONE)
}
