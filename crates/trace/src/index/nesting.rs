//! Which host event encloses which, by time on one thread.
//!
//! Real traces bleed: a child may end a little after its parent, spans may be equal or have no length. A row's
//! parent is the innermost open span that holds all of it; a span that holds only its beginning is passed over.

use super::order::{group_by, sort_by_start};
use super::{NO_ROW, some_row};
use crate::time::Ns;
use crate::trace::{Row, Trace};

#[derive(Debug, Default)]
pub struct Nesting {
    parent: Vec<Row>,
    bleeding: u64,
}

impl Nesting {
    pub(super) fn new(trace: &Trace) -> Nesting {
        let mut nesting = Nesting { parent: vec![NO_ROW; trace.len()], bleeding: 0 };
        let (mut rows, first) =
            group_by(trace, trace.tracks.threads(), |row| trace.track(row).thread.0 as usize);
        let mut open: Vec<(Row, Ns)> = Vec::new();
        for range in first.windows(2) {
            let thread = &mut rows[range[0] as usize..range[1] as usize];
            sort_by_start(trace, thread);
            open.clear();
            for &row in thread.iter() {
                nesting.place(trace, row, &mut open);
            }
        }
        nesting
    }

    fn place(&mut self, trace: &Trace, row: Row, open: &mut Vec<(Row, Ns)>) {
        if !trace.class(row).is_host() {
            return;
        }
        let Some((start, end)) = trace.span(row) else { return };
        // A span with no length may stand at the very end of its parent; any other begins before that.
        while open.pop_if(|(_, open_end)| *open_end < start || (*open_end == start && end > start)).is_some()
        {
        }
        let mut around = open.iter().rev();
        if let Some((parent, _)) = around.find(|(_, open_end)| *open_end >= end) {
            self.parent[row as usize] = *parent;
        }
        self.bleeding += u64::from(open.last().is_some_and(|(_, open_end)| *open_end < end));
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
