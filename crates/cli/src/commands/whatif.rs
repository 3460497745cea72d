//! `gpuscope whatif`

use std::collections::BTreeSet;

use gpuscope_analysis::WhatIf;
use gpuscope_analysis::whatif::{Changes, Scale, ScaleOf};

use super::{ask, names, options};
use crate::Console;
use crate::args::{Asked, ChangeArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;

/// Ranks named in an error.
const MOST_LISTED: usize = 16;

pub(crate) fn run(asked: &Asked, wanted: &ChangeArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let scale = |(pattern, factor): &(String, f64)| {
        let (of, pattern) = match pattern.split_once(':') {
            Some(("gpu", pattern)) => (ScaleOf::Gpu, pattern),
            Some(("host", pattern)) => (ScaleOf::Host, pattern),
            _ => (ScaleOf::Everything, pattern.as_str()),
        };
        Ok(Scale { names: names("--scale", pattern)?, factor: *factor, of })
    };
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
    let output = Output::new(&asked.output, console)?;
    let outcome = ask(&WhatIf { changes }, asked, options(asked, console)?, console)?;
    for matched in &outcome.answer.matched {
        if matched.gpu_events == 0 && matched.host_ns.0 == 0 {
            return Err(Failure::usage(
                format!("nothing in the traces matches `{}`", matched.pattern),
                "see the names with `gpuscope kernels` and `gpuscope annotations`",
            ));
        }
    }
    if let Some(rank) = wanted.rank_as_median {
        let ranks: BTreeSet<u32> = outcome.inputs.iter().map(|input| input.rank).collect();
        if ranks.len() < 2 || !ranks.contains(&rank) {
            let listed: Vec<String> = ranks.iter().take(MOST_LISTED).map(u32::to_string).collect();
            let more = if ranks.len() > MOST_LISTED { ", …" } else { "" };
            return Err(Failure::usage(
                format!("--rank-as-median {rank}: the ranks here are {}{more}", listed.join(", ")),
                "give one of several ranks, and the traces of the others too: gpuscope whatif traces/",
            ));
        }
    }
    output.write("whatif", &outcome, console)?;
    Ok(Exit::DONE)
}
