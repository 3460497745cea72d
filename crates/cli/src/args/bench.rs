//! What `bench` takes.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::history::{Database, WantedArgs};
use super::{OutputArgs, examples};
use crate::parse;

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Measure a matrix of configurations: a TOML file, module:function, or `gpt`; needs the Python package
    #[command(after_help = examples::BENCH_RUN, disable_help_flag = true)]
    Run {
        /// As `python -m gpuscope.bench run --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "SPEC")]
        arguments: Vec<OsString>,
    },
    /// One measured run as a dashboard: latency, throughput, percentiles, architecture, efficiency
    #[command(after_help = examples::BENCH_REPORT)]
    Report(ReportArgs),
    /// Two or more measured runs side by side: how much faster, and how sure that is
    #[command(after_help = examples::BENCH_COMPARE)]
    Compare(CompareArgs),
    /// Did the newest runs of the history get worse, or is one run slower than another? Exit code 1 if so
    #[command(after_help = examples::BENCH_GATE)]
    Gate(Box<GateArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// `profiling_data.json` as `bench run` writes it, or a run of the history: its number, id, label, commit, or `latest`
    #[arg(value_name = "DATA|RUN")]
    pub run: String,
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Files or runs of the history, the first being what the others are compared with; one `comparison_data.json` is two
    #[arg(value_name = "DATA|RUN", required = true)]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// Two runs, before and after, rather than the history: files, or runs of the history
    #[arg(value_name = "BEFORE AFTER", num_args = 2)]
    pub runs: Vec<String>,
    /// Changes below this share of the level before do not matter
    #[arg(long, value_name = "PERCENT", default_value = "3%", value_parser = parse::percent)]
    pub relative: f64,
    /// Changes below this do not matter: 0.1ms for times, METRIC=VALUE for one metric; may be repeated
    /// [default: 10us, 1MiB, half a percent]
    #[arg(long, value_name = "[METRIC=]VALUE")]
    pub absolute: Vec<String>,
    /// The chance of an alarm without a cause, for all numbers of a call together
    #[arg(long, value_name = "P", default_value_t = 0.005, value_parser = parse::ratio)]
    pub significance: f64,
    /// So many of the newest runs may be worse without having become the new level
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=20))]
    pub newest: u16,
    /// Also a summary in Markdown, for a comment or the summary of a job
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Also a `JUnit` file, for CI systems that show tests
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    #[command(flatten)]
    pub wanted: WantedArgs,
    #[command(flatten)]
    pub database: Database,
    #[command(flatten)]
    pub output: OutputArgs,
}
