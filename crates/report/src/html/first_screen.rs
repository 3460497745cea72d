//! What a person sees first and can act on: the verdict, six numbers, where the median step went, what to do, and how far
//! the data can be trusted.

use std::io::{self, Write};

use gpuscope_analysis::dossier::{DossierAnswer, KeyNumber, MedianStep, What};

use super::{escaped, findings};
use crate::page::Page;
use crate::{key_numbers, setting, units};

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
    writeln!(out, "<p class=\"soft\">{}</p>", escaped(&setting::of(dossier)))?;
    out.write_all(b"<section aria-labelledby=\"what-to-do\"><h2 id=\"what-to-do\">What to do</h2>\n")?;
    if dossier.analyze.findings.is_empty() {
        writeln!(out, "<p>{}</p>", escaped(&key_numbers::nothing_found(dossier)))?;
    } else {
        findings::list(dossier, page, MOST_FINDINGS, out)?;
    }
    out.write_all(b"</section>\n")?;
    trust(page, out)
}

fn write_number(number: &KeyNumber, out: &mut impl Write) -> io::Result<()> {
    let shown = key_numbers::value(number);
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
    if let Some(spread) = key_numbers::spread(number) {
        write!(out, "<span class=\"soft\">{}</span>", escaped(&spread))?;
    }
    if number.steps.len() > 1 {
        sparkline(&number.steps, out)?;
    }
    out.write_all(b"</dd></div>\n")
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
            part.what.hue().hex(),
            part.ns.0,
            escaped(&part.label()),
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
            part.what.hue().hex(),
            escaped(&part.label()),
            escaped(&units::duration(part.ns.0)),
            part.ns.pct_of(step.length_ns),
        )?;
    }
    out.write_all(b"</ul></figure>\n")
}

/// Two parts of one colour are told apart by stripes.
fn is_striped(what: What) -> bool {
    matches!(what, What::Waiting | What::Lead | What::Tail)
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
