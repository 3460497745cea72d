//! `gpuscope memory`

use gpuscope_analysis::Memory;
use gpuscope_trace::{Code, Quality};

use super::{ask, options, with_course};
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, series: bool, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let (series, output) = with_course(asked, series, console)?;
    let mut options = options(asked, console)?;
    // Memory timelines lie beside the traces and hold nothing else.
    options.keep_host_only = true;
    let mut outcome = ask(&Memory { series }, asked, options, console)?;
    outcome.quality.retain(|note| !matches!(note.code, Code::NoGpuEvents | Code::HostOnly));
    if outcome.answer.is_empty() {
        let message = "nothing about memory was recorded; record with profile_memory=True, or give a file of \
                       export_memory_timeline";
        outcome.quality.push(Quality::new(Code::NoMemoryEvents, 0, message));
    }
    output.write_drawn("memory", &outcome, console)?;
    Ok(Exit::DONE)
}
