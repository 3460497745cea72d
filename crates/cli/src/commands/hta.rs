//! `gpuscope hta`

use gpuscope_analysis::Hta;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    answer("hta", &Hta, asked, console)
}
