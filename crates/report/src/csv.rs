//! One table as RFC 4180 CSV: raw numbers in the units that the column names say, empty for what is not known.

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
        Values::Text(values) => values[row].as_deref().map(quoted).unwrap_or_default(),
    }
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
}
