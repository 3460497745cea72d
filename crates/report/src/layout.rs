//! How the columns of a table share the width of a terminal.

use gpuscope_table::{Column, Table, Unit};

use crate::names;
use crate::text;

/// Rows shown of one table; the rest is counted, and files hold them all.
pub(crate) const MOST_ROWS: usize = 40;
pub(crate) const GAP: &str = "  ";
/// The column of prose, which is broken into lines and never shortened.
const PROSE: &str = "message";

/// Names are not shortened below this; rather, the last columns of numbers are left out.
fn least_text(width: usize) -> usize {
    (width / 3).clamp(12, 36)
}

/// The columns worth drawing, each with the one that is its share. A column in which nothing is known in any row is
/// for files.
pub(crate) fn with_shares(table: &Table) -> Vec<(&Column, Option<&Column>)> {
    let is_drawn = |column: &&Column| !column.for_files && text::has_values(column);
    let known: Vec<&Column> = table.columns.iter().filter(is_drawn).collect();
    let share = |column: &Column| known.iter().find(|other| is_share(other, column)).copied();
    let drawn = known.iter().filter(|column| !known.iter().any(|of| is_share(column, of)));
    drawn.map(|column| (*column, share(column))).collect()
}

/// The columns that fit, and the names of those that do not.
pub(crate) fn columns(table: &Table, width: usize) -> (Vec<Drawn>, Vec<String>) {
    let mut columns: Vec<Drawn> =
        with_shares(table).into_iter().map(|(column, share)| Drawn::new(column, share)).collect();
    mark_keys(&mut columns, least_text(width));
    let left_out = fit(&mut columns, width);
    (columns, left_out)
}

/// How a column's cells are aligned, and made to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Number,
    /// Shortened in the middle.
    Name,
    /// Broken into lines.
    Prose,
}

/// Whether a column is the share of another, which is drawn beside it: `idle_pct` of `idle_ns`.
fn is_share(share: &Column, of: &Column) -> bool {
    let stem = of.name.strip_suffix("_ns").filter(|_| of.unit == Unit::Ns);
    share.unit == Unit::Percent && stem.is_some() && share.name.strip_suffix("_pct") == stem
}

/// A share as text: `69.3%`.
pub(crate) fn percent(share: &Column, row: usize) -> String {
    match text::cell(share, row).as_str() {
        text::MISSING => text::MISSING.to_owned(),
        share => format!("{share}%"),
    }
}

/// A column as it will be drawn: a cell is one line or, for prose, several.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    name: String,
    pub heading: Vec<String>,
    pub cells: Vec<Vec<String>>,
    shape: Shape,
    /// Says which thing a row is about.
    label: bool,
    /// Repeated where a table is cut into blocks.
    key: bool,
    width: usize,
}

impl Drawn {
    fn new(column: &Column, share: Option<&Column>) -> Drawn {
        let rows = 0..column.values.len().min(MOST_ROWS);
        let shares: Vec<String> =
            share.map(|share| rows.clone().map(|row| percent(share, row)).collect()).unwrap_or_default();
        let widest = shares.iter().map(|share| text::width(share)).max().unwrap_or(0);
        let cell = |row: usize| {
            let value = text::cell(column, row);
            match shares.get(row) {
                Some(share) => format!("{value} {share:>widest$}"),
                None => value,
            }
        };
        let cells: Vec<Vec<String>> = rows.map(|row| vec![cell(row)]).collect();
        let name = text::heading(column);
        let words = name.split(' ').map(text::width).max().unwrap_or(0);
        let width = cells.iter().flatten().map(|cell| text::width(cell)).max().unwrap_or(0).max(words);
        let heading = text::wrap(&name, width);
        let kind = match column.name {
            _ if text::is_number(column) => Shape::Number,
            PROSE => Shape::Prose,
            _ => Shape::Name,
        };
        let label = column.unit == Unit::None;
        Drawn { name, heading, cells, shape: kind, label, key: false, width }
    }

    /// A text that may be too long for the table.
    fn is_long(&self, least: usize) -> bool {
        self.shape != Shape::Number && self.width > least
    }

    fn shrink(&mut self, width: usize) {
        self.width = width;
        for cell in &mut self.cells {
            let whole = cell.join(" ");
            *cell = if self.shape == Shape::Prose {
                text::wrap(&whole, width)
            } else {
                vec![names::fitted(&whole, width)]
            };
        }
    }

    pub(crate) fn padded(&self, text: &str) -> String {
        let blank = " ".repeat(self.width.saturating_sub(text::width(text)));
        if self.shape == Shape::Number { format!("{blank}{text}") } else { format!("{text}{blank}") }
    }

    /// The heading or a cell, line by line; a heading stands on the last line, a cell on the first.
    pub(crate) fn line(&self, lines: &[String], line: usize) -> String {
        self.padded(lines.get(line).map_or("", String::as_str))
    }
}

/// The labels a table begins with say which row it is.
fn mark_keys(columns: &mut [Drawn], least: usize) {
    for (i, column) in columns.iter_mut().enumerate() {
        if i > 0 && (!column.label || column.is_long(least)) {
            break;
        }
        column.key = true;
    }
}

fn total(columns: &[Drawn]) -> usize {
    columns.iter().map(|column| column.width).sum::<usize>() + GAP.len() * columns.len().saturating_sub(1)
}

/// Makes a table with long texts or a name at its end fit: the widest are shortened as far as they stay readable, then the last
/// columns of numbers are left out, whose names are returned.
fn fit(columns: &mut Vec<Drawn>, width: usize) -> Vec<String> {
    let least = least_text(width);
    let mut left_out = Vec::new();
    if !columns.iter().any(|column| column.is_long(least)) && !ends_with_a_name(columns) {
        return left_out;
    }
    while total(columns) > width {
        let over = total(columns) - width;
        let long = columns.iter_mut().filter(|column| column.is_long(least));
        if let Some(column) = long.max_by_key(|column| column.width) {
            column.width = column.width.saturating_sub(over).max(least);
        } else if let Some(last) =
            columns.iter().rposition(|column| column.shape == Shape::Number && !column.key)
        {
            left_out.insert(0, columns.remove(last).name);
        } else {
            break;
        }
    }
    // What the last column left out freed beyond need goes to the text.
    let spare = width.saturating_sub(total(columns));
    for column in columns.iter_mut().filter(|column| column.shape != Shape::Number) {
        let room = column.width + if left_out.is_empty() || column.width != least { 0 } else { spare };
        column.shrink(room);
    }
    left_out
}

/// Whether what a row is about stands at its end: such a table is not cut into blocks, of which only the last would say
/// it.
fn ends_with_a_name(columns: &[Drawn]) -> bool {
    const SHORTEST_NAME: usize = 9;
    columns
        .last()
        .is_some_and(|column| column.shape == Shape::Name && !column.key && column.width >= SHORTEST_NAME)
}

/// A table of numbers that is too wide is drawn in blocks below each other, each with the key columns.
pub(crate) fn blocks(columns: &[Drawn], width: usize) -> Vec<Vec<&Drawn>> {
    let keys: Vec<&Drawn> = columns.iter().filter(|column| column.key).collect();
    let taken = |block: &[&Drawn]| block.iter().map(|column| column.width + GAP.len()).sum::<usize>();
    let mut blocks: Vec<Vec<&Drawn>> = Vec::new();
    let mut block = keys.clone();
    for column in columns.iter().filter(|column| !column.key) {
        if block.len() > keys.len() && taken(&block) + column.width > width {
            blocks.push(std::mem::replace(&mut block, keys.clone()));
        }
        block.push(column);
    }
    blocks.push(block);
    blocks
}
