//! The first screen of a dashboard: what to take away, the numbers that matter, and where they were measured.

use std::io::{self, Write};

use gpuscope_table::Table;

use super::escaped;
use crate::page::{Lead, LeadNumber, Page};
use crate::text;

pub(super) fn write(lead: &Lead, page: &Page<'_>, out: &mut impl Write) -> io::Result<()> {
    write!(
        out,
        "<main class=\"column\">\n<p class=\"soft\">{}</p>\n<h1 class=\"verdict\">{}</h1>\n",
        escaped(&text::one_line(&lead.about)),
        escaped(&text::one_line(&lead.verdict))
    )?;
    if !lead.numbers.is_empty() {
        out.write_all(b"<dl class=\"numbers\">\n")?;
        lead.numbers.iter().try_for_each(|number| write_number(number, out))?;
        out.write_all(b"</dl>\n")?;
    }
    match page.tables.iter().find(|table| lead.panel == Some(table.name)) {
        Some(table) if table.rows() > 0 => panel(table, out),
        _ => Ok(()),
    }
}

fn write_number(number: &LeadNumber, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "<div><dt>{}</dt><dd><b>{}</b><span class=\"soft\">{}</span></dd></div>",
        escaped(&number.label),
        escaped(&number.value),
        escaped(&text::one_line(&number.note))
    )
}

/// A name and a value in each row.
fn panel(table: &Table, out: &mut impl Write) -> io::Result<()> {
    let [names, values, ..] = table.columns.as_slice() else { return Ok(()) };
    writeln!(
        out,
        "<section class=\"panel\" aria-labelledby=\"panel-{0}\"><h2 id=\"panel-{0}\">{1}</h2>\n<dl>",
        table.name,
        escaped(&table.title)
    )?;
    for row in 0..table.rows() {
        writeln!(
            out,
            "<div><dt>{}</dt><dd>{}</dd></div>",
            escaped(&text::one_line(&text::cell(names, row))),
            escaped(&text::one_line(&text::cell(values, row)))
        )?;
    }
    out.write_all(b"</dl></section>\n")
}
