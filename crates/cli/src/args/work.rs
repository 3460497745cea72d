//! What operators and modules do, and what the GPU could do.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Asked;
use crate::parse;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct OpsArgs {
    /// How rows are told apart
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = By::Name)]
    pub by: By,
    /// The same as --by args
    #[arg(long, conflicts_with = "by")]
    pub unique_args: bool,
    /// Only the N largest rows of each rank
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Also every kernel of each row, with its stream and the call that launched it
    #[arg(long)]
    pub kernels: bool,
    /// Also how much of each row's time other streams were busy too
    #[arg(long)]
    pub overlap: bool,
    /// Rows of their own for what activation checkpointing ran again
    #[arg(long)]
    pub recompute: bool,
    /// Also the GPU events shorter than this many microseconds, and who launches them
    #[arg(long, value_name = "X", value_parser = parse::positive, allow_negative_numbers = true)]
    pub short_kernels_us: Option<f64>,
    #[command(flatten)]
    pub work: WorkArgs,
    #[command(flatten)]
    pub asked: Asked,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum By {
    /// Sorts of operators: GEMM, attention, …
    Category,
    /// Operators
    Name,
    /// Operators with the same shapes, types, strides and concrete values
    Args,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Work")]
pub(crate) struct WorkArgs {
    /// Take the peaks of this GPU, rather than of the one the trace names: h100-sxm, mi300x
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// Peaks of your own, in TFLOP/s without sparsity, and GB/s of memory: bf16=989,memory=3350
    #[arg(long, value_name = "WHAT=N,…")]
    pub peak: Option<String>,
    /// Work models of your own, before the built-in ones
    #[arg(long, value_name = "FILE.toml")]
    pub models: Option<PathBuf>,
    /// FLOPs of the model in one step on one rank, for MFU, rather than those of its operators
    #[arg(long, value_name = "X", value_parser = parse::positive, allow_negative_numbers = true)]
    pub model_flops: Option<f64>,
    /// Tokens of one step on one rank: adds tokens per second and FLOPs per token
    #[arg(long, value_name = "N", value_parser = parse::positive, allow_negative_numbers = true)]
    pub tokens_per_step: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct ThroughputArgs {
    /// Only modules with fewer than this many others around them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Option<u32>,
    /// Work models of your own, before the built-in ones
    #[arg(long, value_name = "FILE.toml")]
    pub models: Option<PathBuf>,
    /// Tokens of one step on one rank: adds tokens per second
    #[arg(long, value_name = "N", value_parser = parse::positive, allow_negative_numbers = true)]
    pub tokens_per_step: Option<f64>,
    /// Samples of one step on one rank: adds samples per second
    #[arg(long, value_name = "N", value_parser = parse::positive, allow_negative_numbers = true)]
    pub samples_per_step: Option<f64>,
    #[command(flatten)]
    pub asked: Asked,
}
