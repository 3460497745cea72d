//! Serving the timeline.

use clap::Args;

use super::{ReadingArgs, SelectionArgs};
use crate::parse;

#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// Traces: files, folders, globs, tar or zip archives, or `-` for standard input
    #[arg(required = true, value_name = "TRACE", value_parser = parse::TraceName)]
    pub traces: Vec<String>,
    /// The port to listen on [default: any that is free]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Only print the address
    #[arg(long)]
    pub no_open: bool,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}
