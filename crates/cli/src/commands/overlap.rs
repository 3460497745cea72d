//! `gpuscope overlap`

use gpuscope_analysis::Overlap;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    answer("overlap", &Overlap, asked, console)
}
