//! What `analyze` says in the terminal: the verdict, a step in figures, and what to do, with its grounds and a command that
//! shows more.

use gpuscope_analysis::analyze::{AnalyzeAnswer, PhaseTimes, Serving, TopCollective, TopKernel};
use gpuscope_analysis::counters::JoinedRow;
use gpuscope_analysis::findings::Finding;
use gpuscope_job::Outcome;
use gpuscope_report::summary::{self, Item, Line, List, Share, Summary};
use gpuscope_report::{Trust, units};

use super::{REPORT, Report};
use crate::Console;
use crate::exit::Failure;
use crate::output::Output;

/// What a person takes in at once.
const FINDINGS: usize = 3;
const KERNELS: usize = 3;
const COLLECTIVES: usize = 2;
/// Warnings about the data; `check` lists them all.
const WARNINGS: usize = 2;

pub(crate) fn show(
    outcome: &Outcome<AnalyzeAnswer>,
    traces: &[String],
    report: Report<'_>,
    output: &Output<'_>,
    console: &mut Console<'_>,
) -> Result<(), Failure> {
    let answer = &outcome.answer;
    let paths = quoted(traces);
    if answer.graph_capture.is_some() {
        let events: u64 = outcome.inputs.iter().map(|input| input.events).sum();
        let summary = Summary {
            about: paths.clone(),
            headline: format!(" · {} events", units::count(events as i64)),
            verdict: answer.verdict.clone(),
            closing: closing(outcome, report, &paths),
            ..Summary::default()
        };
        return Ok(summary::write(&summary, output.style(console), &mut console.out)?);
    }
    let mut lists: Vec<List> = answer.inference.iter().map(serving).collect();
    lists.extend([findings(answer, &paths), kernels(answer), measured(answer), collectives(answer)]);
    let summary = Summary {
        about: paths.clone(),
        headline: headline(outcome),
        verdict: answer.verdict.clone(),
        figures: figures(answer),
        course: course(answer),
        whole: "From first to last GPU work".to_owned(),
        bar: bar(answer),
        unlike: answer.step.differs.map(|differs| differs.sentence()),
        lists,
        closing: closing(outcome, report, &paths),
    };
    Ok(summary::write(&summary, output.style(console), &mut console.out)?)
}

fn headline(outcome: &Outcome<AnalyzeAnswer>) -> String {
    let events: u64 = outcome.inputs.iter().map(|input| input.events).sum();
    let ranks = counted(outcome.inputs.len(), "rank");
    let steps = counted(outcome.answer.step.steps, "step");
    format!(" · {ranks} · {steps} · {} events", units::count(events as i64))
}

fn counted(count: usize, word: &str) -> String {
    match count {
        0 => format!("no {word}s"),
        1 => format!("1 {word}"),
        n => format!("{n} {word}s"),
    }
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
        let whose = if answer.inference.is_some() { "steps of the server" } else { "steps are inferred" };
        parts.push(whose.to_owned());
    }
    let held_up = answer.inference.as_ref().map(|serving| serving.held_up_ns.0).filter(|ns| *ns > 0);
    if let (Some(held_up), 1) = (held_up, step.steps) {
        parts.push(format!("for {} of it work from before the recording ran", units::duration(held_up)));
    }
    parts.join(" · ")
}

/// What a token takes, and each phase of a server in figures.
fn serving(serving: &Serving) -> List {
    let token = serving.time_per_output_token_ns.map(|time| Item {
        text: "time per output token: the median step that produces one for every request".to_owned(),
        value: units::duration(time.0),
        ..Item::default()
    });
    let phase = |row: &PhaseTimes| {
        let mut words = vec![row.phase.label().to_owned(), counted(row.steps as usize, "step")];
        words.extend(row.mean_requests.map(|mean| counted(mean.round() as usize, "request")));
        words.push(format!("GPU busy {:.0} %", row.gpu_busy_pct));
        if row.replayed_pct > 0.0 {
            words.push(format!("{:.0} % of its work replayed by graphs", row.replayed_pct));
        }
        Item { text: words.join(" · "), value: units::duration(row.median_ns.0), ..Item::default() }
    };
    let told = serving.attributed_pct.map(|pct| Item {
        text: format!(
            "operators of {pct:.0} % of what graphs replayed are known from {}",
            serving.captures.join(", ")
        ),
        ..Item::default()
    });
    let items = token.into_iter().chain(serving.phases.iter().map(phase)).chain(told).collect();
    List { title: "Inference".to_owned(), heading: "median step".to_owned(), items }
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
    let mut items: Vec<Item> = shown().enumerate().map(|(i, finding)| item(i + 1, finding, paths)).collect();
    items.extend(together(answer));
    let hidden = answer.findings.len().saturating_sub(FINDINGS);
    if hidden > 0 {
        let text = format!("  and {hidden} more in the report and with --json");
        items.push(Item { text, ..Item::default() });
    }
    let heading =
        if shown().any(|finding| finding.gain_ns.is_some()) { saves(answer) } else { String::new() };
    List { title: "What to do".to_owned(), heading, items }
}

fn item(number: usize, finding: &Finding, paths: &str) -> Item {
    let labelled = |label, prose: &str, names: &[String]| Line::Labelled {
        label,
        prose: prose.to_owned(),
        names: names.to_vec(),
    };
    let mut more = Vec::new();
    if !finding.evidence.text.is_empty() {
        more.push(labelled("seen", &finding.evidence.text, &finding.evidence.names));
    }
    more.push(labelled("advice", finding.advice, &[]));
    let confidence = finding.confidence.label();
    let confidence = match &finding.caveat {
        Some(caveat) => format!("{confidence}: {caveat}"),
        None => confidence.to_owned(),
    };
    more.push(labelled("confidence", &confidence, &[]));
    more.push(Line::Command(format!("{} {paths}", finding.command)));
    Item {
        text: format!("{number} {}", finding.title),
        value: match (finding.gain_ns, finding.gain_pct) {
            (Some(ns), Some(pct)) => gain(ns.0, pct),
            _ => "–".to_owned(),
        },
        more,
        ..Item::default()
    }
}

/// What the findings are worth together, and why that is not their sum.
fn together(answer: &AnalyzeAnswer) -> Option<Item> {
    let alone: Vec<i64> = answer.findings.iter().filter_map(|finding| Some(finding.gain_ns?.0)).collect();
    let (ns, pct) = (answer.joint_gain_ns?.0, answer.joint_gain_pct?);
    let sum: i64 = alone.iter().sum();
    let why = match ns.cmp(&sum) {
        std::cmp::Ordering::Less => ": they overlap",
        std::cmp::Ordering::Equal => "",
        std::cmp::Ordering::Greater => ": each hides part of what the others cost",
    };
    let all = if alone.len() == 2 { "both".to_owned() } else { format!("all {}", alone.len()) };
    let text = format!("  {all} together{why}");
    (alone.len() > 1).then(|| Item { text, value: gain(ns, pct), ..Item::default() })
}

fn gain(ns: i64, pct: f64) -> String {
    format!("{} {pct:3.0} %", units::duration(ns))
}

/// What the gains are per cent of: what makes the first of them so many per cent.
fn saves(answer: &AnalyzeAnswer) -> String {
    let gains = answer.findings.iter().find_map(|finding| finding.gain_ns.zip(finding.gain_pct));
    let whole =
        gains.filter(|(_, pct)| *pct > 0.0).map(|(ns, pct)| (100.0 * ns.as_f64() / pct).round() as i64);
    // A share of a whole, in floating point, gives it back to a few nanoseconds.
    let whole = match (whole, answer.step.median_ns) {
        (Some(whole), Some(median)) if (whole - median.0).abs() <= 1 + median.0 / 1_000_000 => Some(median.0),
        _ => whole,
    };
    let what = if answer.step.steps == 0 { "a recording" } else { "a step" };
    whole.map_or_else(
        || format!("saves of {what}"),
        |ns| format!("saves of {what} of {}", units::duration(ns)),
    )
}

fn kernels(answer: &AnalyzeAnswer) -> List {
    let item = |kernel: &TopKernel| Item {
        text: kernel.operator.as_ref().map(|operator| format!("{operator}: ")).unwrap_or_default(),
        name: kernel.name.clone(),
        value: format!("{} {:4.1} %", units::duration(kernel.sum_ns.0), kernel.pct),
        ..Item::default()
    };
    List {
        title: "Kernels".to_owned(),
        heading: "of GPU time".to_owned(),
        items: answer.top_kernels.iter().take(KERNELS).map(item).collect(),
    }
}

/// What the rules of Nsight Compute estimate, over all launches of a kernel in the trace.
fn measured(answer: &AnalyzeAnswer) -> List {
    let mut rows: Vec<&JoinedRow> =
        answer.measured.iter().filter(|row| row.estimated_gain_ns.is_some()).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.estimated_gain_ns));
    rows.dedup_by(|a, b| a.kernel == b.kernel);
    let item = |row: &&JoinedRow| Item {
        name: row.kernel.clone(),
        value: format!("{} at most", units::duration(row.estimated_gain_ns.map_or(0, |gain| gain.0))),
        ..Item::default()
    };
    List {
        title: "Kernels that Nsight Compute would make faster".to_owned(),
        heading: "saves of GPU time".to_owned(),
        items: rows.iter().take(KERNELS).map(item).collect(),
    }
}

fn collectives(answer: &AnalyzeAnswer) -> List {
    let item = |collective: &TopCollective| {
        let mut words = vec![collective.name.clone()];
        words.extend(collective.group.as_ref().map(|group| format!("group {group}")));
        words.extend(collective.size_bytes.map(units::bytes));
        words.extend(collective.bus_gb_per_s.map(|speed| format!("{speed:.0} GB/s")));
        words.extend(collective.last_rank.map(|rank| format!("rank {rank} last")));
        Item { text: words.join(" · "), value: units::duration(collective.exposed_ns.0), ..Item::default() }
    };
    List {
        title: "Collectives".to_owned(),
        heading: "exposed".to_owned(),
        items: answer.top_collectives.iter().take(COLLECTIVES).map(item).collect(),
    }
}

fn closing(outcome: &Outcome<AnalyzeAnswer>, report: Report<'_>, paths: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(trust) = Trust::in_data(&outcome.quality) {
        lines.push(Line::Prose(format!("Data: {}", trust.counted)));
        lines.extend(trust.foremost.into_iter().take(WARNINGS).map(Line::Indented));
        lines.push(Line::Command(format!("  gpuscope check {paths}")));
    }
    match report {
        Report::NotAsked => {}
        Report::Written(report) => lines.push(Line::Prose(format!("Report: {}", report.display()))),
        Report::Unwritable => {
            lines.push(Line::Prose(format!(
                "No report: {REPORT} cannot be written here; name a file with -o"
            )));
        }
    }
    lines
}
