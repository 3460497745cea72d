//! Which host event encloses which, by time on one thread.
//!
//! Real traces bleed: a child may end a little after its parent, spans may be equal or have no length. A row's
//! parent is the innermost open span that holds all of it; a span that holds only its beginning is passed over.

use super::order::ThreadOrder;
use super::{NO_ROW, some_row};
use crate::time::Ns;
use crate::trace::{Row, Trace};

#[derive(Debug, Default)]
pub struct Nesting {
    parent: Vec<Row>,
    bleeding: u64,
}

impl Nesting {
    pub(super) fn new(trace: &Trace, order: &ThreadOrder) -> Nesting {
        let mut nesting = Nesting { parent: vec![NO_ROW; trace.len()], bleeding: 0 };
        let mut open: Vec<(Row, Ns)> = Vec::new();
        for thread in order.threads() {
            open.clear();
            for &row in thread {
                nesting.place(trace, row, &mut open);
            }
        }
        nesting
    }

    fn place(&mut self, trace: &Trace, row: Row, open: &mut Vec<(Row, Ns)>) {
        let Some((start, end)) = trace.span(row) else { return };
        // A span with no length may stand at the very end of its parent; any other begins before that.
        while open.pop_if(|(_, open_end)| *open_end < start || (*open_end == start && end > start)).is_some()
        {
        }
        self.bleeding += u64::from(open.last().is_some_and(|(_, open_end)| *open_end < end));
        // What ends before this one cannot hold it, nor anything after it that this one does not hold.
        while open.pop_if(|(_, open_end)| *open_end < end).is_some() {}
        if let Some((parent, _)) = open.last() {
            self.parent[row as usize] = *parent;
        }
        open.push((row, end));
    }

    pub fn parent(&self, row: Row) -> Option<Row> {
        some_row(self.parent[row as usize])
    }

    /// The row's parent, its parent's parent, and so on outwards.
    pub fn ancestors(&self, row: Row) -> impl Iterator<Item = Row> {
        std::iter::successors(self.parent(row), |row| self.parent(*row))
    }

    /// Spans that began inside another and ended after it.
    pub fn bleeding(&self) -> u64 {
        self.bleeding
    }
}
