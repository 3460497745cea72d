//! `gpuscope layers`

use gpuscope_analysis::Layers;

use super::answer_drawn;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, depth: Option<u32>, console: &mut Console<'_>) -> Result<Exit, Failure> {
    answer_drawn("layers", &Layers { depth }, asked, console)
}
