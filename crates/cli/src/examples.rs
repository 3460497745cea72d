//! What `--help` ends with: commands to copy. A test runs through all of them.

pub(crate) const ALL: &str = "\
Examples:
  gpuscope demo                        try it without a trace of your own
  gpuscope analyze traces/             why a job is slow and what would help
  gpuscope breakdown rank0.json.gz     where the time of one GPU went
  gpuscope breakdown traces/           of a whole job, one trace per rank
  gpuscope kernels traces/ --json      for scripts";

pub(crate) const ANALYZE: &str = "\
Examples:
  gpuscope analyze traces/                 writes gpuscope-report.html, too
  gpuscope analyze traces/ -o why.html
  gpuscope analyze traces/ -o why.pdf      the same on paper
  gpuscope analyze rank0.json.gz --json";

pub(crate) const INFO: &str = "\
Examples:
  gpuscope info rank0.json.gz
  gpuscope info traces/ --csv --table categories";

pub(crate) const BREAKDOWN: &str = "\
Examples:
  gpuscope breakdown traces/                       every rank of a job
  gpuscope breakdown rank0.json.gz --step 10..12
  gpuscope breakdown traces/ -o breakdown.html     a page to share
  gpuscope breakdown serve.json.gz --step-marker '^execute_'";

pub(crate) const TEMPORAL: &str = "\
Examples:
  gpuscope temporal traces/
  gpuscope temporal traces/ --drop-last-step --csv";

pub(crate) const KERNELS: &str = "\
Examples:
  gpuscope kernels rank0.json.gz --num-kernels 10
  gpuscope kernels traces/ --rank 3 --csv --table kernels";

pub(crate) const OVERLAP: &str = "\
Examples:
  gpuscope overlap traces/
  gpuscope overlap traces/ --step 10..12 --json";

pub(crate) const IDLE: &str = "\
Examples:
  gpuscope idle traces/
  gpuscope idle rank0.json.gz --csv --table host_causes";

pub(crate) const LAUNCHES: &str = "\
Examples:
  gpuscope launches rank0.json.gz --table summary
  gpuscope launches rank0.json.gz --runtime-cutoff-us 20 --csv --table launches";

pub(crate) const QUEUE: &str = "\
Examples:
  gpuscope queue traces/
  gpuscope queue rank0.json.gz --series --csv --table series";

pub(crate) const BANDWIDTH: &str = "\
Examples:
  gpuscope bandwidth traces/";

pub(crate) const PHASES: &str = "\
Examples:
  gpuscope phases traces/
  gpuscope phases rank0.json.gz --step 10..12 --csv --table steps";

pub(crate) const LAYERS: &str = "\
Examples:
  gpuscope layers rank0.json.gz --depth 3
  gpuscope layers traces/ --rank 0 --csv --table calls    a row for a box plot";

pub(crate) const THROUGHPUT: &str = "\
Examples:
  gpuscope throughput rank0.json.gz --depth 3
  gpuscope throughput traces/ --tokens-per-step 16384 --samples-per-step 8
  gpuscope throughput traces/ --rank 0 --csv --table calls    for a box plot
  gpuscope throughput rank0.json.gz --models mine.toml";

pub(crate) const STACKS: &str = "\
Examples:
  gpuscope stacks rank0.json.gz --depth 6
  gpuscope stacks rank0.json.gz --filter 'nn.Module: Linear' --min-us 100
  gpuscope stacks rank0.json.gz -o stacks.collapsed            for flamegraph.pl
  gpuscope stacks rank0.json.gz --by host --all -o x.speedscope.json";

pub(crate) const FLAME: &str = "\
Examples:
  gpuscope flame traces/ -o flame.html        opens in any browser
  gpuscope flame rank0.json.gz --stacks modules -o flame.svg
  gpuscope flame after/ --against before/ -o diff.html
  gpuscope flame rank0.json.gz --by host -o host.speedscope.json
  gpuscope flame rank0.json.gz --max-depth 4 --min-duration-us 100";

pub(crate) const PATTERNS: &str = "\
Examples:
  gpuscope patterns traces/ --rank 0
  gpuscope patterns rank0.json.gz --operator aten::linear --min-pattern-len 2";

pub(crate) const PLOT: &str = "\
Examples:
  gpuscope plot --list
  gpuscope plot bottlenecks traces/ -o bottlenecks.png
  gpuscope plot queue rank0.json.gz --step 3 -o queue.svg
  gpuscope plot breakdown traces/ -o breakdown.html     a page to look into";

pub(crate) const OP_KERNELS: &str = "\
Examples:
  gpuscope op-kernels rank0.json.gz
  gpuscope op-kernels traces/ --rank 0 --csv";

pub(crate) const OPS: &str = "\
Examples:
  gpuscope ops rank0.json.gz --top 20
  gpuscope ops rank0.json.gz --unique-args --gpu h100-sxm   FLOPs and roofline
  gpuscope ops traces/ --rank 0 --kernels --csv --table kernels
  gpuscope ops rank0.json.gz --short-kernels-us 10
  gpuscope ops rank0.json.gz --recompute --tokens-per-step 16384";

pub(crate) const MEMORY: &str = "\
Examples:
  gpuscope memory train.py --epochs 1      runs it and follows what it takes
  gpuscope memory traces/                  recorded with profile_memory=True
  gpuscope memory timeline.raw.json.gz     a file of export_memory_timeline
  gpuscope memory rank0.json.gz --series --csv --table series";

pub(crate) const COUNTERS: &str = "\
Examples:
  gpuscope counters rank0.json.gz
  gpuscope counters rank0.json.gz --csv --table ops";

pub(crate) const ANNOTATIONS: &str = "\
Examples:
  gpuscope annotations traces/ --gpu
  gpuscope annotations rank0.json.gz --kernels --csv --table kernels";

pub(crate) const CRITICAL_PATH: &str = "\
Examples:
  gpuscope critical-path traces/ --rank 0                     of the median step
  gpuscope critical-path traces/ --step 12
  gpuscope critical-path rank0.json.gz --annotation forward --instance 1
  gpuscope critical-path rank0.json.gz -o path.json.gz        for Perfetto";

pub(crate) const WHATIF: &str = "\
Examples:
  gpuscope whatif traces/ --scale 'nccl.*=0'    if transfers took no time
  gpuscope whatif traces/ --scale 'ampere_sgemm.*=0.5'
  gpuscope whatif traces/ --rank-as-median 5
  gpuscope whatif rank0.json.gz --no-launch-overhead --no-sync";
pub(crate) const TIMELINE: &str = "\
Examples:
  gpuscope timeline traces/
  gpuscope timeline traces/ --step 12 -o timeline.html";

pub(crate) const VIEW: &str = "\
Examples:
  gpuscope view traces/
  gpuscope view traces/ --port 8080 --no-open    for ssh -L 8080:localhost:8080";

pub(crate) const SERVE: &str = "\
Examples:
  gpuscope serve
  gpuscope serve traces/ --port 0 --no-open
  gpuscope serve /data/runs --host 0.0.0.0 --writable";

pub(crate) const MCP: &str = "\
Examples:
  gpuscope mcp traces/";

pub(crate) const COLLECTIVES: &str = "\
Examples:
  gpuscope collectives traces/
  gpuscope collectives traces/ --step 10..12 --csv --table collectives
  gpuscope collectives traces/ --table late        who was late, what it did
  gpuscope collectives traces/ --table groups --gpus-per-node 8
  gpuscope collectives traces/ --table clocks      whose clock is how far off";

pub(crate) const STRAGGLERS: &str = "\
Examples:
  gpuscope stragglers traces/
  gpuscope stragglers traces/ --json | jq .data.latest_rank";

pub(crate) const INFERENCE: &str = "\
Examples:
  gpuscope inference serve.json.gz
  gpuscope inference serve.json.gz --capture capture.json.gz
  gpuscope inference serve.json.gz --csv --table steps";

pub(crate) const DIFF: &str = "\
Examples:
  gpuscope diff before/ after/
  gpuscope diff before.json.gz after.json.gz -o diff.html
  gpuscope diff before/ after/ --tree      by modules and operators
  gpuscope diff traces/ --rank 5 --against median
  gpuscope diff before/ after/ --fail-on 'step_time > +3% and step_time > +2ms'";

pub(crate) const PROFILE: &str = "\
Examples:
  gpuscope profile train.py --epochs 1     runs it under torch.profiler
  gpuscope profile -o profile.html train.py
  gpuscope profile trace.json.gz";

pub(crate) const HTA: &str = "\
Examples:
  gpuscope hta traces/
  gpuscope hta traces/ -o report.html
  gpuscope hta rank0.json.gz -o report.json --json";

pub(crate) const COMPILE: &str = "\
Examples:
  gpuscope compile train.py --epochs 1     runs it and says what was compiled
  gpuscope compile logs/      after TORCH_TRACE=logs python train.py
  gpuscope compile logs/ -o compile.html
  gpuscope compile logs/ --csv --table breaks";

pub(crate) const BENCH: &str = "\
Examples:
  gpuscope bench run gpt              the built-in GPT family, on GPU or CPU
  gpuscope bench report profiling_data.json -o dashboard.html
  gpuscope bench compare before.json after.json
  gpuscope bench gate                 exit code 1 if runs got slower";

pub(crate) const BENCH_RUN: &str = "\
Examples:
  gpuscope bench run gpt --batch 4 --seq-len 64,128
  gpuscope bench run bench.toml -o results/data.json
  gpuscope bench run mymodel:forward --trace";

pub(crate) const BENCH_REPORT: &str = "\
Examples:
  gpuscope bench report profiling_data.json        a table
  gpuscope bench report profiling_data.json -o dashboard.html
  gpuscope bench report latest -o dashboard.pdf    from the history";

pub(crate) const BENCH_COMPARE: &str = "\
Examples:
  gpuscope bench compare before.json after.json
  gpuscope bench compare main 3f2a91c -o c.html    runs of the history";

pub(crate) const BENCH_GATE: &str = "\
Examples:
  gpuscope bench gate
  gpuscope bench gate --metric latency --relative 5%
  gpuscope bench gate --absolute 0.1ms --markdown gate.md --junit gate.xml";

pub(crate) const HISTORY: &str = "\
Examples:
  gpuscope history add profiling_data.json
  gpuscope history add traces/ --name llama-8b
  gpuscope history list
  gpuscope history trend --metric latency -o trend.html";

pub(crate) const HISTORY_ADD: &str = "\
Examples:
  gpuscope history add profiling_data.json --label main
  gpuscope history add traces/ --name llama-8b --commit 3f2a91c
  gpuscope history add rank0.json.gz --kernel 'flash|gemm'";

pub(crate) const HISTORY_TREND: &str = "\
Examples:
  gpuscope history trend
  gpuscope history trend --benchmark gpt_nano --metric latency -o trend.html";

pub(crate) const HISTORY_PRUNE: &str = "\
Examples:
  gpuscope history prune --keep 500
  gpuscope history prune --older-than 90d --dry-run";

pub(crate) const CONVERT: &str = "\
Examples:
  gpuscope convert rank0.json.gz -o cut.json.gz --step 10..12
  gpuscope convert rank0.json.gz -o counters.json.gz --add queue,bandwidth
  gpuscope convert traces/ -o to-share/ --anonymize";

pub(crate) const CHECK: &str = "\
Examples:
  gpuscope check traces/ && echo sound
  gpuscope check traces/ --csv";

pub(crate) const DEMO: &str = "\
Examples:
  gpuscope demo
  gpuscope demo --ranks 4 -o /tmp/job";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  gpuscope completions bash > ~/.gpuscope-completion.bash    then source it
  gpuscope completions zsh > ~/.zfunc/_gpuscope
  gpuscope completions fish > ~/.config/fish/completions/gpuscope.fish";

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::{CommandFactory, Parser};

    use crate::args::Cli;
    use crate::record;

    /// The words of an example as a shell would have them, without its explanation and what a shell does itself.
    fn command(line: &str) -> Vec<String> {
        let line = line.trim().split("   ").next().unwrap_or_default();
        let mut words = Vec::new();
        // Every second piece was quoted.
        for (i, piece) in line.split('\'').enumerate() {
            if i % 2 == 1 {
                words.push(piece.to_owned());
                continue;
            }
            let (before, ends) =
                piece.split_once(['>', '&', '|']).map_or((piece, false), |(before, _)| (before, true));
            words.extend(before.split_whitespace().map(str::to_owned));
            if ends {
                break;
            }
        }
        words
    }

    #[test]
    fn every_command_has_examples_that_are_understood() {
        let commands = Cli::command();
        let shown = commands.get_subcommands().filter(|command| !command.is_hide_set());
        let below = commands.get_subcommands().flat_map(clap::Command::get_subcommands);
        let below = below.filter(|command| command.get_after_help().is_some());
        for shown in std::iter::once(&commands).chain(shown).chain(below) {
            let text = shown.get_after_help().unwrap_or_else(|| panic!("{} has none", shown.get_name()));
            for line in text.to_string().lines().skip(1) {
                assert!(line.chars().count() <= 80, "{line}");
                let words = command(line);
                let program: Vec<OsString> = words.iter().skip(1).map(OsString::from).collect();
                let understood = record::is_wanted(&program) || Cli::try_parse_from(words).is_ok();
                assert!(understood, "{line}");
            }
        }
    }
}
