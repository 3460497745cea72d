//! What `history` takes.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::{OutputArgs, ReadingArgs, SelectionArgs, examples};
use crate::parse;

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// Add measured runs, or the numbers of traces: step time, exposed communication, idle share, kernels
    #[command(after_help = examples::HISTORY_ADD)]
    Add(AddArgs),
    /// The runs, the newest first
    List(ListArgs),
    /// Every number of one run
    Show(ShowArgs),
    /// How numbers went from run to run, and where they changed for good
    #[command(after_help = examples::HISTORY_TREND)]
    Trend(TrendArgs),
    /// Forget old runs
    #[command(after_help = examples::HISTORY_PRUNE)]
    Prune(PruneArgs),
}

/// Where the history is.
#[derive(Debug, Args)]
pub(crate) struct Database {
    /// The history's file [default: `$GPUSCOPE_DB`, or gpuscope/history.db where the system keeps users' data]
    #[arg(long = "db", value_name = "FILE")]
    pub path: Option<PathBuf>,
}

/// Which runs and numbers.
#[derive(Debug, Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct WantedArgs {
    /// Only this project [default: the one of the current folder]
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// All projects
    #[arg(long, conflicts_with = "project")]
    pub all_projects: bool,
    /// Only this benchmark
    #[arg(long, value_name = "NAME")]
    pub benchmark: Option<String>,
    /// Only this metric: `latency`, `throughput`, `peak_memory`, `step_time`, `idle_share`, `kernel_time:NAME`, …
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Only runs on this GPU
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Only runs with this label
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// `profiling_data.json` files, each a run; or traces (files, folders, globs), which together are one run
    #[arg(required = true, value_name = "DATA|TRACE", value_parser = NonEmptyStringValueParser::new())]
    pub inputs: Vec<String>,
    /// What the numbers of traces are called [default: the name of the file or folder]
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// A word to find the run by
    #[arg(long, value_name = "TEXT")]
    pub label: Option<String>,
    /// The commit that ran
    #[arg(long, value_name = "SHA")]
    pub commit: Option<String>,
    /// The project it belongs to [default: the one of the current folder]
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Also kernels whose names match, beside the ten that take most time
    #[arg(long, value_name = "REGEX")]
    pub kernel: Option<String>,
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub wanted: WantedArgs,
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Its number, the beginning of its id or commit, its label, or `latest`
    pub run: String,
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TrendArgs {
    #[command(flatten)]
    pub wanted: WantedArgs,
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Keep the newest so many of each project
    #[arg(long, value_name = "N", required_unless_present = "older_than")]
    pub keep: Option<u64>,
    /// Forget what is older: 90d, 12w
    #[arg(long, value_name = "TIME", value_parser = parse::days, conflicts_with = "keep")]
    pub older_than: Option<i64>,
    /// Only say how many
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub wanted: WantedArgs,
    #[command(flatten)]
    pub database: Database,
}
