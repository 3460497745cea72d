//! Tables for people at a terminal: as wide as it is, numbers to the right, long names shortened in the middle,
//! and a footer that says how far the data can be trusted.

use std::io::{self, Write};

use gpuscope_table::Table;
use gpuscope_trace::Severity;

use crate::layout::{Drawn, GAP, MOST_ROWS, blocks, columns};
use crate::page::Page;
use crate::text;

/// How to draw.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub width: usize,
    pub color: bool,
    /// Bars and sparklines can be shown.
    pub pictures: bool,
}

/// Entries about the data shown below a table; the rest is counted.
const MOST_FINDINGS: usize = 3;

const BOLD: &str = "1";
const DIM: &str = "2";

impl Style {
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(BOLD, text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint(DIM, text)
    }

    pub(crate) fn painted(self, code: &str, text: &str) -> String {
        self.paint(code, text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

pub fn write(page: &Page<'_>, style: Style, mut out: impl Write) -> io::Result<()> {
    writeln!(out, "{}", style.paint(DIM, &page.headline_within(style.width)))?;
    if let Some(takeaway) = page.takeaway() {
        write_wrapped(&text::one_line(takeaway), "", BOLD, style, &mut out)?;
    }
    for table in page.shown() {
        writeln!(out)?;
        write_table(table, style, &mut out)?;
    }
    footer(page, style, &mut out)
}

/// All that is wrong with the data, in prose.
pub fn write_findings(page: &Page<'_>, style: Style, mut out: impl Write) -> io::Result<()> {
    writeln!(out, "{}", style.paint(DIM, &page.headline_within(style.width)))?;
    let verdict = page.verdict().unwrap_or_else(|| "nothing to report".to_owned());
    writeln!(out, "\n{}", style.paint(BOLD, &format!("Quality of the data: {verdict}")))?;
    for finding in page.findings() {
        let whose = finding.whose().map(|whose| format!(" · {whose}")).unwrap_or_default();
        let head = format!("{}: {}{whose}", finding.severity(), text::code(finding.first.code));
        writeln!(out)?;
        write_wrapped(&head, "", color_of(finding.first.severity), style, &mut out)?;
        for line in text::wrap(&finding.message(), style.width.saturating_sub(GAP.len())) {
            writeln!(out, "{GAP}{line}")?;
        }
    }
    Ok(())
}

fn color_of(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "31",
        Severity::Warning => "33",
        Severity::Info => DIM,
    }
}

/// One table with its title.
pub fn write_table(table: &Table, style: Style, mut out: impl Write) -> io::Result<()> {
    writeln!(out, "{}", style.paint(BOLD, &text::one_line(&table.title)))?;
    if table.rows() == 0 {
        return writeln!(out, "(no rows)");
    }
    let (columns, left_out) = columns(table, style.width);
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

/// A word, and prose beside it.
pub fn write_labelled(label: &str, prose: &str, style: Style, mut out: impl Write) -> io::Result<()> {
    const LABEL: usize = 9;
    for (i, line) in text::wrap(&text::one_line(prose), style.width.saturating_sub(LABEL)).iter().enumerate()
    {
        let label = format!("{:LABEL$}", if i == 0 { label } else { "" });
        writeln!(out, "{}{line}", style.paint(DIM, &label))?;
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
    let findings = page.findings();
    for finding in findings.iter().take(MOST_FINDINGS) {
        write_wrapped(&finding.line(), GAP, color_of(finding.first.severity), style, out)?;
    }
    let more = findings.len().saturating_sub(MOST_FINDINGS);
    if more > 0 {
        writeln!(out, "{GAP}{}", style.paint(DIM, &format!("and {more} more: gpuscope check lists them")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gpuscope_table::Unit;
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
            is_rewritable: true,
        };
        let tables = [table()];
        let page = Page {
            command: "kernels",
            inputs: vec![input],
            quality: &quality,
            tables: &tables,
            figures: &[],
            lead: None,
            sentence: None,
        };
        let mut out = Vec::new();
        write(&page, Style { width, color, pictures: true }, &mut out).unwrap();
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
    fn a_name_at_the_end_of_a_row_stays_with_its_numbers() {
        let rows = [1_i64, 2];
        let number = |row: &i64| 1_000_000 * *row;
        let table = Table::of("ops", "Operators", &rows)
            .int("first", Unit::Count, "", number)
            .int("second", Unit::Count, "", number)
            .int("third", Unit::Count, "", number)
            .text("name", "", |_| "aten::convolution".to_owned())
            .build();
        let mut out = Vec::new();
        write_table(&table, Style { width: 42, color: false, pictures: false }, &mut out).unwrap();
        let lines: Vec<&str> = std::str::from_utf8(&out).unwrap().lines().collect();
        assert_eq!(lines[2], "1\u{202f}000\u{202f}000  1\u{202f}000\u{202f}000  aten::convolution");
        assert!(lines[4].starts_with("not shown for want of room: third"), "{lines:?}");
    }

    #[test]
    fn texts_share_the_room_and_stay_in_one_row() {
        let rows = [1_i64, 2];
        let table = Table::of("ops", "Operators", &rows)
            .int("rank", Unit::None, "", |row| *row)
            .text("op", "", |_| "aten::convolution_backward".repeat(2))
            .int("sum", Unit::Count, "", |_| 1_000_000)
            .text("kernels", "", |_| "sm90_xmma_gemm_bf16".repeat(5))
            .text("advice", "", |_| "word ".repeat(30))
            .build();
        for width in [60, 80, 120] {
            let mut out = Vec::new();
            write_table(&table, Style { width, color: false, pictures: false }, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().all(|line| text::width(line) <= width), "{text}");
            let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("rank")).collect();
            assert_eq!(heads.len(), 1, "{text}");
            assert!(heads[0].contains("kernels") && heads[0].contains("advice"), "{text}");
            // Prose is never cut.
            assert_eq!(text.matches("word").count(), 60, "{text}");
        }
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
        let page = Page {
            command: "kernels",
            inputs: Vec::new(),
            quality: &[],
            tables: &tables,
            figures: &[],
            lead: None,
            sentence: None,
        };
        let mut out = Vec::new();
        crate::html::write(&page, &mut out).unwrap();
        let html = String::from_utf8(out).unwrap();
        let body = html.split_once("<body>").and_then(|(_, rest)| rest.split_once("<script>")).unwrap().0;
        insta::assert_snapshot!("html", body);
        let mut out = Vec::new();
        crate::markdown::write(&page, &mut out).unwrap();
        insta::assert_snapshot!("markdown", String::from_utf8(out).unwrap());
    }
}
