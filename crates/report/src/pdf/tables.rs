//! Tables on paper: names wrap, rows stay whole, headings are repeated on each page, and a table that is too wide goes on
//! below with the columns that say which row it is.

use gpuscope_table::{Column, Table, Unit};

use super::sheets::{COLUMN, MARGIN, Sheets, Style};
use crate::fonts::wrapped;
use crate::layout::{percent, with_shares};
use crate::names;
use crate::one_unit::OneUnit;
use crate::text;

/// Rows of one table; files hold the rest.
const MOST_ROWS: usize = 250;
const GAP: f64 = 9.0;
/// Texts are wrapped, but not into less than this.
const LEAST_TEXT: f64 = 140.0;
/// A name that is there to say which row it is.
const BRIEF: f64 = 130.0;
/// Longer kernel names are folded.
const LONGEST_NAME: usize = 100;
const CELL: Style = Style { size: 7.5, bold: false, color: super::sheets::INK };
const HEAD: Style = Style { size: 7.5, bold: true, color: super::sheets::SOFT };
const RULE: &str = "#d8dee4";

/// A column with its cells as text, and how wide it is.
struct Set {
    heading: String,
    cells: Vec<String>,
    is_number: bool,
    /// Says which thing a row is about.
    is_label: bool,
    width: f64,
}

impl Set {
    fn new(column: &Column, share: Option<&Column>, unit: OneUnit) -> Set {
        let cell = |row: usize| {
            let value = unit.cell(column, row);
            match share {
                Some(share) => format!("{value}  {}", percent(share, row)),
                None => names::fitted(&value, LONGEST_NAME),
            }
        };
        let cells: Vec<String> = (0..column.values.len().min(MOST_ROWS)).map(cell).collect();
        let mut heading = text::heading(column);
        if let Some(unit) = unit.name() {
            heading = format!("{heading} ({unit})");
        }
        let words = heading.split(' ').map(|word| HEAD.width_of(word)).fold(0.0, f64::max);
        let width = cells.iter().map(|cell| CELL.width_of(cell)).fold(words, f64::max);
        Set { heading, cells, is_number: text::is_number(column), is_label: column.unit == Unit::None, width }
    }

    /// Every cell on one line.
    fn brief(&self) -> Set {
        let fitting = |cell: &String| names::fitted_to(cell, BRIEF, |text| CELL.width_of(text));
        Set {
            heading: self.heading.clone(),
            cells: self.cells.iter().map(fitting).collect(),
            is_number: false,
            is_label: self.is_label,
            width: BRIEF,
        }
    }

    fn lines(&self, row: usize) -> Vec<String> {
        if self.is_number {
            return vec![self.cells[row].clone()];
        }
        let mut lines = wrapped(&self.cells[row], self.width, |line| CELL.width_of(line));
        if lines.is_empty() {
            lines.push(String::new());
        }
        lines
    }

    fn heading_lines(&self) -> Vec<String> {
        wrapped(&self.heading, self.width, |line| HEAD.width_of(line))
    }
}

pub(super) fn write(table: &Table, sheets: &mut Sheets) {
    let shown = with_shares(table);
    let units = OneUnit::of_all(&shown.iter().map(|(column, _)| *column).collect::<Vec<_>>());
    let set = |((column, share), unit): ((&Column, Option<&Column>), OneUnit)| Set::new(column, share, unit);
    let mut columns: Vec<Set> = shown.into_iter().zip(units).map(set).collect();
    let brief = longest_text(&columns).map(|place| columns[place].brief());
    fit(&mut columns);
    let rows = table.rows().min(MOST_ROWS);
    for block in blocks(&columns, brief.as_ref()) {
        write_block(&block, rows, sheets);
    }
    let more = table.rows() - rows;
    if more > 0 {
        let said = format!("{more} more rows; -o report.xlsx, --csv and --json have them all");
        sheets.paragraph(&said, Style::SOFT);
    }
    sheets.skip(6.0);
}

fn total(columns: &[&Set]) -> f64 {
    columns.iter().map(|column| column.width + GAP).sum::<f64>() - GAP
}

/// The widest texts give way first.
fn fit(columns: &mut [Set]) {
    loop {
        let over = total(&columns.iter().collect::<Vec<_>>()) - COLUMN;
        let long = columns.iter_mut().filter(|column| !column.is_number && column.width > LEAST_TEXT + 0.5);
        let widest = long.max_by(|a, b| a.width.total_cmp(&b.width));
        let Some(widest) = widest.filter(|_| over > 0.0) else { break };
        widest.width = (widest.width - over).max(LEAST_TEXT);
    }
    // Nothing is wider than the page, whatever a heading says.
    for column in columns {
        column.width = column.width.min(COLUMN);
    }
}

/// Columns that fit beside each other. What a table begins with, and its longest text, say which row it is: they are in
/// each block, the text on one line where it is repeated.
fn blocks<'s>(columns: &'s [Set], brief: Option<&'s Set>) -> Vec<Vec<&'s Set>> {
    let keys = columns.iter().take_while(|column| column.is_label && column.width < LEAST_TEXT).count();
    let keys = if total(&columns[..keys].iter().collect::<Vec<_>>()) > COLUMN / 2.0 { 0 } else { keys };
    let text = longest_text(columns).filter(|text| *text >= keys);
    let (mut chosen, mut later): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let width = |chosen: &[usize]| total(&chosen.iter().map(|i| &columns[*i]).collect::<Vec<_>>());
    let first: Vec<usize> = (0..keys).chain(text).collect();
    for i in (0..columns.len()).filter(|i| !first.contains(i)) {
        let wider: Vec<usize> = first.iter().chain(&chosen).copied().chain([i]).collect();
        if later.is_empty() && width(&wider) <= COLUMN { chosen.push(i) } else { later.push(i) }
    }
    chosen.extend(first);
    chosen.sort_unstable();
    let mut blocks = vec![chosen.iter().map(|i| &columns[*i]).collect::<Vec<_>>()];
    let repeated: Vec<&Set> = columns[..keys].iter().chain(brief).collect();
    let mut block = repeated.clone();
    for column in later.iter().map(|i| &columns[*i]) {
        let wider: Vec<&Set> = block.iter().copied().chain([column]).collect();
        if block.len() > repeated.len() && total(&wider) > COLUMN {
            blocks.push(std::mem::replace(&mut block, repeated.clone()));
        }
        block.push(column);
    }
    if block.len() > repeated.len() {
        blocks.push(block);
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

fn longest_text(columns: &[Set]) -> Option<usize> {
    let texts = (0..columns.len()).filter(|i| !columns[*i].is_number && columns[*i].width >= LEAST_TEXT);
    texts.max_by(|a, b| columns[*a].width.total_cmp(&columns[*b].width))
}

fn write_block(block: &[&Set], rows: usize, sheets: &mut Sheets) {
    sheets.need(CELL.line() * 4.0);
    write_heading(block, sheets);
    for row in 0..rows {
        let cells: Vec<Vec<String>> = block.iter().map(|column| column.lines(row)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1) as f64 * CELL.line();
        if sheets.need(height) {
            write_heading(block, sheets);
        }
        write_row(block, &cells, CELL, sheets);
    }
    sheets.skip(8.0);
}

fn write_heading(block: &[&Set], sheets: &mut Sheets) {
    let cells: Vec<Vec<String>> = block.iter().map(|column| column.heading_lines()).collect();
    let most = cells.iter().map(Vec::len).max().unwrap_or(0);
    // Headings stand on the line below them.
    let padded: Vec<Vec<String>> = cells
        .into_iter()
        .map(|lines| std::iter::repeat_n(String::new(), most - lines.len()).chain(lines).collect())
        .collect();
    write_row(block, &padded, HEAD, sheets);
    let y = sheets.y();
    sheets.rect(MARGIN, y, COLUMN, 0.6, RULE);
    sheets.skip(2.0);
}

fn write_row(block: &[&Set], cells: &[Vec<String>], style: Style, sheets: &mut Sheets) {
    let (mut x, y) = (MARGIN, sheets.y());
    for (column, lines) in block.iter().zip(cells) {
        for (i, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
            let y = y + i as f64 * style.line();
            if column.is_number {
                sheets.right(x + column.width, y, style, line);
            } else {
                sheets.text(x, y, style, line);
            }
        }
        x += column.width + GAP;
    }
    sheets.skip(cells.iter().map(Vec::len).max().unwrap_or(1) as f64 * style.line());
}
