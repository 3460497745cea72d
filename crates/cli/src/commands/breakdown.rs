//! `gpuscope breakdown`

use gpuscope_analysis::Breakdown;

use super::answer_drawn;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(
    asked: &Asked,
    micro_idle_us: Option<f64>,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let question = Breakdown::default();
    let question = match micro_idle_us {
        Some(us) => question.micro_idle_us(us),
        None => question,
    };
    answer_drawn("breakdown", &question, asked, console)
}
