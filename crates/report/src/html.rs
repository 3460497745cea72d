//! One self-contained page: no script, no network, readable in light and dark.

mod findings;

use std::io::{self, Write};

use gpuscope_table::{Column, Table, Values};

use crate::layout::{percent, with_shares};
use crate::names;
use crate::page::Page;
use crate::text;
use crate::units;

const STYLE: &str = "\
:root{color-scheme:light dark;--page:#fff;--ink:#1f2328;--line:#d8dee4;--soft:#59636e;--head:#f6f8fa;\
--bar:#54aeff40;--error:#cf222e;--warning:#9a6700}\
@media(prefers-color-scheme:dark){:root{--page:#0d1117;--ink:#e6edf3;--line:#3d444d;--soft:#9198a1;\
--head:#151b23;--bar:#388bfd4d;--error:#ff7b72;--warning:#d29922}}\
body{font:15px/1.5 system-ui,sans-serif;max-width:1400px;margin:2rem auto;padding:0 1.5rem;\
background:var(--page);color:var(--ink)}\
h1{font-size:1.5rem;margin-bottom:0}h2{font-size:1.15rem;margin-top:2rem}.soft{color:var(--soft)}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.87rem}\
th,td{border-bottom:1px solid var(--line);padding:.25rem .6rem;text-align:left;vertical-align:top;\
white-space:nowrap}\
th{background:var(--head);vertical-align:bottom;white-space:normal}\
.n{text-align:right;font-variant-numeric:tabular-nums}\
.name{white-space:normal;overflow-wrap:anywhere;min-width:12rem;max-width:34rem}summary{cursor:pointer;display:block;text-decoration:underline dotted var(--soft)}\
details p{margin:.3rem 0 .6rem;color:var(--soft)}\
li{margin:.4rem 0;max-width:60rem}.error{color:var(--error)}.warning{color:var(--warning)}";

/// Names that take more than about a line are folded.
const LONG_NAME: usize = 80;
/// Texts that may take several lines, so that numbers beside them stay in sight.
const MAY_WRAP: usize = 28;

pub fn write(page: &Page<'_>, mut out: impl Write) -> io::Result<()> {
    let title = format!("gpuscope {}", escaped(page.command));
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}{}</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n<p class=\"soft\">{}</p>\n",
        findings::STYLE,
        escaped(&text::one_line(&page.headline()))
    )?;
    for table in page.shown() {
        writeln!(out, "<h2>{}</h2>", escaped(&text::one_line(&table.title)))?;
        if findings::are_in(table) {
            findings::write(table, page, &mut out)?;
        } else {
            write_table(table, &mut out)?;
        }
    }
    quality(page, &mut out)?;
    inputs(page, &mut out)?;
    out.write_all(b"</body>\n</html>\n")
}

fn write_table(table: &Table, out: &mut impl Write) -> io::Result<()> {
    let columns = with_shares(table);
    out.write_all(b"<div class=\"wide\"><table>\n<thead><tr>")?;
    for (column, _) in &columns {
        let (class, doc) = (class(text::is_number(column)), escaped(column.doc));
        write!(out, "<th{class} title=\"{doc}\">{}</th>", escaped(&text::heading(column)))?;
    }
    out.write_all(b"</tr></thead>\n<tbody>\n")?;
    for row in 0..table.rows() {
        out.write_all(b"<tr>")?;
        for (column, share) in &columns {
            write_cell(column, *share, row, out)?;
        }
        out.write_all(b"</tr>\n")?;
    }
    out.write_all(b"</tbody></table></div>\n")
}

fn write_cell(column: &Column, share: Option<&Column>, row: usize, out: &mut impl Write) -> io::Result<()> {
    let cell = text::cell(column, row);
    if let Some(share) = share {
        let bar = match &share.values {
            Values::Float(values) => values[row].unwrap_or(0.0).clamp(0.0, 100.0),
            Values::Int(_) | Values::Text(_) => 0.0,
        };
        return write!(
            out,
            "<td class=\"n\" style=\"background:linear-gradient(90deg,var(--bar) {bar:.1}%,transparent 0)\">\
             {} <span class=\"soft\">{}</span></td>",
            escaped(&cell),
            escaped(&percent(share, row)),
        );
    }
    if text::is_number(column) {
        return write!(out, "<td class=\"n\">{}</td>", escaped(&cell));
    }
    let brief = names::fitted(&cell, LONG_NAME);
    if brief == cell {
        let class = if text::width(&cell) > MAY_WRAP { " class=\"name\"" } else { "" };
        return write!(out, "<td{class}>{}</td>", escaped(&cell));
    }
    write!(
        out,
        "<td class=\"name\"><details><summary>{}</summary><p>{}</p></details></td>",
        escaped(&brief),
        escaped(&cell),
    )
}

fn quality(page: &Page<'_>, out: &mut impl Write) -> io::Result<()> {
    let verdict = page.verdict().unwrap_or_else(|| "nothing to report".to_owned());
    write!(out, "<h2>Quality of the data: {verdict}</h2>\n<ul>\n")?;
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
        b"<h2>Inputs</h2>\n<div class=\"wide\"><table>\n<thead><tr><th class=\"n\">rank</th><th>path</th>\
          <th>format</th><th class=\"n\">events</th><th class=\"n\">size</th></tr></thead>\n<tbody>\n",
    )?;
    for input in &page.inputs {
        writeln!(
            out,
            "<tr><td class=\"n\">{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            input.rank,
            escaped(&text::one_line(&input.path)),
            escaped(&input.format),
            units::count(input.events as i64),
            units::bytes(input.bytes as i64),
        )?;
    }
    out.write_all(b"</tbody></table></div>\n")
}

fn class(number: bool) -> &'static str {
    if number { " class=\"n\"" } else { "" }
}

/// Names come from traces, and a trace may come from anywhere.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
