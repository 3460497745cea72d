//! `gpuscope collectives`

use gpuscope_analysis::Collectives;

use super::answer_drawn;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(
    asked: &Asked,
    gpus_per_node: Option<u32>,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    answer_drawn("collectives", &Collectives { gpus_per_node }, asked, console)
}
