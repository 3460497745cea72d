//! One file per family of operators: what it must do, from its arguments.

mod area;
pub(crate) mod attention;
pub(crate) mod conv;
pub(crate) mod elementwise;
pub(crate) mod fused;
pub(crate) mod gemm;
pub(crate) mod grouped;
pub(crate) mod lookup;
pub(crate) mod moe;
pub(crate) mod norm;
pub(crate) mod reduce;
pub(crate) mod resize;
pub(crate) mod rms_norm;
mod sequences;
pub(crate) mod softmax;
pub(crate) mod triton;

use crate::args::Args;
use crate::work::Work;

/// How an operator's work follows from its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Family {
    Attention(attention::Attention),
    Conv(conv::Conv),
    Elementwise(elementwise::Elementwise),
    Fused(fused::Fused),
    Gemm(gemm::Gemm),
    /// So many operations per element of lists of tensors.
    Lists(u64),
    Moe(moe::Moe),
    Norm(norm::Norm),
    Reduce(reduce::Reduce),
    /// An operator that is the only one of its kind.
    Single(fn(&Args) -> Option<Work>),
}

impl Family {
    pub(crate) fn work(&self, args: &Args) -> Option<Work> {
        match self {
            Family::Attention(attention) => attention.work(args),
            Family::Conv(conv) => conv.work(args),
            Family::Elementwise(elementwise) => elementwise.work(args),
            Family::Fused(fused) => fused.work(args),
            Family::Gemm(gemm) => gemm.work(args),
            Family::Lists(operations) => elementwise::lists(args, *operations),
            Family::Moe(moe) => moe.work(args),
            Family::Norm(norm) => norm.work(args),
            Family::Reduce(reduce) => reduce.work(args),
            Family::Single(work) => work(args),
        }
    }
}
