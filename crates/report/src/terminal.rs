//! Tables for people at a terminal: as wide as it is, numbers to the right, long names shortened in the middle,
//! and a footer that says how far the data can be trusted.

use std::io::{self, Write};

use gpuscope_table::{Table, Unit};
use gpuscope_trace::Severity;

use crate::page::Page;
use crate::text;

/// How to draw.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub width: usize,
    pub color: bool,
}

/// Rows shown of one table; the rest is counted, and files hold them all.
const MOST_ROWS: usize = 40;
/// The column of prose, which is broken into lines and never shortened.
const PROSE: &str = "message";
const GAP: &str = "  ";

/// Names are not shortened below this; rather, the last columns of numbers are left out.
fn least_text(width: usize) -> usize {
    (width / 3).clamp(12, 36)
}

const BOLD: &str = "1";
const DIM: &str = "2";

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

pub fn write(page: &Page<'_>, style: Style, mut out: impl Write) -> io::Result<()> {
    writeln!(out, "{}", style.paint(DIM, &text::shorten(&text::one_line(&page.headline()), style.width)))?;
    // Beside others, a table without rows says nothing.
    let any_rows = page.tables.iter().any(|table| table.rows() > 0);
    for table in page.tables.iter().filter(|table| table.rows() > 0 || !any_rows) {
        writeln!(out)?;
        write_table(table, style, &mut out)?;
    }
    footer(page, style, &mut out)
}

/// One table with its title.
pub fn write_table(table: &Table, style: Style, mut out: impl Write) -> io::Result<()> {
    writeln!(out, "{}", style.paint(BOLD, &text::one_line(&table.title)))?;
    if table.rows() == 0 {
        return writeln!(out, "(no rows)");
    }
    // A column in which nothing is known in any row is for files.
    let columns = (0..table.columns.len()).filter(|i| text::has_values(&table.columns[*i]));
    let mut columns: Vec<Drawn> = columns.map(|i| Drawn::new(table, i)).collect();
    mark_keys(&mut columns, least_text(style.width));
    let left_out = fit(&mut columns, style.width);
    for (i, block) in blocks(&columns, style.width).iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        write_block(block, style, &mut out)?;
    }
    if !left_out.is_empty() {
        let line = format!("not shown for want of room: {}; --csv and --json have all", left_out.join(", "));
        write_wrapped(&line, "", DIM, style, &mut out)?;
    }
    let hidden = table.rows().saturating_sub(MOST_ROWS);
    if hidden > 0 {
        let line = format!("… and {hidden} more rows; --json, --csv and -o FILE give all");
        writeln!(out, "{}", style.paint(DIM, &line))?;
    }
    Ok(())
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

/// A column as it will be drawn: a cell is one line or, for prose, several.
#[derive(Clone, Debug)]
struct Drawn {
    name: String,
    heading: Vec<String>,
    cells: Vec<Vec<String>>,
    shape: Shape,
    /// Says which thing a row is about.
    label: bool,
    /// Repeated where a table is cut into blocks.
    key: bool,
    width: usize,
}

impl Drawn {
    fn new(table: &Table, i: usize) -> Drawn {
        let column = &table.columns[i];
        let rows = 0..table.rows().min(MOST_ROWS);
        let cells: Vec<Vec<String>> = rows.map(|row| vec![text::cell(column, row)]).collect();
        let name = text::heading(column);
        let words = name.split(' ').map(text::width).max().unwrap_or(0);
        let width = cells.iter().flatten().map(|cell| text::width(cell)).max().unwrap_or(0).max(words);
        let heading = text::wrap(&name, width);
        let shape = match column.name {
            _ if text::is_number(column) => Shape::Number,
            PROSE => Shape::Prose,
            _ => Shape::Name,
        };
        let label = column.unit == Unit::None;
        Drawn { name, heading, cells, shape, label, key: false, width }
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
                vec![text::shorten(&whole, width)]
            };
        }
    }

    fn padded(&self, text: &str) -> String {
        let blank = " ".repeat(self.width.saturating_sub(text::width(text)));
        if self.shape == Shape::Number { format!("{blank}{text}") } else { format!("{text}{blank}") }
    }

    /// The heading or a cell, line by line; a heading stands on the last line, a cell on the first.
    fn line(&self, lines: &[String], line: usize) -> String {
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

/// Makes a table with long texts fit: the widest are shortened as far as they stay readable, then the last
/// columns of numbers are left out, whose names are returned.
fn fit(columns: &mut Vec<Drawn>, width: usize) -> Vec<String> {
    let least = least_text(width);
    let mut left_out = Vec::new();
    if !columns.iter().any(|column| column.is_long(least)) {
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

/// A table of numbers that is too wide is drawn in blocks below each other, each with the key columns.
fn blocks(columns: &[Drawn], width: usize) -> Vec<Vec<&Drawn>> {
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

fn write_block(block: &[&Drawn], style: Style, out: &mut impl Write) -> io::Result<()> {
    let lines = block.iter().map(|column| column.heading.len()).max().unwrap_or(0);
    for line in 0..lines {
        let word = |column: &&Drawn| {
            let above = lines - column.heading.len();
            line.checked_sub(above)
                .map_or_else(|| column.padded(""), |line| column.line(&column.heading, line))
        };
        let words: Vec<String> = block.iter().map(word).collect();
        writeln!(out, "{}", style.paint(DIM, words.join(GAP).trim_end()))?;
    }
    let rows = block.first().map_or(0, |column| column.cells.len());
    for row in 0..rows {
        let lines = block.iter().map(|column| column.cells[row].len()).max().unwrap_or(0);
        for line in 0..lines {
            let cells: Vec<String> =
                block.iter().map(|column| column.line(&column.cells[row], line)).collect();
            writeln!(out, "{}", cells.join(GAP).trim_end())?;
        }
    }
    Ok(())
}

/// Prose with every line but the first indented.
fn write_wrapped(
    prose: &str,
    indent: &str,
    color: &str,
    style: Style,
    out: &mut impl Write,
) -> io::Result<()> {
    let room = style.width.saturating_sub(2 * indent.len());
    for (i, line) in text::wrap(prose, room).iter().enumerate() {
        let deeper = if i > 0 { indent } else { "" };
        writeln!(out, "{indent}{deeper}{}", style.paint(color, line))?;
    }
    Ok(())
}

fn footer(page: &Page<'_>, style: Style, out: &mut impl Write) -> io::Result<()> {
    let Some(verdict) = page.verdict() else { return Ok(()) };
    writeln!(out, "\n{}", style.paint(BOLD, &format!("Quality of the data: {verdict}")))?;
    let (notes, more) = page.most_severe();
    for note in notes {
        let color = match note.severity {
            Severity::Error => "31",
            Severity::Warning => "33",
            Severity::Info => DIM,
        };
        write_wrapped(&text::note(note), GAP, color, style, out)?;
    }
    if more > 0 {
        writeln!(out, "{GAP}{}", style.paint(DIM, &format!("and {more} more: gpuscope check lists them")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::{Code, Quality};

    use super::*;
    use crate::page::Input;

    fn table() -> Table {
        let rows = [
            (
                0_i64,
                "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_f16_128x128_32x5_nn_align8>",
                123_456_789_i64,
            ),
            (1, "ncclDevKernel_AllReduce", 1_500),
        ];
        Table::of("kernels", "Kernels", &rows)
            .int("rank", Unit::None, "", |row| row.0)
            .text("name", "", |row| row.1.to_owned())
            .int("exposed_comm_ns", Unit::Ns, "", |row| row.2)
            .float("share_pct", Unit::Percent, "", |row| (row.0 == 0).then_some(99.5))
            .build()
    }

    fn drawn(width: usize, color: bool) -> String {
        let quality = [
            Quality::new(Code::MissingRanks, 2, "2 of 4 ranks are here"),
            Quality::new(Code::Truncated, 1, "the file ends early").of_rank(1),
        ];
        let input = Input {
            path: "rank0.json".into(),
            format: "kineto".into(),
            rank: 0,
            events: 12_345,
            bytes: 6_789_000,
        };
        let tables = [table()];
        let page = Page { command: "kernels", inputs: vec![input], quality: &quality, tables: &tables };
        let mut out = Vec::new();
        write(&page, Style { width, color }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_fits_the_terminal() {
        insta::assert_snapshot!(drawn(60, false));
        assert!(drawn(60, false).lines().all(|line| text::width(line) <= 60));
    }

    #[test]
    fn a_narrow_terminal_gets_blocks() {
        insta::assert_snapshot!(drawn(30, false));
    }

    #[test]
    fn colors_only_if_asked_for() {
        assert!(!drawn(80, false).contains('\u{1b}'));
        assert!(drawn(80, true).contains("\u{1b}[33mwarning: rank 1"));
    }

    #[test]
    fn pages_and_markdown_escape_names() {
        let rows = ["<script>|alert</script>"];
        let tables =
            [Table::of("t", "T & U", &rows).text("name", "a \"doc\"", |row| (*row).to_owned()).build()];
        let page = Page { command: "kernels", inputs: Vec::new(), quality: &[], tables: &tables };
        let mut out = Vec::new();
        crate::html::write(&page, &mut out).unwrap();
        insta::assert_snapshot!("html", String::from_utf8(out).unwrap());
        let mut out = Vec::new();
        crate::markdown::write(&page, &mut out).unwrap();
        insta::assert_snapshot!("markdown", String::from_utf8(out).unwrap());
    }
}
