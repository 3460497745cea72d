//! `gpuscope whatif`

use gpuscope_analysis::WhatIf;
use gpuscope_analysis::whatif::{Changes, NamePattern, Scale};
use regex_lite::Regex;

use super::{ask, options};
use crate::Console;
use crate::args::{Asked, ChangeArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(asked: &Asked, wanted: &ChangeArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let scale =
        |(pattern, factor): &(String, f64)| Ok(Scale { names: names("--scale", pattern)?, factor: *factor });
    let changes = Changes {
        scales: wanted.scale.iter().map(scale).collect::<Result<_, Failure>>()?,
        no_launch_overhead: wanted.no_launch_overhead,
        no_sync: wanted.no_sync,
        rank_as_median: wanted.rank_as_median,
        perfect_overlap: wanted
            .perfect_overlap
            .as_deref()
            .map(|group| names("--perfect-overlap", group))
            .transpose()?,
    };
    let output = Output::new(&asked.output)?;
    let outcome = ask(&WhatIf { changes }, asked, options(asked, console)?, &output)?;
    for matched in &outcome.answer.matched {
        if matched.gpu_events == 0 && matched.host_ns.0 == 0 {
            return Err(Failure::usage(
                format!("nothing in the traces matches `{}`", matched.pattern),
                "see the names with `gpuscope kernels` and `gpuscope annotations`",
            ));
        }
    }
    if let Some(rank) = wanted.rank_as_median
        && !outcome.answer.ranks.iter().any(|known| known.rank == rank)
    {
        return Err(Failure::usage(
            format!("--rank-as-median {rank}: there is no rank {rank} with GPU work among the traces"),
            "give the traces of all ranks, and see them with `gpuscope info`",
        ));
    }
    output.write("whatif", &outcome, console)?;
    Ok(Exit::DONE)
}

fn names(flag: &str, pattern: &str) -> Result<NamePattern, Failure> {
    let expression = Regex::new(pattern).map_err(|error| {
        Failure::usage(
            format!("{flag} {pattern}: {error}"),
            "the expression is searched for in the names of kernels and host events",
        )
    })?;
    Ok(NamePattern::new(pattern, move |name| expression.is_match(name)))
}
