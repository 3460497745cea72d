//! All tables as one Excel workbook: a sheet for each, raw numbers in the units that the column names say, what a column
//! means as a note on its heading, and a last sheet about the inputs and what is wrong with them.
//!
//! A spreadsheet holds numbers as floats, so integers that would lose digits, such as times since the epoch, are text.
//! Sheets end after [`MOST_ROWS`] rows; a longer table goes on in the next. Texts are cut at what a cell can hold.

use std::borrow::Cow;
use std::io::{self, Write};

use gpuscope_table::{Column, Table, Unit, Values};
use rust_xlsxwriter::{Format, Note, Workbook, Worksheet, XlsxError};

use crate::page::Page;
use crate::places::places;
use crate::units;

/// Rows of a sheet below the heading.
const MOST_ROWS: usize = 1_048_575;
/// UTF-16 units of a cell.
const MOST_TEXT: usize = 32_767;
/// Integers up to this are exact as floats.
const EXACT: u64 = 1 << 53;
/// Letters that the widest column has room for, and rows that are looked at to find how wide a column is.
const WIDEST: usize = 60;
const MEASURED: usize = 200;

pub fn write(page: &Page<'_>, mut out: impl Write) -> io::Result<()> {
    let book = workbook(page).map_err(io::Error::other)?;
    out.write_all(&book)
}

fn workbook(page: &Page<'_>) -> Result<Vec<u8>, XlsxError> {
    let mut book = Workbook::new();
    let about = about(page);
    let named = places(page.tables).into_iter().zip(page.tables);
    for (place, table) in named.chain(about.iter().map(|table| (table.name.to_owned(), table))) {
        for (nth, first) in (0..table.rows().max(1)).step_by(MOST_ROWS).enumerate() {
            let rows = first..table.rows().min(first + MOST_ROWS);
            let name = if nth == 0 { place.clone() } else { format!("{place} {}", nth + 1) };
            sheet(book.add_worksheet().set_name(name)?, table, rows)?;
        }
    }
    book.save_to_buffer()
}

/// What the numbers rest on.
fn about(page: &Page<'_>) -> [Table; 2] {
    let inputs = Table::of("_inputs", "Inputs", &page.inputs)
        .int("rank", Unit::None, "The rank", |input| i64::from(input.rank))
        .text("path", "Where it was read from", |input| input.path.clone())
        .text("format", "What wrote it", |input| input.format.clone())
        .int("events", Unit::Count, "Elements of its list of events", |input| input.events as i64)
        .int("bytes", Unit::Bytes, "Size as stored", |input| input.bytes as i64)
        .build();
    let quality = Table::of("_quality", "What is wrong with the data", page.quality)
        .text("severity", "How bad it is", |entry| format!("{:?}", entry.severity).to_lowercase())
        .text("code", "What sort of fault it is", |entry| crate::text::code(entry.code))
        .int("rank", Unit::None, "The rank", |entry| entry.rank.map(i64::from))
        .int("count", Unit::Count, "How often", |entry| entry.count as i64)
        .text("message", "What it is and what to do", |entry| entry.message.clone())
        .build();
    [inputs, quality]
}

fn sheet(sheet: &mut Worksheet, table: &Table, rows: std::ops::Range<usize>) -> Result<(), XlsxError> {
    sheet.set_freeze_panes(1, 0)?;
    let heading = Format::new().set_bold();
    for (i, column) in (0u16..).zip(&table.columns) {
        sheet.write_string_with_format(0, i, column.name, &heading)?;
        sheet.insert_note(0, i, &Note::new(note(column)).add_author_prefix(false))?;
        sheet.set_column_width(i, width(column) as f64)?;
        cells(sheet, i, column, rows.clone())?;
    }
    if let Some(last) = (table.columns.len() as u16).checked_sub(1) {
        sheet.autofilter(0, 0, rows.len() as u32, last)?;
    }
    Ok(())
}

fn note(column: &Column) -> String {
    match units::name(column.unit) {
        unit if unit.is_empty() => format!("{}.", column.doc),
        unit => format!("{}. In {unit}.", column.doc),
    }
}

fn cells(
    sheet: &mut Worksheet,
    at: u16,
    column: &Column,
    rows: std::ops::Range<usize>,
) -> Result<(), XlsxError> {
    let format = Format::new().set_num_format(number_format(column));
    for (line, row) in (1u32..).zip(rows) {
        match &column.values {
            Values::Int(values) => match values[row] {
                Some(value) if value.unsigned_abs() > EXACT => {
                    sheet.write_string(line, at, value.to_string())?
                }
                Some(value) => sheet.write_number_with_format(line, at, value as f64, &format)?,
                None => continue,
            },
            // A cell cannot hold what is no number.
            Values::Float(values) => match values[row].filter(|value| value.is_finite()) {
                Some(value) => sheet.write_number_with_format(line, at, value, &format)?,
                None => continue,
            },
            Values::Text(values) => match values[row].as_deref() {
                Some(text) => sheet.write_string(line, at, fitting(text))?,
                None => continue,
            },
        };
    }
    Ok(())
}

fn number_format(column: &Column) -> &'static str {
    match (&column.values, column.unit) {
        (Values::Int(_), Unit::None) => "0",
        (Values::Int(_), _) => "#,##0",
        (Values::Float(_), Unit::Percent) => "0.0",
        (Values::Float(_), _) => "#,##0.000",
        (Values::Text(_), _) => "General",
    }
}

/// A text as far as a cell holds it.
fn fitting(text: &str) -> Cow<'_, str> {
    if text.len() <= MOST_TEXT {
        return text.into();
    }
    let mut left = MOST_TEXT - 1;
    let fits = |c: &char| left.checked_sub(c.len_utf16()).inspect(|rest| left = *rest).is_some();
    let start: String = text.chars().take_while(fits).collect();
    if start.len() == text.len() { text.into() } else { format!("{start}…").into() }
}

fn width(column: &Column) -> usize {
    let cell = |row: usize| match &column.values {
        // With a separator for every three digits.
        Values::Int(values) => values[row].map_or(0, |value| value.to_string().len() * 4 / 3),
        Values::Float(values) => values[row].map_or(0, |value| format!("{value:.3}").len() * 4 / 3),
        Values::Text(values) => values[row].as_deref().map_or(0, |text| text.chars().take(WIDEST).count()),
    };
    let widest = (0..column.values.len().min(MEASURED)).map(cell).max().unwrap_or(0);
    // Room for the arrow of the filter.
    widest.max(column.name.len() + 2).min(WIDEST) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_letters() {
        let long = "𝄞".repeat(20_000);
        let cut = fitting(&long);
        assert!(cut.ends_with('…') && cut.encode_utf16().count() <= MOST_TEXT);
        assert_eq!(fitting("gemm"), "gemm");
        // More bytes than a cell has letters, but no more letters.
        let wide = "ü".repeat(20_000);
        assert_eq!(fitting(&wide), wide);
    }
}
