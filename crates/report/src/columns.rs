//! What tables hold, as a table: every column with its unit and meaning.

use gpuscope_table::{Column, Table};

use crate::units;

/// The columns of all tables.
pub fn explain(tables: &[Table]) -> Table {
    let rows: Vec<(&Table, &Column)> =
        tables.iter().flat_map(|table| table.columns.iter().map(move |column| (table, column))).collect();
    Table::of("columns", "What the columns mean", &rows)
        .text("table", "The table, as --table names it", |(table, _)| table.name.to_owned())
        .text("column", "The column, as in JSON and CSV", |(_, column)| column.name.to_owned())
        .text("unit", "What its numbers count; empty for names and ids", |(_, column)| {
            Some(units::name(column.unit)).filter(|unit| !unit.is_empty())
        })
        .text("meaning", "What it says", |(_, column)| column.doc.to_owned())
        .build()
}
