//! `gpuscope counters`

use gpuscope_analysis::Counters;
use gpuscope_analysis::counters::RankCounters;
use gpuscope_trace::{Code, Quality};

use super::{ask, options};
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::with_charts(&asked.output, console)?;
    let mut options = options(asked, console)?;
    // A profiler that reads counters records no kernels.
    options.keep_host_only = true;
    let mut outcome = ask(&Counters, asked, options, console)?;
    outcome.quality.retain(|note| !matches!(note.code, Code::NoGpuEvents | Code::HostOnly));
    let answer = &outcome.answer;
    if answer.ranks.is_empty() && answer.launches.is_empty() && answer.sampled.is_empty() {
        let message = "no counters were recorded; record with \
                       experimental_config=_ExperimentalConfig(profiler_metrics=[…]) or nsys profile --gpu-metrics-devices=all, \
                       or give a page of Nsight Compute: ncu --csv --page details";
        outcome.quality.push(Quality::new(Code::NoCounters, 0, message));
    }
    let unlinked = outcome.answer.ranks.iter().filter(|rank| !rank.linked).map(unlinked);
    outcome.quality.extend(unlinked);
    output.write_drawn("counters", &outcome, console)?;
    Ok(Exit::DONE)
}

fn unlinked(rank: &RankCounters) -> Quality {
    let message = format!(
        "{} ranges with counters and {} kernel launches were recorded, so it is not known which is whose: \
         counters are given without operators",
        rank.ranges, rank.launches
    );
    Quality::new(Code::UnlinkedCounters, rank.ranges, message).of_rank(rank.rank)
}
