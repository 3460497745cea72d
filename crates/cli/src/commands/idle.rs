//! `gpuscope idle`

use gpuscope_analysis::Idle;
use gpuscope_trace::Ns;

use super::answer_drawn;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(
    asked: &Asked,
    consecutive_kernel_delay_us: f64,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let question = Idle { threshold: Ns::from_fractional_us(consecutive_kernel_delay_us) };
    answer_drawn("idle", &question, asked, console)
}
