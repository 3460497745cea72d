//! One file per family of operators: what it must do, from its arguments.

mod area;
pub(crate) mod attention;
pub(crate) mod conv;
pub(crate) mod gemm;
mod sequences;

use crate::args::Args;
use crate::work::Work;

/// How an operator's work follows from its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Family {
    Attention(attention::Attention),
    Conv(conv::Conv),
    ConvBackward,
    Gemm(gemm::Gemm),
}

impl Family {
    pub(crate) fn work(&self, args: &Args) -> Option<Work> {
        match self {
            Family::Attention(attention) => attention.work(args),
            Family::Conv(conv) => conv.work(args),
            Family::ConvBackward => conv::backward(args),
            Family::Gemm(gemm) => gemm.work(args),
        }
    }
}
