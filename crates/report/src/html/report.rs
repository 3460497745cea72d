//! The report of a run: first what to act on, then what proves it, and every event to look at.

use std::io::{self, Write};

use gpuscope_analysis::dossier::DossierAnswer;
use gpuscope_analysis::flame::FlameAnswer;
use gpuscope_figure::Figure;

use super::charts::{self, Charts};
use super::{escaped, first_screen, inputs, quality, shell, tables};
use crate::chart::svg::Dress;
use crate::flame::{self, FlameGraph};
use crate::page::Page;
use crate::section::{self, Section};
use crate::{text, timeline};

/// Charts of a section that are in sight at once; more are below a fold.
const OPEN_CHARTS: usize = 2;

pub fn write(dossier: &DossierAnswer, page: &Page<'_>, out: impl Write) -> io::Result<()> {
    let headline = text::one_line(&page.headline());
    let mut body = Vec::new();
    let picture = dossier.timeline.picture.as_ref();
    body.extend(b"<nav class=\"views\" aria-label=\"Views\"><b>gpuscope</b><a href=\"#report\">Report</a>");
    let flame = drawn_flame(&dossier.flame);
    if picture.is_some() {
        body.extend(b"<a href=\"#timeline\">Timeline</a>");
    }
    if flame.is_some() {
        body.extend(b"<a href=\"#flame\">Flame graph</a>");
    }
    body.extend(b"</nav>\n<div id=\"view-report\"><main class=\"column\">\n");
    writeln!(body, "<p class=\"soft\">{}</p>", escaped(&headline))?;
    first_screen::write(dossier, page, &mut body)?;
    let (mut charts, sections) = (Charts::default(), section::of(dossier));
    contents(&sections, &mut body)?;
    for section in &sections {
        write_section(section, &mut charts, &mut body)?;
    }
    quality(page, &mut body)?;
    inputs(page, &mut body)?;
    body.extend(b"</main></div>\n");
    let mut data = Vec::new();
    if let Some(picture) = picture {
        let embedded = timeline::embedded(picture, &headline);
        writeln!(body, "<div id=\"view-timeline\" hidden>{}</div>", embedded.body)?;
        data.push(embedded.data);
    }
    if let Some(flame) = flame {
        let embedded = FlameGraph { title: &headline, ..flame }.embedded();
        writeln!(body, "<div id=\"view-flame\" hidden>{}</div>", embedded.body)?;
        data.push(embedded.data);
    }
    let mut shell = shell("gpuscope report", &body, charts, data);
    shell.style.push_str(timeline::STYLE);
    shell.style.push_str(flame::STYLE);
    shell.write(out)
}

/// Unless there is nothing to draw.
fn drawn_flame(answer: &FlameAnswer) -> Option<FlameGraph<'_>> {
    (!answer.nodes.is_empty()).then(|| FlameGraph::new(answer, ""))
}

fn contents(sections: &[Section<'_>], out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"<nav class=\"contents\" aria-label=\"Sections\"><ul>\n")?;
    for section in sections {
        writeln!(out, "<li><a href=\"#{}\">{}</a></li>", section.id, escaped(section.question))?;
    }
    out.write_all(b"</ul></nav>\n")
}

fn write_section(section: &Section<'_>, charts: &mut Charts, out: &mut impl Write) -> io::Result<()> {
    let Section { id, question, says, figures, flame, tables } = section;
    write!(
        out,
        "<section id=\"{id}\" aria-labelledby=\"{id}-heading\">\n<h2 id=\"{id}-heading\">{}</h2>\n<p>{}</p>\n",
        escaped(question),
        escaped(says)
    )?;
    let groups: Vec<&[Figure]> = figures.chunk_by(charts::alike).collect();
    let (open, folded) = groups.split_at(groups.len().min(OPEN_CHARTS));
    open.iter().try_for_each(|figures| charts.write_group(figures, out))?;
    if !folded.is_empty() {
        let s = if folded.len() == 1 { "" } else { "s" };
        writeln!(out, "<details class=\"more\"><summary>{} more chart{s}</summary>", folded.len())?;
        folded.iter().try_for_each(|figures| charts.write_group(figures, out))?;
        out.write_all(b"</details>\n")?;
    }
    if let Some(graph) = flame.and_then(drawn_flame) {
        writeln!(
            out,
            "<p><a href=\"#flame\">Open the flame graph</a> to zoom and search.</p>\n<figure>{}</figure>",
            graph.svg(&Dress::PAGE).0
        )?;
    }
    for table in tables {
        writeln!(out, "<h3>{}</h3>", escaped(&text::one_line(&table.title)))?;
        tables::write(table, out)?;
    }
    out.write_all(b"</section>\n")
}
