//! Commands about files rather than questions about traces.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ReadingArgs, SelectionArgs};
use crate::parse;

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// Traces: files, folders, globs, tar or zip archives, or `-` for standard input
    #[arg(required = true, value_name = "TRACE", value_parser = parse::TraceName)]
    pub traces: Vec<String>,
    /// Where to: .json, .json.gz or .json.zst, a folder for one file per rank, or `-`
    #[arg(short, long, value_name = "FILE|DIR/")]
    pub output: PathBuf,
    /// Counters to draw on top, separated by commas
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub add: Vec<Added>,
    /// Replace names of files, functions, modules, hosts, users and annotations, the same in every file
    #[arg(long)]
    pub anonymize: bool,
    /// What was written, as JSON on standard output
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Added {
    /// Work launched and not yet begun, per stream
    Queue,
    /// How fast bytes move, per kind of copy
    Bandwidth,
    /// Marks on the critical path of the median step or the selected ones, and arrows along it
    CriticalPath,
    /// Marks on operators that launch the same kernels again and again
    Patterns,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Folder to write the traces to
    #[arg(short, long, value_name = "DIR", default_value = "gpuscope-demo")]
    pub output: PathBuf,
    /// How many ranks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub ranks: Option<u32>,
    /// About how large each rank's trace is, uncompressed: 20MB, 1GB
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    pub bytes: Option<u64>,
    /// Only write the traces, uncompressed, and print their paths
    #[arg(long)]
    pub only_write: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Limit {
    /// Find every bracket and quote of the text
    Scan,
    /// Decompress and throw the text away
    Inflate,
    /// Parse the text from memory
    Parse,
    /// Read the file into columns, decompressing on a second thread
    Read,
    /// Pass over the rows and columns of a database that its reader needs
    Rows,
}
