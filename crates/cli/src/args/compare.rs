//! Against what a run is held: another run, other ranks, or itself with changes.

use clap::Args;

use crate::parse;

/// What a rank is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Against {
    Median,
    Rank(u32),
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Changes")]
pub(crate) struct ChangeArgs {
    /// Multiply the time of what matches, GPU events or host events: `nccl.*=0`, `aten::item=0.5`; `gpu:` or `host:` before
    /// the expression keeps to one of them; may be repeated
    #[arg(long, value_name = "REGEX=FACTOR", value_parser = parse::scale)]
    pub scale: Vec<(String, f64)>,
    /// Launching costs nothing: neither the calls nor the time until a kernel starts
    #[arg(long)]
    pub no_launch_overhead: bool,
    /// The host never waits for the GPU
    #[arg(long)]
    pub no_sync: bool,
    /// One rank takes what the median rank takes
    #[arg(long, value_name = "R")]
    pub rank_as_median: Option<u32>,
    /// Nothing waits for communication of this group: its name or description, or a kernel's name, as an expression
    #[arg(long, value_name = "GROUP")]
    pub perfect_overlap: Option<String>,
}
