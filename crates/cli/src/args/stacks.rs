//! The call tree: which part of it, and for which tool.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use gpuscope_analysis::stacks::Weight;

use crate::parse;

#[derive(Debug, Args)]
#[command(next_help_heading = "Call tree")]
pub(crate) struct StackArgs {
    /// Only paths with such a name in them
    #[arg(long, value_name = "REGEX")]
    pub filter: Option<String>,
    /// Only so many levels; what is deeper becomes part of what is above
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Option<u32>,
    /// Also what launched nothing
    #[arg(long)]
    pub all: bool,
    /// What makes a path heavy
    #[arg(long, value_enum, default_value_t = StackWeight::Gpu, value_name = "WHAT")]
    pub by: StackWeight,
    /// Leave out what is shorter than this many microseconds in all
    #[arg(long, value_name = "X", value_parser = parse::positive, allow_negative_numbers = true)]
    pub min_us: Option<f64>,
    /// Only the thread with this number, or those with this in their name
    #[arg(long, value_name = "ID|NAME", value_parser = NonEmptyStringValueParser::new())]
    pub thread: Option<String>,
    /// Put backward work below the forward operator that it undoes
    #[arg(long)]
    pub link_backward: bool,
    /// For tools that draw flame graphs; also by -o FILE.collapsed and -o FILE.speedscope.json
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["json", "csv", "table"])]
    pub format: Option<FlameFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StackWeight {
    /// Time on the GPU
    Gpu,
    /// Time on the host
    Host,
    /// Bytes that copies and sets moved
    Bytes,
    /// Time on the host by the stacks that Nsight Systems sampled
    Samples,
}

impl StackWeight {
    pub(crate) fn weight(self) -> Weight {
        match self {
            StackWeight::Gpu => Weight::Gpu,
            StackWeight::Host | StackWeight::Samples => Weight::Host,
            StackWeight::Bytes => Weight::Bytes,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FlameFormat {
    /// Folded stacks: `outer;inner 1200`, a line per path
    Collapsed,
    /// A file for speedscope.app
    Speedscope,
}
