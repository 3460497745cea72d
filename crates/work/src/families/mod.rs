//! One file per family of operators: what it must do, from its arguments.

pub(crate) mod gemm;

use crate::args::Args;
use crate::work::Work;

/// How an operator's work follows from its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Family {
    Gemm(gemm::Gemm),
}

impl Family {
    pub(crate) fn work(&self, args: &Args) -> Option<Work> {
        match self {
            Family::Gemm(gemm) => gemm.work(args),
        }
    }
}
