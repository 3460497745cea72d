//! `gpuscope launches`

use gpuscope_analysis::Launches;
use gpuscope_trace::Ns;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(
    asked: &Asked,
    runtime_cutoff_us: f64,
    launch_delay_cutoff_us: f64,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let question = Launches {
        runtime_cutoff: Ns::from_fractional_us(runtime_cutoff_us),
        delay_cutoff: Ns::from_fractional_us(launch_delay_cutoff_us),
    };
    answer("launches", &question, asked, console)
}
