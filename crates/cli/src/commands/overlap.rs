//! `gpuscope overlap`

use gpuscope_analysis::Overlap;

use super::answer_drawn;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    answer_drawn("overlap", &Overlap, asked, console)
}
