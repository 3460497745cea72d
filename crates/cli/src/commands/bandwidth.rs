//! `gpuscope bandwidth`

use gpuscope_analysis::Bandwidth;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, series: bool, console: &mut Console<'_>) -> Result<Exit, Failure> {
    answer("bandwidth", &Bandwidth { series }, asked, console)
}
