//! `gpuscope annotations`

use gpuscope_analysis::Annotations;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, gpu: bool, cpu: bool, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let which = match (gpu, cpu) {
        (true, _) => Annotations::Gpu,
        (_, true) => Annotations::Host,
        _ => Annotations::Both,
    };
    answer("annotations", &which, asked, console)
}
