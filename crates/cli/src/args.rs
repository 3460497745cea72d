//! Every command and flag, in one place: the commands here, what several of them take or what is long in a file each.

mod asked;
mod bench;
mod compare;
mod compile;
mod files;
mod flame;
mod history;
mod plot;
mod serve;
mod stacks;
mod view;
mod work;

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::examples;
use crate::parse;

pub(crate) use asked::{Asked, Color, Opening, OutputArgs, ReadingArgs, SelectionArgs};
pub(crate) use bench::{BenchCommand, CompareArgs, GateArgs, ReportArgs};
pub(crate) use compare::{Against, ChangeArgs};
pub(crate) use compile::CompileArgs;
pub(crate) use files::{Added, Convert, Demo, Limit};
pub(crate) use flame::{FlameArgs, FlameOrder, FlamePaths};
pub(crate) use history::{
    AddArgs, Database, HistoryCommand, ListArgs, PruneArgs, ShowArgs, TrendArgs, WantedArgs,
};
pub(crate) use plot::PlotArgs;
pub(crate) use serve::{KeptArgs, McpArgs, ServeArgs};
pub(crate) use stacks::{FlameFormat, StackArgs, StackWeight};
pub(crate) use view::ViewArgs;
pub(crate) use work::{By, OpsArgs, ThroughputArgs, WorkArgs};

/// Why were the GPUs slow? Reads traces of torch.profiler and JAX and says where the time went.
#[derive(Debug, Parser)]
#[command(name = "gpuscope", version, max_term_width = 100, disable_help_subcommand = true, after_help = examples::ALL)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Why it is slow and what would help: findings with their gain, on one screen and as a report
    #[command(after_help = examples::ANALYZE)]
    Analyze(Asked),
    /// What is in the traces: ranks, devices, steps, time span, events by category
    #[command(after_help = examples::INFO)]
    Info(Asked),
    /// Where GPU time went: computation, exposed communication, exposed copies, idle; per rank, device and step
    #[command(after_help = examples::BREAKDOWN)]
    Breakdown {
        /// Also split idle time: gaps shorter than this many microseconds are micro idle
        #[arg(long, value_name = "X", value_parser = parse::positive, allow_negative_numbers = true)]
        micro_idle_us: Option<f64>,
        #[command(flatten)]
        asked: Asked,
    },
    /// Share of time the GPU computed, did something else, or idled
    #[command(after_help = examples::TEMPORAL)]
    Temporal(Asked),
    /// Kernels by time, and which kinds of work overlapped
    #[command(after_help = examples::KERNELS)]
    Kernels {
        /// Keep the N largest of each rank and kind, fold the rest into `others`
        #[arg(long, value_name = "N")]
        num_kernels: Option<usize>,
        /// Keep the fewest that make up this share (0 to 1) of their kind's time
        #[arg(long, value_name = "R", value_parser = parse::ratio, allow_negative_numbers = true)]
        duration_ratio: Option<f64>,
        /// Leave copies and memory sets out
        #[arg(long)]
        exclude_memory: bool,
        #[command(flatten)]
        asked: Asked,
    },
    /// How much communication was hidden behind computation
    #[command(after_help = examples::OVERLAP)]
    Overlap(Asked),
    /// What idle GPUs waited for, and what the host did meanwhile
    #[command(after_help = examples::IDLE)]
    Idle {
        /// A gap shorter than this many microseconds is the ordinary price of a launch
        #[arg(long, value_name = "X", default_value_t = 30.0, value_parser = parse::positive, allow_negative_numbers = true)]
        consecutive_kernel_delay_us: f64,
        #[command(flatten)]
        asked: Asked,
    },
    /// Each launch: time in the call, on the GPU, and between
    #[command(after_help = examples::LAUNCHES)]
    Launches {
        /// Calls longer than this many microseconds are outliers
        #[arg(long, value_name = "X", default_value_t = 50.0, value_parser = parse::positive, allow_negative_numbers = true)]
        runtime_cutoff_us: f64,
        /// Delays longer than this many microseconds are outliers
        #[arg(long, value_name = "X", default_value_t = 100.0, value_parser = parse::positive, allow_negative_numbers = true)]
        launch_delay_cutoff_us: f64,
        #[command(flatten)]
        asked: Asked,
    },
    /// How much work waited for the GPU, stream by stream
    #[command(after_help = examples::QUEUE)]
    Queue {
        /// Also the length after every change
        #[arg(long)]
        series: bool,
        /// A queue this long is full; by default, one as long as those on which calls waited
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
        max_queue_length: Option<i64>,
        #[command(flatten)]
        asked: Asked,
    },
    /// How fast copies went, kind by kind
    #[command(after_help = examples::BANDWIDTH)]
    Bandwidth {
        /// Also every copy
        #[arg(long)]
        series: bool,
        #[command(flatten)]
        asked: Asked,
    },
    /// GPU time by phase: forward, backward, recomputation, gradients, optimizer, data
    #[command(after_help = examples::PHASES)]
    Phases(Asked),
    /// GPU time of each module of the model, forward and backward apart, as a tree
    #[command(after_help = examples::LAYERS)]
    Layers {
        /// Only modules with fewer than this many others around them
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        depth: Option<u32>,
        #[command(flatten)]
        asked: Asked,
    },
    /// TFLOP/s of each module of the model, forward and backward apart; tokens and samples per second
    #[command(after_help = examples::THROUGHPUT)]
    Throughput(ThroughputArgs),
    /// Which lines of the program put the work on the GPU: the call tree, equal paths merged
    #[command(after_help = examples::STACKS)]
    Stacks {
        #[command(flatten)]
        wanted: StackArgs,
        #[command(flatten)]
        asked: Asked,
    },
    /// The call tree drawn: a flame graph as a page (-o flame.html), a picture or a file for other tools
    #[command(after_help = examples::FLAME)]
    Flame {
        #[command(flatten)]
        wanted: FlameArgs,
        #[command(flatten)]
        asked: Asked,
    },
    /// Sequences of kernels that an operator launches again and again
    #[command(after_help = examples::PATTERNS)]
    Patterns {
        /// Look below the outermost events with this text in their name [default: operators]
        #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
        operator: Option<String>,
        /// Leave shorter sequences out
        #[arg(long, value_name = "N", default_value_t = 3)]
        min_pattern_len: usize,
        /// How many of each rank
        #[arg(long, value_name = "N", default_value_t = 5)]
        top_k: usize,
        #[command(flatten)]
        asked: Asked,
    },
    /// What each operator launches, and how long it takes to get there
    #[command(after_help = examples::OP_KERNELS)]
    OpKernels(Asked),
    /// Which operators took the GPU's time: by category, by name, or by their arguments
    #[command(after_help = examples::OPS)]
    Ops(OpsArgs),
    /// How much memory was taken, when most, and by whom
    #[command(after_help = examples::MEMORY)]
    Memory {
        /// Also what was taken after every change
        #[arg(long)]
        series: bool,
        #[command(flatten)]
        asked: Asked,
    },
    /// What hardware counters measured, operator by operator
    #[command(after_help = examples::COUNTERS)]
    Counters(Asked),
    /// How long the stretches took that somebody named
    #[command(after_help = examples::ANNOTATIONS)]
    Annotations {
        /// Only their shadows on the GPU
        #[arg(long, conflicts_with = "cpu")]
        gpu: bool,
        /// Only those of the host
        #[arg(long)]
        cpu: bool,
        /// Also which kernels ran under them
        #[arg(long)]
        kernels: bool,
        #[command(flatten)]
        asked: Asked,
    },
    /// What would have to be faster for a step to be faster: the chain of waiting from its end to its start
    #[command(after_help = examples::CRITICAL_PATH)]
    CriticalPath {
        /// The window is that of host annotations whose name contains this; "" for the whole trace [default: the median step]
        #[arg(long, value_name = "NAME")]
        annotation: Option<String>,
        /// Which of the annotations: I, or A..B with both ends in, counted from 0
        #[arg(long, value_name = "I|A..B", default_value = "0", value_parser = parse::instances, requires = "annotation")]
        instance: (usize, usize),
        #[command(flatten)]
        asked: Asked,
    },
    /// When did what run: host and GPU activity; with -o timeline.html every event to look at
    #[command(after_help = examples::TIMELINE)]
    Timeline(Asked),
    /// One chart as a picture: bars, pies, box plots, heat maps, courses over time; --list names them
    #[command(after_help = examples::PLOT)]
    Plot(PlotArgs),
    /// Every event to look at, however many: serves the timeline on this machine and opens the browser
    #[command(after_help = examples::VIEW)]
    View(ViewArgs),
    /// The dashboard: the runs of a folder in the browser as they land, and the same answers for programs
    #[command(after_help = examples::SERVE)]
    Serve(ServeArgs),
    /// Answers an agent's questions about the runs of a folder (Model Context Protocol, over standard input and output)
    #[command(after_help = examples::MCP)]
    Mcp(McpArgs),
    /// Each collective over all ranks: waiting and transfer apart, bandwidth, who came last and why
    #[command(after_help = examples::COLLECTIVES)]
    Collectives {
        /// How many GPUs a machine has, to tell links within from links between [default: from the traces]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        gpus_per_node: Option<u32>,
        #[command(flatten)]
        asked: Asked,
    },
    /// Which rank holds the others up, how often, and why
    #[command(after_help = examples::STRAGGLERS)]
    Stragglers(Asked),
    /// How an inference server spends its GPU: prefill and decode, the steady state, what graphs replay
    #[command(after_help = examples::INFERENCE)]
    Inference {
        /// Traces recorded while graphs were captured: they tell the operators of replayed kernels
        #[arg(long, value_name = "TRACE", value_parser = NonEmptyStringValueParser::new())]
        capture: Vec<String>,
        #[command(flatten)]
        asked: Asked,
    },
    /// How long a step would take if something were different
    #[command(after_help = examples::WHATIF)]
    Whatif {
        #[command(flatten)]
        changes: ChangeArgs,
        #[command(flatten)]
        asked: Asked,
    },
    /// What changed from one run to another: every event name, on the host and on the GPU
    #[command(after_help = examples::DIFF)]
    Diff {
        /// Compare the --rank of one run with the median of its other ranks, or with rank N
        #[arg(long, value_name = "median|N", requires = "rank", value_parser = parse::against)]
        against: Option<Against>,
        /// Exit with 1 if this holds, such as `step_time > +3% and step_time > +2ms`
        #[arg(long, value_name = "EXPR")]
        fail_on: Option<String>,
        /// Which call paths the change in GPU time comes from, rather than which names
        #[arg(long, conflicts_with_all = ["against", "fail_on"])]
        tree: bool,
        #[command(flatten)]
        asked: Asked,
    },
    /// One recording at a glance: time, memory, kernels, what to do; of a program (SCRIPT.py [ARGS]) that is run for it,
    /// or of a trace
    #[command(after_help = examples::PROFILE)]
    Profile(Asked),
    /// Every breakdown of all ranks in one report, what holds the job up, and what to do
    #[command(after_help = examples::HTA)]
    Hta(Asked),
    /// What torch.compile compiled, how long it took, where graphs broke and what was fused
    #[command(after_help = examples::COMPILE)]
    Compile(CompileArgs),
    /// Benchmarks: measure configurations, show them as a dashboard, compare runs, and fail when they got slower
    #[command(after_help = examples::BENCH, subcommand)]
    Bench(BenchCommand),
    /// The history of measured runs, from benchmarks and traces: add, list, show, trends, prune
    #[command(after_help = examples::HISTORY, subcommand)]
    History(HistoryCommand),
    /// Write traces anew: cut, with counters, anonymised, or in another compression
    #[command(after_help = examples::CONVERT)]
    Convert(Convert),
    /// What is wrong with the data; exit code 1 if anything is an error
    #[command(after_help = examples::CHECK)]
    Check(Asked),
    /// Write a simulated eight-rank job with planted faults, and analyse it
    #[command(after_help = examples::DEMO)]
    Demo(Demo),
    /// Print a completion script for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions { shell: Shell },
    /// The least that reading a file can cost on this machine, for benchmarks
    #[command(hide = true)]
    Limits {
        file: PathBuf,
        #[arg(long, value_enum)]
        what: Limit,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        super::Cli::command().debug_assert();
    }
}
