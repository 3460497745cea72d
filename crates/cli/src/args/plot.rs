//! What a chart may be told.

use std::path::PathBuf;

use clap::Args;

use super::{ReadingArgs, SelectionArgs};
use crate::parse;

#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Which chart
    #[arg(value_name = "NAME", required_unless_present = "list")]
    pub name: Option<String>,
    /// Traces: files, folders, globs, tar or zip archives, or `-` for standard input
    #[arg(required_unless_present = "list", value_name = "TRACE", value_parser = parse::TraceName)]
    pub traces: Vec<String>,
    /// Name all charts and say what they show
    #[arg(long)]
    pub list: bool,
    /// Where to; the extension decides: .svg .png .pdf, or .html to look into
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Draw so many bars or slices, the rest as one or not at all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Only modules with fewer than this many others around them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Option<u32>,
    /// The roof is that of this GPU, rather than of the one the trace names: h100-sxm, mi300x
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}
