//! How the columns of a table share the width of a terminal.

use gpuscope_table::{Column, Table, Unit};

use crate::names;
use crate::text;

/// Rows shown of one table; the rest is counted, and files hold them all.
pub(crate) const MOST_ROWS: usize = 40;
pub(crate) const GAP: &str = "  ";
/// Columns of prose, which are broken into lines and never shortened.
const PROSE: [&str; 9] =
    ["message", "text", "finding", "evidence", "advice", "caveat", "command", "suggestion", "explanation"];

const SHORTEST_TEXT: usize = 12;

/// Names are not shortened below this; rather, the last columns of numbers are left out.
fn least_text(width: usize) -> usize {
    (width / 3).clamp(SHORTEST_TEXT, 36)
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
            name if PROSE.contains(&name) => Shape::Prose,
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
    let texts = columns.iter().filter(|column| column.is_long(2 * SHORTEST_TEXT)).count();
    // Several texts have to share what one would get, rather than crowd out the numbers.
    let least = least.min((2 * width / 3) / texts.max(1)).max(SHORTEST_TEXT);
    let mut left_out = Vec::new();
    if !columns.iter().any(|column| column.is_long(least)) && !ends_with_a_name(columns) {
        return left_out;
    }
    while total(columns) > width {
        let over = total(columns) - width;
        if narrow_widest(columns, over, least) {
            continue;
        }
        if let Some(last) = columns.iter().rposition(|column| column.shape == Shape::Number && !column.key) {
            left_out.insert(0, columns.remove(last).name);
        } else {
            break;
        }
    }
    // What the last column left out freed beyond need goes to the texts.
    let is_narrow = |column: &Drawn| column.shape != Shape::Number && column.width == least;
    let narrow = columns.iter().filter(|column| is_narrow(column)).count();
    let spare = if left_out.is_empty() { 0 } else { width.saturating_sub(total(columns)) / narrow.max(1) };
    for column in columns.iter_mut().filter(|column| column.shape != Shape::Number) {
        let more = if is_narrow(column) { spare } else { 0 };
        column.shrink(column.width + more);
    }
    left_out
}

/// Takes from the widest texts until they are as wide as the next ones, so that all share what room there is. Whether
/// there was anything to take.
fn narrow_widest(columns: &mut [Drawn], over: usize, least: usize) -> bool {
    let long = |columns: &[Drawn]| -> Vec<usize> {
        columns.iter().filter(|column| column.is_long(least)).map(|column| column.width).collect()
    };
    let widths = long(columns);
    let Some(widest) = widths.iter().copied().max() else { return false };
    let next = widths.iter().copied().filter(|width| *width < widest).max().unwrap_or(least);
    let many = widths.iter().filter(|width| **width == widest).count();
    let narrowed = widest.saturating_sub(over.div_ceil(many)).max(next).max(least);
    for column in columns.iter_mut().filter(|column| column.is_long(least) && column.width == widest) {
        column.width = narrowed;
    }
    true
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
