//! `gpuscope phases`

use gpuscope_analysis::Phases;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    answer("phases", &Phases, asked, console)
}
