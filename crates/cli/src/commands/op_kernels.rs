//! `gpuscope op-kernels`

use gpuscope_analysis::OpKernels;

use super::answer;
use crate::Console;
use crate::args::Asked;
use crate::exit::{Exit, Failure};

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    answer("op-kernels", &OpKernels, asked, console)
}
