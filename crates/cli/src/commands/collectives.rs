//! `gpuscope collectives`

use gpuscope_analysis::Collectives;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    answer("collectives", &Collectives, asked, console)
}
