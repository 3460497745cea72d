//! `gpuscope queue`

use gpuscope_analysis::Queue;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, queue: Queue, console: &mut Console<'_>) -> Result<Exit, Failure> {
    answer("queue", &queue, asked, console)
}
