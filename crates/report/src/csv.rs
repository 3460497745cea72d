//! One table as RFC 4180 CSV: raw numbers in the units that the column names say, empty for what is not known.
//!
//! Names come from traces, and a trace may come from anywhere: one that a spreadsheet would take for a formula
//! gets an apostrophe before it, and control characters but for line breaks and tabs become U+FFFD. JSON has
//! every name as it is.

use std::io::{self, Write};

use gpuscope_table::{Table, Values};

pub fn write(table: &Table, mut out: impl Write) -> io::Result<()> {
    let names: Vec<String> = table.columns.iter().map(|column| quoted(column.name)).collect();
    write!(out, "{}\r\n", names.join(","))?;
    for row in 0..table.rows() {
        let cells: Vec<String> = table.columns.iter().map(|column| cell(&column.values, row)).collect();
        write!(out, "{}\r\n", cells.join(","))?;
    }
    Ok(())
}

fn cell(values: &Values, row: usize) -> String {
    match values {
        Values::Int(values) => values[row].map(|value| value.to_string()).unwrap_or_default(),
        Values::Float(values) => values[row].map(|value| value.to_string()).unwrap_or_default(),
        Values::Text(values) => values[row].as_deref().map(|text| quoted(&tame(text))).unwrap_or_default(),
    }
}

fn tame(text: &str) -> String {
    let keep = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    let tamed: String = text.chars().map(|c| if keep(c) { c } else { '\u{fffd}' }).collect();
    if tamed.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{tamed}") } else { tamed }
}

fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_table::Unit;

    use super::*;

    #[test]
    fn fields_with_commas_and_quotes_are_quoted() {
        let rows = [("gemm<4, \"x\">", Some(3_i64)), ("plain", None)];
        let table = Table::of("kernels", "", &rows)
            .text("name", "", |row| row.0.to_owned())
            .int("sum_ns", Unit::Ns, "", |row| row.1)
            .build();
        let mut out = Vec::new();
        write(&table, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "name,sum_ns\r\n\"gemm<4, \"\"x\"\">\",3\r\nplain,\r\n");
    }

    #[test]
    fn a_name_is_no_formula_and_steers_no_terminal() {
        let rows = ["=HYPERLINK(\"http://x\")", "a\u{1b}[31mb\nc"];
        let table = Table::of("kernels", "", &rows).text("name", "", |row| (*row).to_owned()).build();
        let mut out = Vec::new();
        write(&table, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "name\r\n\"'=HYPERLINK(\"\"http://x\"\")\"\r\n\"a\u{fffd}[31mb\nc\"\r\n");
    }
}
