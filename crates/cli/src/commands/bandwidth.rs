//! `gpuscope bandwidth`

use gpuscope_analysis::Bandwidth;

use super::{ask, options, with_course};
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, series: bool, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let (series, output) = with_course(asked, series, console)?;
    let outcome = ask(&Bandwidth { series }, asked, options(asked, console)?, console)?;
    output.write_drawn("bandwidth", &outcome, console)?;
    Ok(Exit::DONE)
}
