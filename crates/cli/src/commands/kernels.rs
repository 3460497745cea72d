//! `gpuscope kernels`

use gpuscope_analysis::Kernels;

use super::answer_drawn;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(
    asked: &Asked,
    num_kernels: Option<usize>,
    duration_ratio: Option<f64>,
    exclude_memory: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Failure> {
    answer_drawn("kernels", &Kernels { num_kernels, duration_ratio, exclude_memory }, asked, console)
}
