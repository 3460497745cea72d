//! `gpuscope queue`

use gpuscope_analysis::Queue;

use super::{ask, options, with_course};
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, queue: Queue, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let (series, output) = with_course(asked, queue.series, console)?;
    let outcome = ask(&Queue { series, ..queue }, asked, options(asked, console)?, console)?;
    output.write_drawn("queue", &outcome, console)?;
    Ok(Exit::DONE)
}
