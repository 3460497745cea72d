//! The report of a run: first what to act on, then what proves it, and every event to look at.

use std::io::{self, Write};

use gpuscope_analysis::dossier::DossierAnswer;

use super::charts::Charts;
use super::{escaped, first_screen, inputs, quality, shell, tables};
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
    if picture.is_some() {
        body.extend(b"<a href=\"#timeline\">Timeline</a>");
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
    let mut shell = shell("gpuscope report", &body, charts, data);
    shell.style.push_str(timeline::STYLE);
    shell.write(out)
}

fn contents(sections: &[Section], out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"<nav class=\"contents\" aria-label=\"Sections\"><ul>\n")?;
    for section in sections {
        writeln!(out, "<li><a href=\"#{}\">{}</a></li>", section.id, escaped(section.question))?;
    }
    out.write_all(b"</ul></nav>\n")
}

fn write_section(section: &Section, charts: &mut Charts, out: &mut impl Write) -> io::Result<()> {
    let Section { id, question, says, figures, tables } = section;
    write!(
        out,
        "<section id=\"{id}\" aria-labelledby=\"{id}-heading\">\n<h2 id=\"{id}-heading\">{}</h2>\n<p>{}</p>\n",
        escaped(question),
        escaped(says)
    )?;
    let (open, folded) = figures.split_at(figures.len().min(OPEN_CHARTS));
    for figure in open {
        charts.write(figure, out)?;
    }
    if !folded.is_empty() {
        writeln!(out, "<details class=\"more\"><summary>{} more charts</summary>", folded.len())?;
        for figure in folded {
            charts.write(figure, out)?;
        }
        out.write_all(b"</details>\n")?;
    }
    for table in tables {
        writeln!(out, "<h3>{}</h3>", escaped(&text::one_line(&table.title)))?;
        tables::write(table, out)?;
    }
    out.write_all(b"</section>\n")
}
