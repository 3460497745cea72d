//! `gpuscope throughput`

use gpuscope_analysis::Throughput;
use gpuscope_analysis::throughput::PerStep;

use super::{answer_drawn, models};
use crate::Console;
use crate::args::ThroughputArgs;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &ThroughputArgs, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let question = Throughput {
        depth: asked.depth,
        models: asked.models.as_deref().map(|file| models(file, console)).transpose()?,
        per_step: PerStep { tokens: asked.tokens_per_step, samples: asked.samples_per_step },
    };
    answer_drawn("throughput", &question, &asked.asked, console)
}
