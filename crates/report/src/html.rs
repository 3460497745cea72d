//! Pages: one self-contained file each, that opens from disk without a network, readable in light and dark.
//!
//! Everything can be read before any script has run: tables are whole, charts are painted as SVG. Scripts then sort and
//! search the tables, and let plotly take over the charts that come into sight.

mod charts;
mod findings;
mod first_screen;
mod lead;
mod report;
mod tables;

use std::io::{self, Write};

use gpuscope_figure::Figure;
use gpuscope_table::Table;

use crate::page::Page;
use crate::page_shell::{Script, Shell};
use crate::text;
use crate::units;

pub use report::write as write_report;

use charts::Charts;

/// For pages of tables and charts.
pub(crate) const STYLE: &str = include_str!("html/page.css");
const SCRIPT: Script = Script(include_str!(concat!(env!("OUT_DIR"), "/report.js")));

/// The answer to one question.
pub fn write(page: &Page<'_>, out: impl Write) -> io::Result<()> {
    let title = format!("gpuscope {}", page.command);
    let mut body = Vec::new();
    match page.lead {
        Some(lead) => lead::write(lead, page, &mut body)?,
        None => heading(&title, page, &mut body)?,
    }
    let in_panel = |table: &Table| page.lead.is_some_and(|lead| lead.panel == Some(table.name));
    let mut charts = Charts::default();
    charts.write_all(page.figures, &mut body)?;
    for table in page.shown().filter(|table| !in_panel(table)) {
        writeln!(body, "<h2>{}</h2>", escaped(&text::one_line(&table.title)))?;
        if findings::are_in(table) {
            findings::write(table, page, &mut body)?;
        } else {
            tables::write(table, &mut body)?;
        }
    }
    if page.lead.is_none() {
        quality(page, &mut body)?;
        inputs(page, &mut body)?;
    }
    body.extend(b"</main>\n");
    shell(&title, &body, charts, Vec::new()).write(out)
}

fn heading(title: &str, page: &Page<'_>, out: &mut impl Write) -> io::Result<()> {
    let about = text::one_line(&page.headline());
    write!(
        out,
        "<main class=\"column\">\n<h1>{}</h1>\n<p class=\"soft\">{}</p>\n",
        escaped(title),
        escaped(&about)
    )?;
    match page.takeaway() {
        Some(takeaway) => writeln!(out, "<p class=\"takeaway\">{}</p>", escaped(&text::one_line(takeaway))),
        None => Ok(()),
    }
}

/// Charts and nothing else; `about` says what was drawn.
pub fn write_figures(figures: &[Figure], about: &str, out: impl Write) -> io::Result<()> {
    let mut body = Vec::new();
    write!(body, "<main class=\"column\">\n<p class=\"soft\">{}</p>\n", escaped(&text::one_line(about)))?;
    let mut charts = Charts::default();
    charts.write_all(figures, &mut body)?;
    body.extend(b"</main>\n");
    let title = figures.first().map_or("gpuscope", |figure| &figure.title);
    shell(title, &body, charts, Vec::new()).write(out)
}

/// With the library for charts only where there are any.
fn shell(title: &str, body: &[u8], charts: Charts, data: Vec<(&'static str, String)>) -> Shell {
    Shell {
        title: title.to_owned(),
        style: STYLE.to_owned(),
        body: String::from_utf8_lossy(body).into_owned(),
        data: charts.data().into_iter().chain(data).collect(),
        scripts: vec![SCRIPT],
        inflated: vec![charts::PLOTLY_HASH],
    }
}

fn quality(page: &Page<'_>, out: &mut impl Write) -> io::Result<()> {
    let verdict = page.verdict().unwrap_or_else(|| "nothing to report".to_owned());
    write!(out, "<h2 id=\"quality\">Quality of the data: {verdict}</h2>\n<ul>\n")?;
    for finding in page.findings() {
        let severity = finding.severity();
        let whose = finding.whose().map(|whose| format!("{whose}: ")).unwrap_or_default();
        writeln!(
            out,
            "<li><b class=\"{severity}\">{severity}</b> {whose}{}</li>",
            escaped(&finding.message())
        )?;
    }
    out.write_all(b"</ul>\n")
}

fn inputs(page: &Page<'_>, out: &mut impl Write) -> io::Result<()> {
    out.write_all(
        b"<h2 id=\"inputs\">Inputs</h2>\n<div class=\"wide\"><table data-name=\"inputs\">\n<thead><tr>\
          <th class=\"n\">rank</th><th>path</th><th>format</th><th class=\"n\">events</th>\
          <th class=\"n\">size</th></tr></thead>\n<tbody>\n",
    )?;
    for input in &page.inputs {
        writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td>{}</td><td>{}</td><td class=\"n\" data-value=\"{}\">{}</td>\
             <td class=\"n\" data-value=\"{}\">{}</td></tr>",
            input.rank,
            escaped(&text::one_line(&input.path)),
            escaped(&input.format),
            input.events,
            units::count(input.events as i64),
            input.bytes,
            units::bytes(input.bytes as i64),
        )?;
    }
    out.write_all(b"</tbody></table></div>\n")
}

/// Names come from traces, and a trace may come from anywhere. XML, which SVG is, has no way to write some characters.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\r' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
