//! What `--help` ends with: commands to copy. A test runs through all of them.

pub(crate) const ALL: &str = "\
Examples:
  gpuscope demo                        try it without a trace of your own
  gpuscope breakdown rank0.json.gz     where the time of one GPU went
  gpuscope breakdown traces/           of a whole job, one trace per rank
  gpuscope kernels traces/ --json      for scripts";

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

pub(crate) const ANNOTATIONS: &str = "\
Examples:
  gpuscope annotations traces/ --gpu";

pub(crate) const DIFF: &str = "\
Examples:
  gpuscope diff before/ after/
  gpuscope diff before.json.gz after.json.gz -o diff.html
  gpuscope diff traces/ --rank 5 --against median
  gpuscope diff before/ after/ --fail-on 'step_time > +3% and step_time > +2ms'";

pub(crate) const HTA: &str = "\
Examples:
  gpuscope hta traces/
  gpuscope hta traces/ -o report.html
  gpuscope hta rank0.json.gz -o report.json --json";

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
    use clap::Parser;

    use super::*;
    use crate::args::Cli;

    /// The command of an example, without its explanation and what a shell would do with it.
    fn command(line: &str) -> Vec<String> {
        let line = line.trim().split("   ").next().unwrap_or_default();
        if let Some((before, quoted)) = line.split_once(" '") {
            let quoted = quoted.trim_end_matches('\'').to_owned();
            return before.split_whitespace().map(str::to_owned).chain([quoted]).collect();
        }
        let line = line.split(['>', '&']).next().unwrap_or_default();
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn every_example_is_a_command_that_is_understood() {
        let all = [
            ALL,
            INFO,
            BREAKDOWN,
            TEMPORAL,
            KERNELS,
            OVERLAP,
            IDLE,
            LAUNCHES,
            QUEUE,
            BANDWIDTH,
            ANNOTATIONS,
            DIFF,
            CONVERT,
            CHECK,
            DEMO,
            COMPLETIONS,
        ];
        for text in all {
            for line in text.lines().skip(1) {
                assert!(line.chars().count() <= 80, "{line}");
                assert!(Cli::try_parse_from(command(line)).is_ok(), "{line}");
            }
        }
    }
}
