//! `gpuscope analyze`: everything at once, a screenful for people and a report for later.

use std::path::{Path, PathBuf};

use gpuscope_analysis::analyze::{AnalyzeAnswer, TopCollective, TopKernel};
use gpuscope_analysis::findings::Finding;
use gpuscope_analysis::{Analyze, Dossier};
use gpuscope_job::Outcome;
use gpuscope_report::summary::{self, Item, List, Share, Summary};
use gpuscope_report::units;

use super::{ask, options};
use crate::Console;
use crate::args::{Asked, OutputArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::session::Wanted;

/// Where the report goes unless told otherwise.
const REPORT: &str = "gpuscope-report.html";

/// What fits a screen.
const FINDINGS: usize = 3;
const KERNELS: usize = 3;
const COLLECTIVES: usize = 2;

/// What the page may hold of the timeline and still open at once.
const MOST_SLICES: usize = 1_000_000;
/// Paths that take less than one part in two thousand are no wider than a pixel.
const LEAST_SHARE: f64 = 0.0005;

pub(crate) fn run(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let OutputArgs { json, csv, explain, table, .. } = &asked.output;
    let report = asked.output.output.clone().unwrap_or_else(|| PathBuf::from(REPORT));
    let to_file = OutputArgs { output: Some(report.clone()), ..asked.output.clone() };
    let is_for_program = console.wants(Wanted::Tables) || console.wants(Wanted::Figures);
    if *json || *csv || *explain || table.is_some() || !is_page(&report) || is_for_program {
        return tables(asked, console);
    }
    let output = Output::new(&asked.output)?;
    // A program that wants a report says where.
    if console.session.is_some() && asked.output.output.is_none() {
        let outcome = ask(&Analyze, asked, options(asked, console)?, &output, console)?;
        show(&outcome, &asked.traces, Report::NotAsked, &output, console)?;
        return Ok(Exit::DONE);
    }
    let run = console.open(&asked.traces, options(asked, console)?)?;
    output.spare(|file| run.reads(file))?;
    let outcome = run.ask(&dossier(run.inputs()))?;
    // A folder that cannot be written to is no reason to keep the answer back, unless a file was asked for.
    let report = match Output::new(&to_file)?.write_report("analyze", &outcome) {
        Ok(()) => Report::Written(&report),
        Err(failure) if asked.output.output.is_some() => return Err(failure),
        Err(_) => Report::Unwritable,
    };
    let outcome = outcome.map(|dossier| dossier.analyze);
    show(&outcome, &asked.traces, report, &output, console)?;
    Ok(Exit::DONE)
}

pub(crate) fn dossier(inputs: usize) -> Dossier {
    Dossier { most_slices: MOST_SLICES / inputs.max(1), least_share: LEAST_SHARE }
}

fn is_page(file: &Path) -> bool {
    let end = file.extension().map(|end| end.to_string_lossy().to_ascii_lowercase());
    matches!(end.as_deref(), Some("html" | "htm" | "pdf"))
}

/// The answer as tables, where no page is wanted.
fn tables(asked: &Asked, console: &mut Console<'_>) -> Result<Exit, Failure> {
    let output = Output::new(&asked.output)?;
    let outcome = ask(&Analyze, asked, options(asked, console)?, &output, console)?;
    output.write("analyze", &outcome, console)?;
    let OutputArgs { json, csv, explain, table, output: file, .. } = &asked.output;
    if let (Some(file), false) = (file, *json || *csv || *explain || table.is_some()) {
        show(&outcome, &asked.traces, Report::Written(file), &output, console)?;
    }
    Ok(Exit::DONE)
}

/// What became of the page.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Report<'p> {
    Written(&'p Path),
    Unwritable,
    NotAsked,
}

/// The screenful.
pub(crate) fn show(
    outcome: &Outcome<AnalyzeAnswer>,
    traces: &[String],
    report: Report<'_>,
    output: &Output<'_>,
    console: &mut Console<'_>,
) -> Result<(), Failure> {
    let answer = &outcome.answer;
    let paths = quoted(traces);
    let summary = Summary {
        headline: headline(outcome, &paths),
        verdict: answer.verdict.clone(),
        figures: figures(answer),
        course: course(answer),
        bar: bar(answer),
        unlike: answer.step.differs.map(|differs| differs.sentence()),
        lists: vec![findings(answer, &paths), kernels(answer), collectives(answer)],
        closing: closing(outcome, report, &paths),
    };
    Ok(summary::write(&summary, output.style(console), &mut console.out)?)
}

fn headline(outcome: &Outcome<AnalyzeAnswer>, paths: &str) -> String {
    let events: u64 = outcome.inputs.iter().map(|input| input.events).sum();
    let ranks = outcome.inputs.len();
    let ranks = if ranks == 1 { "1 rank".to_owned() } else { format!("{ranks} ranks") };
    format!(
        "{paths} · {ranks} · {} steps · {} events",
        outcome.answer.step.steps,
        units::count(events as i64)
    )
}

/// Paths as a shell would take them.
fn quoted(traces: &[String]) -> String {
    let quote = |path: &String| {
        let plain = path.chars().all(|c| c.is_alphanumeric() || "/._-+=:@%~".contains(c));
        if plain && !path.is_empty() { path.clone() } else { format!("'{}'", path.replace('\'', "'\\''")) }
    };
    let all: Vec<String> = traces.iter().map(quote).collect();
    all.join(" ")
}

fn figures(answer: &AnalyzeAnswer) -> String {
    let step = &answer.step;
    let Some(median) = step.median_ns else { return "No steps are marked in these traces.".to_owned() };
    let mut parts = vec![format!("Step {} median", units::duration(median.0))];
    parts.extend(step.p99_ns.map(|p99| format!("{} p99", units::duration(p99.0))));
    // Ranks that wait for each other have one step time.
    if answer.breakdown.ranks.len() > 1 && step.spread_pct >= 0.05 {
        parts.push(format!("{:.1} % longer on the slowest rank", step.spread_pct));
    }
    if step.inferred {
        parts.push("steps are inferred".to_owned());
    }
    parts.join(" · ")
}

/// The time from step to step, on the rank whose step time is the median.
fn course(answer: &AnalyzeAnswer) -> Vec<f64> {
    let mut ranks: Vec<_> =
        answer.breakdown.ranks.iter().filter(|rank| rank.step_time_ns.is_some()).collect();
    ranks.sort_by_key(|rank| rank.step_time_ns);
    let Some(median) = ranks.len().checked_sub(1).map(|last| ranks[last / 2]) else { return Vec::new() };
    let steps = if median.steps.is_empty() { &median.inferred_steps } else { &median.steps };
    steps.iter().filter_map(|step| Some(step.period_ns?.as_f64())).collect()
}

fn bar(answer: &AnalyzeAnswer) -> Vec<Share> {
    let step = &answer.step;
    vec![
        Share { label: "computation", pct: step.computation_pct, fill: '█', color: "32" },
        Share { label: "communication", pct: step.exposed_comm_pct, fill: '▓', color: "33" },
        Share { label: "copies", pct: step.exposed_memcpy_pct, fill: '▒', color: "36" },
        Share { label: "idle", pct: step.idle_pct, fill: '░', color: "31" },
    ]
}

fn findings(answer: &AnalyzeAnswer, paths: &str) -> List {
    let shown = || answer.findings.iter().take(FINDINGS);
    let item = |(i, finding): (usize, &Finding)| Item {
        text: format!("{} {}", i + 1, finding.title),
        value: match (finding.gain_ns, finding.gain_pct) {
            (Some(ns), Some(pct)) => format!("{} {pct:.0} %", units::duration(ns.0)),
            _ => "–".to_owned(),
        },
        more: Some(format!("  see: {} {paths}", finding.command)),
    };
    let mut items: Vec<Item> = shown().enumerate().map(item).collect();
    let worth = shown().filter(|finding| finding.gain_ns.is_some()).count();
    if let (true, Some(ns), Some(pct)) = (worth > 1, answer.joint_gain_ns, answer.joint_gain_pct) {
        items.push(Item {
            text: format!("  the first {worth} together"),
            value: format!("{} {pct:.0} %", units::duration(ns.0)),
            more: None,
        });
    }
    List { title: "What to do".to_owned(), heading: "saves of a step".to_owned(), items }
}

fn kernels(answer: &AnalyzeAnswer) -> List {
    let item = |kernel: &TopKernel| Item {
        text: match &kernel.operator {
            Some(operator) => format!("{operator}: {}", kernel.name),
            None => kernel.name.clone(),
        },
        value: format!("{} {:4.1} %", units::duration(kernel.sum_ns.0), kernel.pct),
        more: None,
    };
    List {
        title: "Kernels".to_owned(),
        heading: "of GPU time".to_owned(),
        items: answer.top_kernels.iter().take(KERNELS).map(item).collect(),
    }
}

fn collectives(answer: &AnalyzeAnswer) -> List {
    let item = |collective: &TopCollective| {
        let mut words = vec![collective.name.clone()];
        words.extend(collective.group.as_ref().map(|group| format!("group {group}")));
        words.extend(collective.size_bytes.map(units::bytes));
        words.extend(collective.bus_gb_per_s.map(|speed| format!("{speed:.0} GB/s")));
        words.extend(collective.last_rank.map(|rank| format!("rank {rank} last")));
        Item { text: words.join(" · "), value: units::duration(collective.exposed_ns.0), more: None }
    };
    List {
        title: "Collectives".to_owned(),
        heading: "exposed".to_owned(),
        items: answer.top_collectives.iter().take(COLLECTIVES).map(item).collect(),
    }
}

fn closing(outcome: &Outcome<AnalyzeAnswer>, report: Report<'_>, paths: &str) -> Vec<String> {
    let mut lines = Vec::new();
    match outcome.quality.len() {
        0 => {}
        1 => lines.push(format!("Data: {}", outcome.quality[0].message)),
        n => lines.push(format!("Data: {n} notes, see gpuscope check {paths}")),
    }
    match report {
        Report::NotAsked => {}
        Report::Written(report) => lines.push(format!("Report: {}", report.display())),
        Report::Unwritable => {
            lines.push(format!("No report: {REPORT} cannot be written here; name a file with -o"));
        }
    }
    lines
}
