//! Every command and flag, in one place.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::examples;
use crate::parse;

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
        /// A queue this long is full and holds launches up
        #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(i64).range(1..))]
        max_queue_length: i64,
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
        /// The window is that of host annotations whose name contains this; "" for the whole trace [default: the middle step]
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
    /// Every event to look at, however many: serves the timeline on this machine and opens the browser
    #[command(after_help = examples::VIEW)]
    View(ViewArgs),
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
    /// Every breakdown of all ranks in one report, what holds the job up, and what to do
    #[command(after_help = examples::HTA)]
    Hta(Asked),
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

/// What every question takes.
#[derive(Debug, Args)]
pub(crate) struct Asked {
    /// Traces: files, folders, globs, tar or zip archives, or `-` for standard input
    #[arg(required = true, value_name = "TRACE", value_parser = NonEmptyStringValueParser::new())]
    pub traces: Vec<String>,
    #[command(flatten)]
    pub selection: SelectionArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct OpsArgs {
    /// How rows are told apart
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = By::Name)]
    pub by: By,
    /// The same as --by args
    #[arg(long, conflicts_with = "by")]
    pub unique_args: bool,
    /// Only the N largest rows of each rank
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Also every kernel of each row, with its stream and the call that launched it
    #[arg(long)]
    pub kernels: bool,
    /// Also how much of each row's time other streams were busy too
    #[arg(long)]
    pub overlap: bool,
    /// Rows of their own for what activation checkpointing ran again
    #[arg(long)]
    pub recompute: bool,
    /// Also the GPU events shorter than this many microseconds, and who launches them
    #[arg(long, value_name = "X", value_parser = parse::positive, allow_negative_numbers = true)]
    pub short_kernels_us: Option<f64>,
    #[command(flatten)]
    pub work: WorkArgs,
    #[command(flatten)]
    pub asked: Asked,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Work")]
pub(crate) struct WorkArgs {
    /// Take the peaks of this GPU, rather than of the one the trace names: h100-sxm, mi300x
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// Peaks of your own, in TFLOP/s without sparsity, and GB/s of memory: bf16=989,memory=3350
    #[arg(long, value_name = "WHAT=N,…")]
    pub peak: Option<String>,
    /// Work models of your own, before the built-in ones
    #[arg(long, value_name = "FILE.toml")]
    pub models: Option<PathBuf>,
    /// FLOPs of the model in one step on one rank, for MFU, rather than those of its operators
    #[arg(long, value_name = "X", value_parser = parse::positive, allow_negative_numbers = true)]
    pub model_flops: Option<f64>,
    /// Tokens of one step on one rank: adds tokens per second and FLOPs per token
    #[arg(long, value_name = "N", value_parser = parse::positive, allow_negative_numbers = true)]
    pub tokens_per_step: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct ThroughputArgs {
    /// Only modules with fewer than this many others around them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub depth: Option<u32>,
    /// Work models of your own, before the built-in ones
    #[arg(long, value_name = "FILE.toml")]
    pub models: Option<PathBuf>,
    /// Tokens of one step on one rank: adds tokens per second
    #[arg(long, value_name = "N", value_parser = parse::positive, allow_negative_numbers = true)]
    pub tokens_per_step: Option<f64>,
    /// Samples of one step on one rank: adds samples per second
    #[arg(long, value_name = "N", value_parser = parse::positive, allow_negative_numbers = true)]
    pub samples_per_step: Option<f64>,
    #[command(flatten)]
    pub asked: Asked,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum By {
    /// Sorts of operators: GEMM, attention, …
    Category,
    /// Operators
    Name,
    /// Operators with the same shapes, types, strides and concrete values
    Args,
}

/// What a rank is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Against {
    Median,
    Rank(u32),
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// Traces: files, folders, globs, tar or zip archives, or `-` for standard input
    #[arg(required = true, value_name = "TRACE", value_parser = NonEmptyStringValueParser::new())]
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
    /// Marks on the critical path of the middle step or the selected ones, and arrows along it
    CriticalPath,
    /// Marks on operators that launch the same kernels again and again
    Patterns,
}

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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FlameFormat {
    /// Folded stacks: `outer;inner 1200`, a line per path
    Collapsed,
    /// A file for speedscope.app
    Speedscope,
}

#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// Traces: files, folders, globs, tar or zip archives, or `-` for standard input
    #[arg(required = true, value_name = "TRACE", value_parser = NonEmptyStringValueParser::new())]
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
    #[arg(long, value_name = "X", default_value_t = 10.0, value_parser = parse::positive, allow_negative_numbers = true)]
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

#[derive(Debug, Args)]
#[command(next_help_heading = "Changes")]
pub(crate) struct ChangeArgs {
    /// Multiply the time of what matches, GPU events or host events: `nccl.*=0`, `aten::item=0.5`; may be repeated
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

#[derive(Debug, Args)]
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
    /// Write a file instead; its extension decides: .json .csv .parquet .xlsx .html .md. A folder (`tables/`) gets every
    /// table as CSV, `tables.parquet/` as Parquet
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
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        super::Cli::command().debug_assert();
    }
}
