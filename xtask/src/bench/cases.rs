//! What is run on which input, and running it: round after round over all cases, the best of each kept.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::inputs::Input;
use crate::measure::{self, Cost};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Breakdown,
    Kernels,
    /// Limits, measured inside the process: a bare structural scan, bare inflation, parsing from memory.
    Scan,
    Inflate,
    Parse,
    Read,
    /// Peers.
    JsonLoads,
    Orjson,
    Hta,
}

impl Tool {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Breakdown => "gpuscope breakdown",
            Self::Kernels => "gpuscope kernels",
            Self::Scan => "limit: bare scan",
            Self::Inflate => "limit: bare inflate",
            Self::Parse => "limit: parse from memory",
            Self::Read => "gpuscope, reading alone",
            Self::JsonLoads => "Python json.loads",
            Self::Orjson => "Python orjson.loads",
            Self::Hta => "HTA 0.5.0",
        }
    }

    pub(super) fn is_limit(self) -> bool {
        matches!(self, Self::Scan | Self::Inflate | Self::Parse | Self::Read)
    }

    pub(super) fn is_gpuscope(self) -> bool {
        matches!(self, Self::Breakdown | Self::Kernels)
    }
}

#[derive(Debug)]
pub(super) struct Case {
    /// Index of the input.
    pub(super) input: usize,
    pub(super) gz: bool,
    pub(super) tool: Tool,
    command: Vec<String>,
    rounds: usize,
    pub(super) cost: Option<Cost>,
    /// Events, where the tool says.
    pub(super) events: Option<u64>,
    /// Why there is no cost.
    pub(super) fault: Option<String>,
}

const JSON_LOADS: &str = "import json,sys; json.loads(open(sys.argv[1],'rb').read())";
const ORJSON: &str = "import orjson,sys; orjson.loads(open(sys.argv[1],'rb').read())";
/// Loading and the two questions that `breakdown` and `kernels` answer.
const HTA: &str = "\
import sys
from hta.trace_analysis import TraceAnalysis
a = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir='')
a.get_temporal_breakdown(visualize=False)
a.get_gpu_kernel_breakdown(visualize=False)
";

pub(super) fn plan(binary: &Path, python: Option<&Path>, inputs: &[Input], rounds: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        let mut add = |tool: Tool, gz: bool, program: &Path, words: &[&str], rounds: usize| {
            let file = if gz { &input.gz } else { &input.plain };
            let file = file.to_string_lossy();
            let words = words.iter().map(|w| if *w == "FILE" { file.as_ref() } else { w });
            let command =
                std::iter::once(program.to_string_lossy().as_ref()).chain(words).map(str::to_owned).collect();
            cases.push(Case {
                input: index,
                gz,
                tool,
                command,
                rounds,
                cost: None,
                events: None,
                fault: None,
            });
        };
        for gz in [false, true] {
            add(Tool::Breakdown, gz, binary, &["breakdown", "FILE", "--json"], rounds);
            add(Tool::Kernels, gz, binary, &["kernels", "FILE", "--json"], rounds);
        }
        add(Tool::Scan, false, binary, &["limits", "FILE", "--what", "scan"], rounds);
        add(Tool::Parse, false, binary, &["limits", "FILE", "--what", "parse"], rounds);
        add(Tool::Inflate, true, binary, &["limits", "FILE", "--what", "inflate"], rounds);
        add(Tool::Read, true, binary, &["limits", "FILE", "--what", "read"], rounds);
        // Peers need gigabytes and minutes: on one made-up trace, and on one that HTA reads, where HTA runs once.
        let Some(python) = python else { continue };
        if index == 0 || input.for_hta {
            add(Tool::JsonLoads, false, python, &["-c", JSON_LOADS, "FILE"], rounds);
            add(Tool::Orjson, false, python, &["-c", ORJSON, "FILE"], rounds);
        }
        if input.for_hta {
            add(Tool::Hta, false, python, &["-c", HTA, "FILE"], 1);
        }
    }
    cases
}

pub(super) fn run(cases: &mut [Case], inputs: &[Input], rounds: usize) {
    for round in 0..rounds {
        for case in cases.iter_mut().filter(|c| round < c.rounds && c.fault.is_none()) {
            let what = format!(
                "{}, {}{}",
                case.tool.name(),
                inputs[case.input].label,
                if case.gz { ", gz" } else { "" }
            );
            match once(case) {
                Ok(cost) => {
                    println!("round {}: {what}: {:.3} CPU s, {:.3} s", round + 1, cost.cpu_s, cost.wall_s);
                    case.cost = Some(case.cost.map_or(cost, |best| best.best(cost)));
                }
                Err(error) => {
                    println!("round {}: {what}: FAILED: {error:#}", round + 1);
                    case.fault = Some(format!("{error:#}"));
                    case.cost = None;
                }
            }
        }
    }
}

fn once(case: &mut Case) -> Result<Cost> {
    let (cost, output) = measure::run(&case.command)?;
    if !case.tool.is_limit() && !case.tool.is_gpuscope() {
        return Ok(cost);
    }
    let answer: Value = serde_json::from_str(output.trim()).context("its output is not JSON")?;
    if case.tool.is_gpuscope() {
        case.events = answer["inputs"][0]["events"].as_u64();
        return Ok(cost);
    }
    let field = |name: &str| answer[name].as_f64().with_context(|| format!("its output has no {name}"));
    case.events = answer["events"].as_u64();
    Ok(Cost { cpu_s: field("cpu_s")?, wall_s: field("wall_s")?, ..cost })
}

/// The median wall time of `breakdown`, started as from a shell.
pub(super) fn median_wall(binary: &Path, input: &Input, runs: usize) -> Result<f64> {
    let words =
        [&binary.to_string_lossy(), "breakdown", &input.plain.to_string_lossy(), "--json"].map(str::to_owned);
    let walls: Result<Vec<f64>> = (0..runs).map(|_| Ok(measure::run(&words)?.0.wall_s)).collect();
    Ok(median(walls?))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { f64::midpoint(values[half - 1], values[half]) }
}

#[cfg(test)]
pub(super) fn case(input: usize, gz: bool, tool: Tool, cpu_s: f64, wall_s: f64, rss_bytes: u64) -> Case {
    let cost = Some(Cost { cpu_s, wall_s, rss_bytes });
    Case { input, gz, tool, command: Vec::new(), rounds: 1, cost, events: None, fault: None }
}

#[cfg(test)]
pub(super) fn some_input(label: &str, bytes: u64) -> Input {
    Input { label: label.to_owned(), plain: "x.json".into(), gz: "x.json.gz".into(), bytes, for_hta: true }
}

#[cfg(test)]
mod tests {
    use super::{Tool, median, plan, some_input};
    use std::path::Path;

    #[test]
    fn every_input_gets_its_cases_and_peers_only_some() {
        let mut inputs = [some_input("a", 1), some_input("b", 1), some_input("c", 1)];
        inputs[0].for_hta = false;
        inputs[1].for_hta = false;
        let count = |python: Option<&Path>, tool| {
            plan(Path::new("g"), python, &inputs, 3).iter().filter(|c| c.tool == tool).count()
        };
        let python = Some(Path::new("p"));
        assert_eq!(
            (count(python, Tool::Breakdown), count(python, Tool::Scan), count(python, Tool::Inflate)),
            (6, 3, 3)
        );
        assert_eq!((count(python, Tool::Orjson), count(python, Tool::Hta)), (2, 1));
        assert_eq!((count(None, Tool::Orjson), count(None, Tool::Hta)), (0, 0));
        let inflate =
            plan(Path::new("g"), None, &inputs, 3).into_iter().find(|c| c.tool == Tool::Inflate).unwrap();
        assert_eq!(inflate.command, ["g", "limits", "x.json.gz", "--what", "inflate"]);
    }

    #[test]
    fn medians() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
    }
}
