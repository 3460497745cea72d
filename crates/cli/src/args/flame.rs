//! The flame graph: what its boxes are and how they are drawn.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

use gpuscope_analysis::flame::SMALL_KERNELS;

use super::StackWeight;
use crate::parse;

#[derive(Debug, Args)]
#[command(next_help_heading = "Flame graph")]
pub(crate) struct FlameArgs {
    /// What makes a box wide
    #[arg(long, value_enum, default_value_t = StackWeight::Gpu, value_name = "WHAT")]
    pub by: StackWeight,
    /// What boxes are made of
    #[arg(long, value_enum, default_value_t = FlamePaths::Python, value_name = "WHAT")]
    pub stacks: FlamePaths,
    /// Another run: orange is heavier than there, blue is lighter
    #[arg(long, value_name = "TRACE", value_parser = NonEmptyStringValueParser::new())]
    pub against: Option<String>,
    /// What takes fewer microseconds in all becomes part of what is above
    #[arg(long, value_name = "X", value_parser = parse::positive, allow_negative_numbers = true)]
    pub min_duration_us: Option<f64>,
    /// Only so many boxes below each other; what is deeper becomes part of what is above
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_depth: Option<u32>,
    /// Kernels of one call that take fewer microseconds in all are one box, `12 small kernels`; 0 for none
    #[arg(long, value_name = "X", default_value_t = SMALL_KERNELS.as_f64() / 1e3, value_parser = parse::positive, allow_negative_numbers = true)]
    pub small_kernels_us: f64,
    /// What stands at the left
    #[arg(long, value_enum, default_value_t = FlameOrder::Heavy, value_name = "WHAT")]
    pub order: FlameOrder,
    /// Boxes grow upwards, as flames, rather than downwards, as icicles
    #[arg(long)]
    pub upwards: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FlamePaths {
    /// Python frames and all that is below them
    Python,
    /// Modules and their operators, backward work below what it undoes
    Modules,
    /// Operators
    Operators,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FlameOrder {
    /// The heaviest
    Heavy,
    /// What began first
    Time,
}
