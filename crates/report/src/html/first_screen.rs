//! What a person sees first and can act on: the verdict, six numbers, where the median step went, what to do, and how far
//! the data can be trusted.

use std::io::{self, Write};

use gpuscope_analysis::dossier::{DossierAnswer, KeyNumber, MedianStep, StepPart, What, Worst};
use gpuscope_figure::Hue;
use gpuscope_table::Unit;

use super::{escaped, findings};
use crate::page::Page;
use crate::units;

/// Findings beyond these are below a fold.
const MOST_FINDINGS: usize = 5;

pub(super) fn write(dossier: &DossierAnswer, page: &Page<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<h1 class=\"verdict\">{}</h1>", escaped(&dossier.analyze.verdict))?;
    out.write_all(b"<dl class=\"numbers\">\n")?;
    for number in &dossier.numbers {
        write_number(number, out)?;
    }
    out.write_all(b"</dl>\n")?;
    if let Some(step) = &dossier.median_step {
        bar(step, out)?;
    }
    writeln!(out, "<p class=\"soft\">{}</p>", escaped(&setting(dossier)))?;
    out.write_all(b"<section aria-labelledby=\"what-to-do\"><h2 id=\"what-to-do\">What to do</h2>\n")?;
    if dossier.analyze.findings.is_empty() {
        out.write_all(b"<p>Nothing above 2 % of a step was found.</p>\n")?;
    } else {
        findings::list(dossier, page, MOST_FINDINGS, out)?;
    }
    out.write_all(b"</section>\n")?;
    trust(page, out)
}

fn write_number(number: &KeyNumber, out: &mut impl Write) -> io::Result<()> {
    let shown = number.value.map_or("–".to_owned(), |value| three(value, number.unit));
    write!(
        out,
        "<div data-number=\"{}\"><dt>{}</dt><dd><b>{}</b>",
        number.name,
        escaped(number.label),
        escaped(&shown)
    )?;
    if let Some(note) = &number.note {
        write!(out, "<span class=\"soft\">{}</span>", escaped(note))?;
    }
    if let Some(worst) = &number.worst {
        write!(out, "<span class=\"soft\">{}</span>", escaped(&spread(worst, number.unit)))?;
    }
    if number.steps.len() > 1 {
        sparkline(&number.steps, out)?;
    }
    out.write_all(b"</dd></div>\n")
}

/// The rank that is worst off, and how far from the others.
fn spread(worst: &Worst, unit: Unit) -> String {
    let sign = if worst.from_median < 0.0 { "−" } else { "+" };
    let distance = worst.from_median.abs();
    let (is_alike, distance) = match unit {
        Unit::Percent => (distance < 0.05, format!("{distance:.1} points")),
        unit => (distance < worst.value.abs() / 1_000.0, three(distance, unit)),
    };
    if is_alike {
        return "all ranks alike".to_owned();
    }
    format!("rank {}: {}, {sign}{distance}", worst.rank, three(worst.value, unit))
}

/// Three digits are what a person reads.
fn three(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Percent => format!("{value:.1} %"),
        Unit::Ns | Unit::Bytes => {
            let text = units::int(value.round() as i64, unit);
            let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
            // Four digits are for tables.
            let number = match number.split_once('.') {
                Some((whole, part)) if whole.len() + part.len() > 3 => {
                    let places = 3_usize.saturating_sub(whole.len());
                    number.parse::<f64>().map_or(number.to_owned(), |value| format!("{value:.places$}"))
                }
                _ => number.to_owned(),
            };
            format!("{number} {unit}")
        }
        unit => units::float(value, unit),
    }
}

/// A value over the steps, from zero, so that small changes look small.
fn sparkline(values: &[f64], out: &mut impl Write) -> io::Result<()> {
    const WIDTH: f64 = 120.0;
    const HEIGHT: f64 = 24.0;
    let most = values.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
    if most <= 0.0 {
        return Ok(());
    }
    let step = WIDTH / (values.len() - 1) as f64;
    let points: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(i, value)| {
            format!("{:.1},{:.1}", i as f64 * step, HEIGHT - 1.0 - value / most * (HEIGHT - 2.0))
        })
        .collect();
    write!(
        out,
        "<svg class=\"spark\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"over {} steps\">\
         <polyline points=\"{}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\"/></svg>",
        values.len(),
        points.join(" ")
    )
}

fn bar(step: &MedianStep, out: &mut impl Write) -> io::Result<()> {
    write!(
        out,
        "<figure class=\"step\"><figcaption>The median step: step {} of rank {}, {}</figcaption>\n\
         <div class=\"stacked\" role=\"img\" aria-label=\"Parts of the step, as listed below\">",
        step.step,
        step.rank,
        escaped(&units::duration(step.length_ns.0))
    )?;
    for part in &step.parts {
        write!(
            out,
            "<span class=\"{}\" style=\"flex-grow:{};background-color:{}\" data-ns=\"{}\" title=\"{}: {} ns, {:.1} %\"></span>",
            if is_striped(part.what) { "striped" } else { "plain" },
            part.ns.0,
            hue(part.what).hex(),
            part.ns.0,
            escaped(&label(part)),
            units::count(part.ns.0),
            part.ns.pct_of(step.length_ns),
        )?;
    }
    out.write_all(b"</div>\n<ul class=\"legend\">\n")?;
    for part in &step.parts {
        writeln!(
            out,
            "<li><i class=\"{}\" style=\"background-color:{}\"></i>{} <b>{}</b> <span class=\"soft\">{:.1} %</span></li>",
            if is_striped(part.what) { "striped" } else { "plain" },
            hue(part.what).hex(),
            escaped(&label(part)),
            escaped(&units::duration(part.ns.0)),
            part.ns.pct_of(step.length_ns),
        )?;
    }
    out.write_all(b"</ul></figure>\n")
}

fn label(part: &StepPart) -> String {
    let what = match part.what {
        What::Computation => "computation",
        What::Waiting => "waiting for ranks",
        What::Transfer => "transfer",
        What::Copy => "copies",
        What::IdleHost => "idle: host",
        What::IdleLaunch => "idle: launch",
        What::IdleQueued => "idle: queued",
        What::IdleUnlinked => "idle: launch not recorded",
        What::Lead => "before the first GPU work",
        What::Tail => "after the last",
    };
    match &part.group {
        Some(group) => format!("{what} ({group})"),
        None => what.to_owned(),
    }
}

fn hue(what: What) -> Hue {
    match what {
        What::Computation => Hue::Compute,
        What::Waiting | What::Transfer => Hue::Communication,
        What::Copy => Hue::Copy,
        What::IdleHost => Hue::Host,
        What::IdleLaunch | What::IdleQueued | What::IdleUnlinked | What::Lead | What::Tail => Hue::Idle,
    }
}

/// Two parts of one colour are told apart by stripes.
fn is_striped(what: What) -> bool {
    matches!(what, What::Waiting | What::IdleQueued | What::Tail)
}

/// What ran where, and how it was recorded.
fn setting(dossier: &DossierAnswer) -> String {
    let ranks = &dossier.info.ranks;
    let mut models: Vec<&str> =
        ranks.iter().flat_map(|rank| &rank.devices).filter_map(|device| device.name.as_deref()).collect();
    models.sort_unstable();
    models.dedup();
    let mut hosts: Vec<&str> = ranks.iter().filter_map(|rank| rank.host_name.as_deref()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let counted = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let mut parts = vec![if models.is_empty() { "unnamed GPUs".to_owned() } else { models.join(", ") }];
    parts.push(counted(ranks.len(), "rank"));
    if !hosts.is_empty() {
        parts.push(counted(hosts.len(), "host"));
    }
    if let Some(first) = ranks.first() {
        parts.extend(first.versions.iter().map(|(name, version)| versioned(name, version)).take(4));
        let recording = &first.recording;
        let options = [
            (recording.shapes, "shapes"),
            (recording.stacks, "stacks"),
            (recording.memory, "memory"),
            (recording.modules, "modules"),
            (recording.flops, "FLOPs"),
        ];
        let on: Vec<&str> =
            options.into_iter().filter(|(on, _)| *on == Some(true)).map(|(_, name)| name).collect();
        if !on.is_empty() {
            parts.push(format!("recorded with {}", on.join(", ")));
        }
    }
    let used = dossier.analyze.breakdown.ranks.first().and_then(|rank| rank.step_time.as_ref());
    if let Some(used) = used {
        parts.push(format!("{} of {} steps used", used.steps_used, dossier.analyze.step.steps));
    }
    parts.join(" · ")
}

/// `cuda_runtime_version` 12060 is known to people as CUDA runtime 12.6.
fn versioned(name: &str, version: &str) -> String {
    let name = name.strip_suffix("_version").unwrap_or(name).replace('_', " ");
    let name =
        ["cuda", "cupti", "nccl"].iter().fold(name, |name, word| name.replace(word, &word.to_uppercase()));
    match version.parse::<u32>() {
        Ok(number) if name.starts_with("CUDA") && number >= 1_000 => {
            format!("{name} {}.{}", number / 1_000, number % 1_000 / 10)
        }
        _ => format!("{name} {version}"),
    }
}

/// One line; in the colour of a warning if numbers above may rest on it.
fn trust(page: &Page<'_>, out: &mut impl Write) -> io::Result<()> {
    let inputs = page.inputs.len();
    let ranks =
        if inputs == 1 { "The rank was read".to_owned() } else { format!("All {inputs} ranks were read") };
    let is_grave =
        page.findings().iter().any(|finding| finding.severity() != "info" && finding.severity() != "note");
    let class = if is_grave { "warning" } else { "soft" };
    let notes = page.verdict().map_or("nothing is wrong with the data".to_owned(), |verdict| verdict);
    writeln!(out, "<p class=\"{class} trust\">{ranks}; <a href=\"#quality\">{}</a>.</p>", escaped(&notes))
}
