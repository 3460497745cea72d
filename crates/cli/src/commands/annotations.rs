//! `gpuscope annotations`

use gpuscope_analysis::Annotations;
use gpuscope_analysis::annotations::Whose;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(
    asked: &Asked,
    (gpu, cpu): (bool, bool),
    kernels: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    let whose = match (gpu, cpu) {
        (true, _) => Whose::Gpu,
        (_, true) => Whose::Host,
        _ => Whose::Both,
    };
    answer("annotations", &Annotations { whose, kernels }, asked, console)
}
