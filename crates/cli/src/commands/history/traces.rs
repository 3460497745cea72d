//! The numbers of traces, as a run of the history.

use std::path::Path;
use std::time::UNIX_EPOCH;

use gpuscope_analysis::analyze::AnalyzeAnswer;
use gpuscope_analysis::info::InfoAnswer;
use gpuscope_analysis::kernels::KernelsAnswer;
use gpuscope_analysis::{Analyze, Info, Kernels, Question};
use gpuscope_bench::history::{self, Measurement, NewRun};
use gpuscope_bench::{KERNEL_TIME, Metric, time};
use gpuscope_job::{Outcome, Run};
use gpuscope_report::one_line;
use gpuscope_trace::Ns;
use regex_lite::Regex;
use serde_json::{Map, json};

use crate::Console;
use crate::args::AddArgs;
use crate::commands::options_of;
use crate::exit::Failure;

/// What the numbers are taken from.
struct Answers {
    analyze: AnalyzeAnswer,
    info: InfoAnswer,
    kernels: Option<KernelsAnswer>,
}

impl Answers {
    /// In one walk over the ranks.
    fn of(run: &Run, kernels: Option<&Kernels>) -> Result<Outcome<Answers>, Failure> {
        let Outcome { answer: locals, inputs, quality } = run.each(|rank, view| {
            let kernels = kernels.map(|kernels| kernels.local(rank, view));
            (Analyze.local(rank, view), Info.local(rank, view), kernels)
        })?;
        let (mut analyze, mut info, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for local in locals {
            analyze.push(local.0);
            info.push(local.1);
            rows.extend(local.2);
        }
        let answer = Answers {
            analyze: Analyze.merge(analyze),
            info: Info.merge(info),
            kernels: kernels.map(|kernels| kernels.merge(rows)),
        };
        Ok(Outcome { answer, inputs, quality })
    }
}

pub(super) fn measured(
    asked: &AddArgs,
    traces: &[String],
    project: String,
    console: &Console<'_>,
) -> Result<NewRun, Failure> {
    let wanted = asked.kernel.as_deref().map(expression).transpose()?;
    let run = console.open(traces, options_of(&asked.selection, &asked.reading, console)?)?;
    let all = wanted.is_some().then(|| Kernels { num_kernels: Some(usize::MAX), ..Kernels::default() });
    let outcome = Answers::of(&run, all.as_ref())?;
    let name = asked.name.clone().unwrap_or_else(|| stem(&traces[0]));
    let answer = &outcome.answer;
    let mut values = scalars(&answer.analyze);
    if let (Some(kernels), Some(wanted)) = (&answer.kernels, &wanted) {
        values.extend(matching(kernels, wanted, per_step(&answer.analyze)));
    }
    let mut measurements: Vec<Measurement> = Vec::new();
    for (metric, value) in values {
        let Some(metric) = Metric::known(&metric) else { continue };
        if value.is_finite() && measurements.iter().all(|before| before.metric.name != metric.name) {
            measurements.push(Measurement {
                benchmark: name.clone(),
                batch: None,
                seq_len: None,
                metric,
                value,
                interval: None,
                samples: Vec::new(),
                config: Map::new(),
            });
        }
    }
    let mut metadata = Map::new();
    metadata.insert("traces".to_owned(), json!(traces));
    metadata.insert("ranks".to_owned(), json!(outcome.inputs.len()));
    metadata.insert("steps".to_owned(), json!(answer.analyze.step.steps));
    Ok(NewRun {
        run_id: fingerprint(
            &outcome.inputs.iter().map(|input| input.path.as_str()).collect::<Vec<_>>(),
            asked,
        ),
        at: time::now(),
        project,
        label: asked.label.clone(),
        source: "trace",
        device: device(&answer.info),
        revision: asked.commit.clone(),
        note: None,
        metadata,
        measurements,
    })
}

fn expression(text: &str) -> Result<Regex, Failure> {
    Regex::new(text).map_err(|error| {
        Failure::usage(
            format!("--kernel {text}: {error}"),
            "the expression is searched for in the names of kernels",
        )
    })
}

/// What a sum over all ranks and steps is divided by.
fn per_step(answer: &AnalyzeAnswer) -> f64 {
    (answer.breakdown.ranks.len().max(1) * answer.step.steps.max(1)) as f64
}

/// Sums are of one rank and step: traces of more steps are comparable.
fn scalars(answer: &AnalyzeAnswer) -> Vec<(String, f64)> {
    let step = &answer.step;
    let shares = per_step(answer);
    let sum = |part: fn(&gpuscope_analysis::breakdown::Times) -> Ns| {
        answer.breakdown.ranks.iter().map(|rank| part(&rank.total)).sum::<Ns>().as_f64() / shares
    };
    // What the worst GPU took: the host's memory is another matter.
    let on_gpus = answer.memory.devices.iter().filter(|device| device.device != "cpu");
    let peak = on_gpus.map(|device| device.peak.allocated_bytes).max();
    let numbers = [
        ("step_time", step.median_ns.map(Ns::as_f64)),
        ("step_time_p99", step.p99_ns.map(Ns::as_f64)),
        ("gpu_time", Some(sum(|times| times.busy_ns))),
        ("exposed_comm", Some(sum(|times| times.exposed_comm_ns))),
        ("exposed_copies", Some(sum(|times| times.exposed_memcpy_ns))),
        ("idle_share", Some(step.idle_pct)),
        ("busy_share", Some(100.0 - step.idle_pct)),
        ("peak_memory", peak.map(|bytes| bytes as f64)),
    ];
    // Without GPU work there is nothing to take a share of.
    let on_gpu = answer.breakdown.ranks.iter().any(|rank| rank.total.total_ns > Ns::ZERO);
    let of_steps = ["step_time", "step_time_p99", "peak_memory"];
    let numbers = numbers.into_iter().filter(|(name, _)| on_gpu || of_steps.contains(name));
    let named = numbers.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let kernels = answer
        .top_kernels
        .iter()
        .map(|kernel| (format!("{KERNEL_TIME}{}", one_line(&kernel.name)), kernel.sum_ns.as_f64() / shares));
    named.chain(kernels).collect()
}

fn matching(kernels: &KernelsAnswer, wanted: &Regex, shares: f64) -> Vec<(String, f64)> {
    let mut sums = std::collections::BTreeMap::<&str, f64>::new();
    for kernel in kernels.kernels.iter().filter(|kernel| wanted.is_match(&kernel.name)) {
        *sums.entry(&kernel.name).or_default() += kernel.sum_ns.as_f64();
    }
    sums.into_iter().map(|(name, sum)| (format!("{KERNEL_TIME}{}", one_line(name)), sum / shares)).collect()
}

fn device(info: &InfoAnswer) -> String {
    let names = info.ranks.iter().flat_map(|rank| &rank.devices).filter_map(|device| device.name.clone());
    let mut names: Vec<String> = names.filter(|name| !name.trim().is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { "unknown".to_owned() } else { names.join(", ") }
}

/// `traces/llama.json.gz` is called `llama`.
fn stem(trace: &str) -> String {
    let path = Path::new(trace);
    let absolute = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name =
        absolute.file_name().map_or_else(|| trace.to_owned(), |name| name.to_string_lossy().into_owned());
    if path.is_dir() { name } else { name.split('.').next().unwrap_or(&name).to_owned() }
}

/// The same files with the same options are the same run: adding them again adds nothing.
fn fingerprint(paths: &[&str], asked: &AddArgs) -> String {
    let file = |path: &&str| {
        let about = std::fs::metadata(path).ok();
        let changed = about.as_ref().and_then(|about| about.modified().ok()?.duration_since(UNIX_EPOCH).ok());
        let full = Path::new(path).canonicalize().unwrap_or_default();
        format!("{} {:?} {changed:?}", full.display(), about.map(|about| about.len()))
    };
    let files: Vec<String> = paths.iter().map(file).collect();
    let said = format!("{:?} {:?} {files:?}", asked.name, asked.selection);
    format!("trace-{}", history::fingerprint(&said))
}
