//! Typed columns with name, unit and doc: the one description of tabular results. Every renderer (terminal,
//! CSV, Excel, HTML, Parquet, Python) works from this and nothing else.

use serde::{Deserialize, Serialize};

/// What the numbers of a column measure; renderers for people scale them, files keep them as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// An identifier or a label: never scaled, never summed.
    None,
    Count,
    /// A length of time in nanoseconds.
    Ns,
    /// A point in time in nanoseconds.
    TimestampNs,
    Bytes,
    /// Whole bytes, where gigabytes would be too coarse.
    BytesPerSecond,
    /// How many of something in a second: tokens, samples, steps.
    PerSecond,
    Percent,
    Ratio,
    GigabytesPerSecond,
    TerabytesPerSecond,
    /// Floating-point operations, in units of 10^9.
    Gigaflops,
    TeraflopsPerSecond,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Values {
    Int(Vec<Option<i64>>),
    Float(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
}

impl Values {
    pub fn len(&self) -> usize {
        match self {
            Values::Int(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Text(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    /// As in JSON and CSV: `exposed_comm_ns`.
    pub name: &'static str,
    pub unit: Unit,
    /// One sentence for tooltips, `--explain` and the generated documentation.
    pub doc: &'static str,
    pub values: Values,
    /// Too much for a table that people read: files and scripts have it.
    #[serde(skip)]
    pub for_files: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    pub name: &'static str,
    pub title: String,
    pub columns: Vec<Column>,
    /// Says again what another table says, for programs.
    #[serde(skip)]
    pub for_files: bool,
}

impl Table {
    /// Describes rows by one closure per column.
    pub fn of<'r, R>(name: &'static str, title: impl Into<String>, rows: &'r [R]) -> TableBuilder<'r, R> {
        TableBuilder {
            table: Table { name, title: title.into(), columns: Vec::new(), for_files: false },
            rows,
        }
    }

    /// Not drawn beside others, but in files and on demand.
    #[must_use]
    pub fn for_files(self) -> Table {
        Table { for_files: true, ..self }
    }

    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

#[derive(Debug)]
pub struct TableBuilder<'r, R> {
    table: Table,
    rows: &'r [R],
}

impl<'r, R> TableBuilder<'r, R> {
    #[must_use]
    pub fn int<V: Into<Option<i64>>>(
        self,
        name: &'static str,
        unit: Unit,
        doc: &'static str,
        value: impl Fn(&'r R) -> V,
    ) -> Self {
        let values = Values::Int(self.rows.iter().map(|row| value(row).into()).collect());
        self.column(name, unit, doc, values)
    }

    #[must_use]
    pub fn float<V: Into<Option<f64>>>(
        self,
        name: &'static str,
        unit: Unit,
        doc: &'static str,
        value: impl Fn(&'r R) -> V,
    ) -> Self {
        let values = Values::Float(self.rows.iter().map(|row| value(row).into()).collect());
        self.column(name, unit, doc, values)
    }

    #[must_use]
    pub fn text<V: Into<Option<String>>>(
        self,
        name: &'static str,
        doc: &'static str,
        value: impl Fn(&'r R) -> V,
    ) -> Self {
        let values = Values::Text(self.rows.iter().map(|row| value(row).into()).collect());
        self.column(name, Unit::None, doc, values)
    }

    /// Leaves the column added last out of tables that people read.
    #[must_use]
    pub fn for_files(mut self) -> Self {
        if let Some(column) = self.table.columns.last_mut() {
            column.for_files = true;
        }
        self
    }

    /// Columns that only some answers have.
    #[must_use]
    pub fn when(self, has: bool, columns: impl FnOnce(Self) -> Self) -> Self {
        if has { columns(self) } else { self }
    }

    /// The rows described.
    pub fn rows(&self) -> &'r [R] {
        self.rows
    }

    fn column(mut self, name: &'static str, unit: Unit, doc: &'static str, values: Values) -> Self {
        self.table.columns.push(Column { name, unit, doc, values, for_files: false });
        self
    }

    pub fn build(self) -> Table {
        self.table
    }
}

/// An answer that can be shown as tables.
pub trait Tabular {
    fn tables(&self) -> Vec<Table>;

    /// What to take away, where an answer can say so.
    fn sentence(&self) -> Option<&str> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_described_once_and_filled_from_rows() {
        let rows = [("gemm", 3_i64), ("copy", 5)];
        let table = Table::of("kernels", "Kernels", &rows)
            .text("name", "The kernel's name", |row| row.0.to_string())
            .int("sum_ns", Unit::Ns, "Time in all launches", |row| row.1)
            .when(rows.len() > 5, |table| table.int("rest", Unit::Count, "Not shown", |_| 0))
            .build();
        assert_eq!((table.rows(), table.column("rest")), (2, None));
        assert_eq!(table.column("sum_ns").unwrap().values, Values::Int(vec![Some(3), Some(5)]));
    }
}
