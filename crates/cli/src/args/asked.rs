//! What every question takes: which traces, which part of them, how to read them and where the answer goes.

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};

use crate::parse;

/// What every question takes.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    /// Traces: files, folders, globs, tar or zip archives, or `-` for standard input
    #[arg(required = true, value_name = "TRACE", value_parser = parse::TraceName)]
    pub traces: Vec<String>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What opening a run takes: how it is read, whatever is asked of it.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
pub(crate) struct Opening {
    #[arg(required = true, value_parser = parse::TraceName)]
    pub traces: Vec<String>,
    #[arg(long)]
    step_marker: Option<String>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

impl Opening {
    pub(crate) fn selection(&self) -> SelectionArgs {
        SelectionArgs { step_marker: self.step_marker.clone(), ..SelectionArgs::default() }
    }
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct SelectionArgs {
    /// Only the files of this rank
    #[arg(long, value_name = "N")]
    pub rank: Option<u32>,
    /// Only GPU events on this device
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub device: Option<i64>,
    /// Only GPU events on this stream
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub stream: Option<i64>,
    /// Only these steps: N, or A..B with both ends in
    #[arg(long, value_name = "N|A..B", value_parser = parse::steps)]
    pub step: Option<(i64, i64)>,
    /// From this time on: nanoseconds after the rank's first event, or 20ms, 1.5s
    #[arg(long, value_name = "TIME", value_parser = parse::time)]
    pub from: Option<i64>,
    /// Up to this time
    #[arg(long, value_name = "TIME", value_parser = parse::time)]
    pub to: Option<i64>,
    /// Leave out what the last step launched: its GPU work may have been cut off
    #[arg(long)]
    pub drop_last_step: bool,
    /// Steps are the annotations whose name matches, rather than ProfilerStep#N
    #[arg(long, value_name = "REGEX")]
    pub step_marker: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadingArgs {
    /// Memory that traces may take at once [default: half of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = parse::size)]
    pub memory: Option<u64>,
    /// Rules that sort kernels into kinds, before the built-in ones
    #[arg(long, value_name = "FILE")]
    pub classify: Option<PathBuf>,
    /// How paths tell the rank: the first group is the number
    #[arg(long, value_name = "REGEX")]
    pub rank_regex: Option<String>,
    /// Which of several captures: its number (1 is the newest) or its folder
    #[arg(long, value_name = "N|PATH")]
    pub select_capture: Option<String>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// JSON on standard output
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// CSV on standard output: the command's first table, or the one --table names
    #[arg(long)]
    pub csv: bool,
    /// Write a file instead; its extension decides: .json .csv .parquet .xlsx .html .pdf .md, and .svg
    /// .png where there are charts. A folder (`tables/`) gets every table as CSV, `tables.parquet/` as Parquet
    #[arg(short, long, value_name = "FILE|DIR/")]
    pub output: Option<PathBuf>,
    /// Say what the columns mean, instead of showing the answer
    #[arg(long, conflicts_with = "json")]
    pub explain: bool,
    /// Only this table, for CSV, Parquet and tables
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Colours in tables
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}
