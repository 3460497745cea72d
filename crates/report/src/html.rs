//! One self-contained page: no script, no network, readable in light and dark.

use std::io::{self, Write};

use crate::page::Page;
use crate::text;
use crate::units;

const STYLE: &str = "\
:root{color-scheme:light dark;--line:#d0d7de;--soft:#57606a;--head:#f6f8fa}\
@media(prefers-color-scheme:dark){:root{--line:#3d444d;--soft:#9198a1;--head:#151b23}}\
body{font:15px/1.5 system-ui,sans-serif;max-width:1200px;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}.soft{color:var(--soft)}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem}\
th,td{border-bottom:1px solid var(--line);padding:.3rem .7rem;text-align:left;vertical-align:top}\
th{background:var(--head);position:sticky;top:0}\
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
td{overflow-wrap:anywhere}";

pub fn write(page: &Page<'_>, mut out: impl Write) -> io::Result<()> {
    let title = format!("gpuscope {}", escaped(page.command));
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>{title}</h1>\n<p class=\"soft\">{}</p>\n",
        escaped(&page.headline())
    )?;
    for table in page.tables {
        write!(out, "<h2>{}</h2>\n<div class=\"wide\"><table>\n<thead><tr>", escaped(&table.title))?;
        for column in &table.columns {
            let (class, doc) = (class(text::is_number(column)), escaped(column.doc));
            write!(out, "<th{class} title=\"{doc}\">{}</th>", escaped(&text::heading(column)))?;
        }
        out.write_all(b"</tr></thead>\n<tbody>\n")?;
        for row in 0..table.rows() {
            out.write_all(b"<tr>")?;
            for column in &table.columns {
                write!(
                    out,
                    "<td{}>{}</td>",
                    class(text::is_number(column)),
                    escaped(&text::cell(column, row))
                )?;
            }
            out.write_all(b"</tr>\n")?;
        }
        out.write_all(b"</tbody></table></div>\n")?;
    }
    quality(page, &mut out)?;
    inputs(page, &mut out)?;
    out.write_all(b"</body>\n</html>\n")
}

fn quality(page: &Page<'_>, out: &mut impl Write) -> io::Result<()> {
    let verdict = page.verdict().unwrap_or_else(|| "nothing to report".to_owned());
    write!(out, "<h2>Quality of the data: {verdict}</h2>\n<ul>\n")?;
    for note in page.quality {
        writeln!(out, "<li>{}</li>", escaped(&text::note(note)))?;
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
            escaped(&input.path),
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
fn escaped(text: &str) -> String {
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
