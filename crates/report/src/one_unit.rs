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
    pub(crate) fn of(column: &Column) -> OneUnit {
        let sizes = match column.unit {
            Unit::Ns => &TIMES[..],
            Unit::Bytes => &BYTES[..],
            _ => return OneUnit(None),
        };
        let mut magnitudes: Vec<f64> = match &column.values {
            Values::Int(values) => values.iter().flatten().map(|value| (*value as f64).abs()).collect(),
            Values::Float(values) => values.iter().flatten().map(|value| value.abs()).collect(),
            Values::Text(_) => return OneUnit(None),
        };
        magnitudes.retain(|size| *size > 0.0);
        magnitudes.sort_by(f64::total_cmp);
        let middle = magnitudes.get(magnitudes.len() / 2).copied().unwrap_or(0.0);
        let most = magnitudes.last().copied().unwrap_or(0.0);
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
        let Some(Chosen { size, .. }) = self.0 else { return text::cell(column, row) };
        let value = match &column.values {
            Values::Int(values) => values[row].map(|value| value as f64),
            Values::Float(values) => values[row],
            Values::Text(_) => None,
        };
        value.map_or_else(|| text::cell(column, row), |value| three_digits(value / size as f64))
    }
}

/// Three digits that count, and all before the point.
fn three_digits(value: f64) -> String {
    if value == 0.0 || value.abs() >= 99.95 {
        return units::count(value.round() as i64);
    }
    let decimals = (2.0 - value.abs().log10().floor()).clamp(0.0, 10.0) as usize;
    let text = format!("{value:.decimals$}");
    // 9.996 is 10.0, not 10.00.
    if value.abs() < 1.0 || text.trim_start_matches('-').len() <= 4 { text } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use gpuscope_table::Table;

    use super::*;

    fn shown(unit: Unit, values: &[i64]) -> (Option<&'static str>, Vec<String>) {
        let table = Table::of("t", "T", values).int("value", unit, "A value", |value| *value).build();
        let (column, one) = (&table.columns[0], OneUnit::of(&table.columns[0]));
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
    fn counts_are_as_they_are() {
        assert_eq!(shown(Unit::Count, &[1_234]), (None, vec!["1 234".to_owned()]));
    }
}
