//! `gpuscope diff`: two runs, or ranks of one run; with `--fail-on` a gate.

use gpuscope_analysis::diff::{DiffAnswer, RankSide, Side};
use gpuscope_analysis::diff_tree::TreeDiffAnswer;
use gpuscope_analysis::gate::Gate;
use gpuscope_analysis::{Diff, Question, TreeDiff};
use gpuscope_job::{JobOptions, Outcome};

use super::{options, options_of};
use crate::Console;
use crate::args::{Against, Asked};
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(
    asked: &Asked,
    against: Option<Against>,
    fail_on: Option<&str>,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    // Better said before the traces are read than after.
    let gate = fail_on.map(gate).transpose()?;
    let output = Output::with_charts(&asked.output, console)?;
    let mut outcome = match (asked.traces.as_slice(), against, asked.selection.rank) {
        (_, Some(against), Some(rank)) => of_ranks(asked, rank, against, console)?,
        ([before, after], _, _) => of_runs(asked, [before, after], console)?,
        (traces, _, _) => {
            return Err(Failure::usage(
                format!("diff compares two runs, not {}", traces.len()),
                "give two files or two folders: gpuscope diff before/ after/; ranks of one run with --rank 5 \
                 --against median",
            ));
        }
    };
    outcome.answer.gate = gate.map(|gate| gate.judge(&outcome.answer.metrics()));
    output.write_drawn("diff", &outcome, console)?;
    let Some(verdict) = outcome.answer.gate.filter(|verdict| verdict.failed) else { return Ok(Exit::DONE) };
    if asked.output.output.is_some() {
        for clause in verdict.clauses.iter().filter(|clause| clause.holds) {
            writeln!(console.out, "failed: {}: {}", clause.clause, clause.message)?;
        }
    }
    Ok(Exit::FOUND)
}

/// By call paths.
pub(crate) fn tree(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::new(&asked.output, console)?;
    let [before, after] = asked.traces.as_slice() else {
        return Err(Failure::usage(
            format!("diff compares two runs, not {}", asked.traces.len()),
            "give two files or two folders: gpuscope diff before/ after/ --tree",
        ));
    };
    let (a, b) = (side(&TreeDiff, asked, before, console)?, side(&TreeDiff, asked, after, console)?);
    let outcome = Outcome {
        answer: TreeDiffAnswer::between(&a.answer, &b.answer),
        inputs: a.inputs.into_iter().chain(b.inputs).collect(),
        quality: a.quality.into_iter().chain(b.quality).collect(),
    };
    output.write("diff", &outcome, console)?;
    Ok(Exit::DONE)
}

/// What a question finds in one of the runs.
fn side<Q: Question>(
    question: &Q,
    asked: &Asked,
    traces: &String,
    console: &Console<'_>,
) -> Result<Outcome<Q::Answer>, Failure> {
    let run = console.open(std::slice::from_ref(traces), options(asked, console)?)?;
    Ok(run.ask(question)?)
}

fn gate(text: &str) -> Result<Gate, Failure> {
    Gate::parse(text, &DiffAnswer::default().metrics()).map_err(|misread| {
        Failure::usage(
            format!("--fail-on '{text}': {misread}"),
            "clauses such as step_time > +3%, idle > +2ms or exposed_comm > 20ms, joined by and, or, ( )",
        )
    })
}

fn of_runs(asked: &Asked, runs: [&String; 2], console: &Console<'_>) -> Result<Outcome<DiffAnswer>, Failure> {
    let (a, b) = (side(&Diff, asked, runs[0], console)?, side(&Diff, asked, runs[1], console)?);
    Ok(Outcome {
        answer: DiffAnswer::between(&Side::run(&a.answer.0), &Side::run(&b.answer.0)),
        inputs: a.inputs.into_iter().chain(b.inputs).collect(),
        quality: a.quality.into_iter().chain(b.quality).collect(),
    })
}

/// One rank of a run beside another, or beside the median of the others.
fn of_ranks(
    asked: &Asked,
    rank: u32,
    against: Against,
    console: &Console<'_>,
) -> Result<Outcome<DiffAnswer>, Failure> {
    let options = JobOptions { rank: None, ..options_of(&asked.selection, &asked.reading, console)? };
    let run = console.open(&asked.traces, options)?;
    let Outcome { answer, inputs, quality } = run.ask(&Diff)?;
    let ranks = answer.0;
    let b = Side::rank(find(&ranks, "--rank", rank)?);
    let a = match against {
        Against::Rank(other) => Side::rank(find(&ranks, "--against", other)?),
        Against::Median if ranks.len() > 1 => Side::median_rank(&ranks, rank),
        Against::Median => {
            return Err(Failure::usage(
                format!("--against median: rank {rank} is the only one here"),
                "give a folder with the traces of several ranks",
            ));
        }
    };
    Ok(Outcome { answer: DiffAnswer::between(&a, &b), inputs, quality })
}

fn find<'r>(ranks: &'r [RankSide], flag: &str, wanted: u32) -> Result<&'r RankSide, Failure> {
    ranks.iter().find(|rank| rank.rank == wanted).ok_or_else(|| {
        let present: Vec<String> = ranks.iter().map(|rank| rank.rank.to_string()).collect();
        Failure::usage(
            format!("{flag} {wanted}: no input is of that rank"),
            &format!("there are {}", present.join(", ")),
        )
    })
}
