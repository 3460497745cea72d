//! Tables: whole before any script runs; sorted and searched by one, which finds the exact value of each cell.

use std::io::{self, Write};

use gpuscope_table::{Column, Table, Values};

use super::escaped;
use crate::layout::{percent, with_shares};
use crate::names;
use crate::one_unit::OneUnit;
use crate::text;

/// Names that take more than about a line are folded.
const LONG_NAME: usize = 80;
/// Texts that may take several lines, so that numbers beside them stay in sight.
const MAY_WRAP: usize = 28;
/// What a page can hold of one table and still open at once; files hold all.
const MOST_ROWS: usize = 5_000;

pub(super) fn write(table: &Table, out: &mut impl Write) -> io::Result<()> {
    let columns = Shown::all(table);
    write!(out, "<div class=\"wide\"><table data-name=\"{}\">\n<thead><tr>", escaped(table.name))?;
    for Shown { column, unit, .. } in &columns {
        let class = if text::is_number(column) { " class=\"n\"" } else { "" };
        let exact = unit.smallest().map(|unit| format!(" data-unit=\"{unit}\"")).unwrap_or_default();
        write!(
            out,
            "<th{class}{exact} scope=\"col\" data-name=\"{}\" title=\"{}\">{}",
            escaped(column.name),
            escaped(column.doc),
            escaped(&text::heading(column))
        )?;
        if let Some(unit) = unit.name() {
            write!(out, " <span class=\"soft\">{unit}</span>")?;
        }
        out.write_all(b"</th>")?;
    }
    out.write_all(b"</tr></thead>\n<tbody>\n")?;
    for row in 0..table.rows().min(MOST_ROWS) {
        out.write_all(b"<tr>")?;
        for column in &columns {
            write_cell(column, row, out)?;
        }
        out.write_all(b"</tr>\n")?;
    }
    out.write_all(b"</tbody></table></div>\n")?;
    if table.rows() > MOST_ROWS {
        let more = table.rows() - MOST_ROWS;
        writeln!(
            out,
            "<p class=\"soft\">{more} more rows are in the files that -o x.csv and -o x.xlsx write.</p>"
        )?;
    }
    Ok(())
}

/// A column, its shares, and the unit of all its numbers.
struct Shown<'a> {
    column: &'a Column,
    share: Option<&'a Column>,
    unit: OneUnit,
}

impl<'a> Shown<'a> {
    fn all(table: &'a Table) -> Vec<Shown<'a>> {
        let columns = with_shares(table);
        let units = OneUnit::of_all(&columns.iter().map(|(column, _)| *column).collect::<Vec<_>>());
        let shown = |((column, share), unit)| Shown { column, share, unit };
        columns.into_iter().zip(units).map(shown).collect()
    }
}

fn write_cell(shown: &Shown<'_>, row: usize, out: &mut impl Write) -> io::Result<()> {
    let Shown { column, share, unit } = *shown;
    let cell = unit.cell(column, row);
    if let Some(share) = share {
        let bar = match &share.values {
            Values::Float(values) => values[row].unwrap_or(0.0).clamp(0.0, 100.0),
            Values::Int(_) | Values::Text(_) => 0.0,
        };
        return write!(
            out,
            "<td class=\"n\" data-value=\"{}\" \
             style=\"background:linear-gradient(90deg,var(--bar) {bar:.1}%,transparent 0)\">\
             {} <span class=\"soft\">{}</span></td>",
            exact(column, row),
            escaped(&cell),
            escaped(&percent(share, row)),
        );
    }
    if text::is_number(column) {
        return write!(out, "<td class=\"n\" data-value=\"{}\">{}</td>", exact(column, row), escaped(&cell));
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

/// As files have it; empty if it is not known.
fn exact(column: &Column, row: usize) -> String {
    match &column.values {
        Values::Int(values) => values[row].map(|value| value.to_string()).unwrap_or_default(),
        Values::Float(values) => values[row].map(|value| value.to_string()).unwrap_or_default(),
        Values::Text(_) => String::new(),
    }
}
