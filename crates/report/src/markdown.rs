//! Tables for an issue or a pull request.

use std::io::{self, Write};

use crate::page::Page;
use crate::text;

pub fn write(page: &Page<'_>, mut out: impl Write) -> io::Result<()> {
    writeln!(out, "# gpuscope {}\n\n{}", page.command, escaped(&page.headline()))?;
    if let Some(takeaway) = page.takeaway() {
        writeln!(out, "\n**{}**", escaped(&text::one_line(takeaway)))?;
    }
    for table in page.shown() {
        writeln!(out, "\n## {}\n", escaped(&table.title))?;
        let headings: Vec<String> =
            table.columns.iter().map(|column| escaped(&text::heading(column))).collect();
        let rules: Vec<&str> =
            table.columns.iter().map(|column| if text::is_number(column) { "---:" } else { "---" }).collect();
        writeln!(out, "| {} |\n| {} |", headings.join(" | "), rules.join(" | "))?;
        for row in 0..table.rows() {
            let cells: Vec<String> =
                table.columns.iter().map(|column| escaped(&text::cell(column, row))).collect();
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
    }
    if let Some(verdict) = page.verdict() {
        writeln!(out, "\n## Quality: {verdict}\n")?;
        for finding in page.findings() {
            writeln!(out, "- {}", escaped(&finding.line()))?;
        }
    }
    Ok(())
}

/// So that a name is shown and not understood, nor steers the terminal that shows the file.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text::one_line(text).chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' => escaped.extend(['\\', c]),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            c => escaped.push(c),
        }
    }
    escaped
}
