//! One unit for a column of times or sizes, so that its numbers can be compared at a glance: the one that suits most of
//! them.

use gpuscope_table::{Column, Unit, Values};

use crate::text;
use crate::units::{self, BYTES, TIMES};

/// How a column is shown: a unit of its own, or each number by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OneUnit(Option<Chosen>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Chosen {
    name: &'static str,
    size: u64,
    /// What exact values are in.
    smallest: &'static str,
}

impl OneUnit {
    /// Of each column; those that are the least, the mean, the most of one thing share one.
    pub(crate) fn of_all(columns: &[&Column]) -> Vec<OneUnit> {
        let of = |column: &&Column| {
            let alike = columns.iter().filter(|other| other.unit == column.unit && is_alike(other, column));
            OneUnit::of(column.unit, alike.flat_map(|column| magnitudes(column)).collect())
        };
        columns.iter().map(of).collect()
    }

    fn of(unit: Unit, mut magnitudes: Vec<f64>) -> OneUnit {
        let sizes = match unit {
            Unit::Ns => &TIMES[..],
            Unit::Bytes => &BYTES[..],
            _ => return OneUnit(None),
        };
        magnitudes.sort_by(f64::total_cmp);
        // Where there is nothing, it is nothing of any unit.
        let Some(most) = magnitudes.last().copied() else { return OneUnit(None) };
        let middle = magnitudes[magnitudes.len() / 2];
        // Five digits before the point are enough, be there ever so many small ones.
        let is_fitting = |size: f64| middle < size * 1000.0 && most < size * 1e5;
        let fitting = sizes.iter().find(|(_, size)| is_fitting(*size as f64)).or(sizes.last());
        let (name, size) = *fitting.unwrap_or(&sizes[0]);
        OneUnit(Some(Chosen { name, size, smallest: sizes[0].0 }))
    }

    /// What the heading says, as no number does.
    pub(crate) fn name(self) -> Option<&'static str> {
        self.0.map(|chosen| chosen.name)
    }

    pub(crate) fn smallest(self) -> Option<&'static str> {
        self.0.map(|chosen| chosen.smallest)
    }

    pub(crate) fn cell(self, column: &Column, row: usize) -> String {
        let size = self.0.map_or(1, |chosen| chosen.size);
        if self.0.is_none() && !matches!(column.unit, Unit::Ns | Unit::Bytes) {
            return text::cell(column, row);
        }
        let value = match &column.values {
            Values::Int(values) => values[row].map(|value| value as f64),
            Values::Float(values) => values[row],
            Values::Text(_) => None,
        };
        value.map_or_else(|| text::cell(column, row), |value| units::three_digits(value / size as f64))
    }
}

/// Other than nothing.
fn magnitudes(column: &Column) -> Vec<f64> {
    let all: Vec<f64> = match &column.values {
        Values::Int(values) => values.iter().flatten().map(|value| (*value as f64).abs()).collect(),
        Values::Float(values) => values.iter().flatten().map(|value| value.abs()).collect(),
        Values::Text(_) => Vec::new(),
    };
    all.into_iter().filter(|size| *size > 0.0).collect()
}

/// Whether both are of one thing: `min_transfer_ns`, `max_transfer_ns`; `a_own_ns`, `b_own_ns`.
fn is_alike(a: &Column, b: &Column) -> bool {
    a.name == b.name || matches!((thing(a.name), thing(b.name)), (Some(a), Some(b)) if a == b)
}

/// What a figure about many values is about.
fn thing(name: &str) -> Option<&str> {
    const STATISTICS: [&str; 9] =
        ["min_", "max_", "mean_", "median_", "std_", "p25_", "p75_", "p95_", "p99_"];
    // Of one run and of another.
    const COMPARED: [&str; 3] = ["a_", "b_", "delta_"];
    STATISTICS.iter().chain(&COMPARED).find_map(|statistic| name.strip_prefix(statistic))
}

#[cfg(test)]
mod tests {
    use gpuscope_table::Table;

    use super::*;

    fn shown(unit: Unit, values: &[i64]) -> (Option<&'static str>, Vec<String>) {
        let table = Table::of("t", "T", values).int("value", unit, "A value", |value| *value).build();
        let (column, one) = (&table.columns[0], OneUnit::of_all(&[&table.columns[0]])[0]);
        (one.name(), (0..values.len()).map(|row| one.cell(column, row).replace('\u{202f}', " ")).collect())
    }

    #[test]
    fn a_column_keeps_the_unit_that_suits_most() {
        let (name, cells) = shown(Unit::Ns, &[1_187_000_000, 0, 2_203_456, 22_110, 9_996_000, -3_500_000]);
        assert_eq!(name, Some("ms"));
        assert_eq!(cells, ["1 187", "0", "2.20", "0.0221", "10.0", "-3.50"]);
    }

    #[test]
    fn one_large_number_among_small_ones_is_not_a_row_of_digits() {
        assert_eq!(
            shown(Unit::Ns, &[26, 14, 9, 43_383_012]),
            (Some("µs"), ["0.0260", "0.0140", "0.00900", "43 383"].map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn sizes_are_powers_of_two() {
        assert_eq!(
            shown(Unit::Bytes, &[1 << 30, 3 << 29]),
            (Some("GiB"), vec!["1.00".to_owned(), "1.50".to_owned()])
        );
    }

    #[test]
    fn the_least_and_the_most_of_one_thing_share_a_unit() {
        let rows = [(7_143_000, 70_000_000)];
        let table = Table::of("t", "T", &rows)
            .int("min_transfer_ns", Unit::Ns, "Least", |row| row.0 / 10)
            .int("max_transfer_ns", Unit::Ns, "Most", |row| row.1)
            .int("wait_ns", Unit::Ns, "Another", |_| 12)
            .int("none_ns", Unit::Ns, "Nothing", |_| 0)
            .build();
        let columns: Vec<&Column> = table.columns.iter().collect();
        let names: Vec<_> = OneUnit::of_all(&columns).into_iter().map(OneUnit::name).collect();
        assert_eq!(names, [Some("ms"), Some("ms"), Some("ns"), None]);
    }

    #[test]
    fn counts_are_as_they_are() {
        assert_eq!(shown(Unit::Count, &[1_234]), (None, vec!["1 234".to_owned()]));
    }
}
