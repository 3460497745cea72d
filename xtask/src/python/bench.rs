//! `cargo xtask python-bench`: what loading a trace from Python costs, beside HTA in the same run, and what an import costs.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::Python;
use crate::bench::document;
use crate::steps::{Outcome, capture};
use crate::venv;
use crate::workspace::{self, Workspace};

const ROUNDS: usize = 3;
/// HTA may take no less than this many times our CPU time.
const LOADING: f64 = 60.0;
const IMPORT_MS: f64 = 50.0;

/// CPU seconds of the statement between the two clocks: neither the interpreter's start nor imports count.
const OURS: &str = "\
import sys, time, gpuscope
a = time.process_time()
gpuscope.open(sys.argv[1]).load()
print(time.process_time() - a)
";
const DROP_IN: &str = "\
import sys, time, pandas, pyarrow
from gpuscope.hta import TraceAnalysis
a = time.process_time()
TraceAnalysis(trace_files={0: sys.argv[1]}).get_temporal_breakdown(visualize=False)
print(time.process_time() - a)
";
const HTA: &str = "\
import sys, time
from hta.trace_analysis import TraceAnalysis
a = time.process_time()
TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir='')
print(time.process_time() - a)
";
const IMPORT: &str = "\
import time
a = time.perf_counter()
import gpuscope
print(time.perf_counter() - a)
";

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let Some(corpus) = workspace.corpus() else {
        return Ok(Outcome::Skipped("no ../shared, and so no real trace to load".to_owned()));
    };
    let file = corpus.join("traces").join("trace_diff_control.json.gz");
    let python = Python::build(workspace)?;
    python.install()?;
    let (ours, theirs) = (python.clean_python(), venv::python(&workspace::cache()?)?);
    let cases: [(&str, &Path, &str); 4] = [
        ("`gpuscope.open(…).load()`", &ours, OURS),
        ("`gpuscope.hta.TraceAnalysis`, with a temporal breakdown", &ours, DROP_IN),
        ("HTA 0.5.0 `TraceAnalysis`, loading alone", &theirs, HTA),
        ("`import gpuscope`, wall", &ours, IMPORT),
    ];
    let mut best = [f64::INFINITY; 4];
    for round in 1..=ROUNDS {
        for ((what, python, program), best) in cases.iter().zip(&mut best) {
            let seconds = once(python, program, &file)?;
            println!("round {round}: {what}: {seconds:.3} s");
            *best = best.min(seconds);
        }
    }
    let ratio = |i: usize| best[2] / best[i];
    let rows = cases.iter().enumerate().take(3);
    let rows: Vec<String> =
        rows.map(|(i, (what, _, _))| format!("| {what} | {:.3} | {:.1} |\n", best[i], ratio(i))).collect();
    let heads = "| from Python, trace_diff_control.json.gz | CPU s | HTA / this |\n|---|---:|---:|";
    let table = format!("{heads}\n{}\n{}: {:.1} ms.\n", rows.concat(), cases[3].0, best[3] * 1e3);
    let met = |met: bool| if met { "met" } else { "NOT MET" };
    let import = best[3] * 1e3;
    let acceptance = format!(
        "- {}: loading, HTA CPU / gpuscope CPU: {:.1}, at least {LOADING}\n- {}: import: {import:.1} ms, below {IMPORT_MS} ms\n",
        met(ratio(0) >= LOADING),
        ratio(0),
        met(import < IMPORT_MS),
    );
    println!("\n{table}\n{acceptance}");
    document::update(&workspace.root.join("BENCHMARKS.md"), document::PYTHON, &table, &acceptance)?;
    Ok(Outcome::Done)
}

fn once(python: &Path, program: &str, file: &Path) -> Result<f64> {
    let output = capture(Command::new(python).args(["-c", program]).arg(file))?;
    let last = output.lines().last().unwrap_or_default();
    last.trim().parse().with_context(|| format!("expected seconds, found {last:?}"))
}
