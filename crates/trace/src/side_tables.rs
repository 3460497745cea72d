//! Where arguments are kept: one table per group, one column per argument.

use crate::args::{Arg, ArgSet, ArgType, Group, MEMBERS};
use crate::strings::StrId;

/// The values of one argument, one per row of its side table. Integers take 32 bits each until one does not
/// fit; then the whole column becomes 64 bits wide.
#[derive(Clone, Debug)]
pub enum ArgColumn {
    Narrow(Vec<i32>),
    Wide(Vec<i64>),
}

const NARROW_ABSENT: i32 = i32::MIN;
/// Stands for "no value" in wide columns.
pub const ABSENT: i64 = i64::MIN;

impl Default for ArgColumn {
    fn default() -> Self {
        ArgColumn::Narrow(Vec::new())
    }
}

impl ArgColumn {
    #[inline]
    pub(crate) fn push(&mut self, value: i64) {
        if let ArgColumn::Narrow(values) = self {
            if value > i64::from(NARROW_ABSENT) && value <= i64::from(i32::MAX) {
                values.push(value as i32);
                return;
            }
            if value == ABSENT {
                values.push(NARROW_ABSENT);
                return;
            }
        }
        self.push_wide(value);
    }

    #[cold]
    fn push_wide(&mut self, value: i64) {
        if let ArgColumn::Narrow(values) = self {
            *self = ArgColumn::Wide((0..values.len()).map(|i| narrow(values[i]).unwrap_or(ABSENT)).collect());
        }
        if let ArgColumn::Wide(values) = self {
            values.push(value);
        }
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<i64> {
        match self {
            ArgColumn::Narrow(values) => narrow(values[index]),
            ArgColumn::Wide(values) => Some(values[index]).filter(|v| *v != ABSENT),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            ArgColumn::Narrow(values) => values.len(),
            ArgColumn::Wide(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn heap_bytes(&self) -> usize {
        match self {
            ArgColumn::Narrow(values) => values.capacity() * 4,
            ArgColumn::Wide(values) => values.capacity() * 8,
        }
    }
}

#[inline]
fn narrow(value: i32) -> Option<i64> {
    (value != NARROW_ABSENT).then_some(i64::from(value))
}

/// One side table: the rows that have any argument of a group, ascending, and a column per argument.
#[derive(Clone, Debug, Default)]
pub struct ArgTable {
    rows: Vec<u32>,
    columns: Vec<ArgColumn>,
}

impl ArgTable {
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Where a row stands in this table.
    pub fn find(&self, row: u32) -> Option<usize> {
        self.rows.binary_search(&row).ok()
    }
}

/// All side tables of a trace.
#[derive(Clone, Debug)]
pub struct Args {
    tables: [ArgTable; Group::COUNT],
}

/// The position of each argument inside its group.
const POSITION: [u8; Arg::COUNT] = {
    let mut position = [0; Arg::COUNT];
    let mut next = [0u8; Group::COUNT];
    let mut i = 0;
    while i < Arg::COUNT {
        let group = Arg::ALL[i].group() as usize;
        position[i] = next[group];
        next[group] += 1;
        i += 1;
    }
    position
};

impl Default for Args {
    fn default() -> Self {
        let mut tables: [ArgTable; Group::COUNT] = std::array::from_fn(|_| ArgTable::default());
        for arg in Arg::ALL {
            tables[arg.group() as usize].columns.push(ArgColumn::default());
        }
        Args { tables }
    }
}

impl Args {
    /// Spreads the arguments of one event over the tables of their groups, given as bits.
    #[inline]
    pub(crate) fn push(&mut self, row: u32, mut tables: u32, present: ArgSet, values: &[i64; Arg::COUNT]) {
        while tables != 0 {
            self.push_group(tables.trailing_zeros() as usize, row, present, values);
            tables &= tables - 1;
        }
    }

    #[inline]
    fn push_group(&mut self, group: usize, row: u32, present: ArgSet, values: &[i64; Arg::COUNT]) {
        let table = &mut self.tables[group];
        table.rows.push(row);
        for (column, arg) in table.columns.iter_mut().zip(MEMBERS[group].iter()) {
            column.push(if present.has(arg) { values[arg as usize] } else { ABSENT });
        }
    }

    /// The arguments of the rows that have a new number, under that number.
    pub(crate) fn moved(&self, new_row: &[u32]) -> Args {
        let mut moved = Args::default();
        for (table, to) in self.tables.iter().zip(&mut moved.tables) {
            for (i, row) in
                table.rows.iter().enumerate().filter(|(_, row)| new_row[**row as usize] != u32::MAX)
            {
                to.rows.push(new_row[*row as usize]);
                for (column, to) in table.columns.iter().zip(&mut to.columns) {
                    to.push(column.get(i).unwrap_or(ABSENT));
                }
            }
        }
        moved
    }

    pub fn table(&self, group: Group) -> &ArgTable {
        &self.tables[group as usize]
    }

    pub fn column(&self, arg: Arg) -> &ArgColumn {
        &self.tables[arg.group() as usize].columns[POSITION[arg as usize] as usize]
    }

    /// Rows and values of an integer or id argument, in row order.
    pub fn iter(&self, arg: Arg) -> impl Iterator<Item = (u32, i64)> {
        let column = self.column(arg);
        self.table(arg.group()).rows.iter().enumerate().filter_map(|(i, row)| Some((*row, column.get(i)?)))
    }

    /// Rows and texts of a text argument, in row order.
    pub fn texts(&self, arg: Arg) -> impl Iterator<Item = (u32, StrId)> {
        debug_assert_eq!(arg.arg_type(), ArgType::Text);
        self.iter(arg).map(|(row, value)| (row, StrId(value as u32)))
    }

    pub fn int(&self, row: u32, arg: Arg) -> Option<i64> {
        debug_assert_eq!(arg.arg_type(), ArgType::Int);
        self.raw(row, arg)
    }

    pub fn float(&self, row: u32, arg: Arg) -> Option<f32> {
        debug_assert_eq!(arg.arg_type(), ArgType::Float);
        self.raw(row, arg).map(float_from_slot)
    }

    pub fn text(&self, row: u32, arg: Arg) -> Option<StrId> {
        debug_assert_eq!(arg.arg_type(), ArgType::Text);
        self.raw(row, arg).map(|value| StrId(value as u32))
    }

    fn raw(&self, row: u32, arg: Arg) -> Option<i64> {
        self.column(arg).get(self.table(arg.group()).find(row)?)
    }

    pub fn heap_bytes(&self) -> usize {
        let table =
            |t: &ArgTable| t.rows.capacity() * 4 + t.columns.iter().map(ArgColumn::heap_bytes).sum::<usize>();
        self.tables.iter().map(table).sum()
    }
}

/// Floats travel in the same 64-bit slots as everything else, as their bits.
pub fn float_to_slot(value: f64) -> i64 {
    i64::from((value as f32).to_bits() as i32)
}

pub fn float_from_slot(slot: i64) -> f32 {
    f32::from_bits(slot as i32 as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_widens_when_a_value_needs_it() {
        let mut column = ArgColumn::default();
        for value in [7, ABSENT, -1, i64::from(i32::MAX), 4_294_967_295, i64::from(i32::MIN)] {
            column.push(value);
        }
        let values: Vec<_> = (0..column.len()).map(|i| column.get(i)).collect();
        assert_eq!(
            values,
            [
                Some(7),
                None,
                Some(-1),
                Some(i64::from(i32::MAX)),
                Some(4_294_967_295),
                Some(i64::from(i32::MIN))
            ]
        );
    }

    #[test]
    fn arguments_come_back_by_row() {
        let mut args = Args::default();
        let mut values = [0; Arg::COUNT];
        values[Arg::Correlation as usize] = 42;
        values[Arg::Occupancy as usize] = float_to_slot(37.5);
        let present = ArgSet::EMPTY.with(Arg::Correlation).with(Arg::Occupancy);
        args.push(3, present.tables(), present, &values);
        assert_eq!(args.int(3, Arg::Correlation), Some(42));
        assert_eq!(args.float(3, Arg::Occupancy), Some(37.5));
        assert_eq!(args.int(3, Arg::ExternalId), None);
        assert_eq!(args.int(2, Arg::Correlation), None);
        assert_eq!(args.iter(Arg::Correlation).collect::<Vec<_>>(), [(3, 42)]);
    }
}
