//! `gpuscope queue`

use gpuscope_analysis::Queue;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, series: bool, console: &mut Console<'_>) -> Result<Exit, Failure> {
    answer("queue", &Queue { series }, asked, console)
}
