//! What the host events around something say about it, from the outermost inwards.

use gpuscope_trace::{Nesting, Row};

/// Folds over the host events around a row and the row itself: `step(what the outside says, row)`, with `root(row)` for
/// the outside of the outermost. What was found is remembered for all rows on the way, so that asking for every row of
/// a trace looks at each once, however deep the nesting.
pub(crate) struct Inherited<'n, T, R, S> {
    nesting: &'n Nesting,
    root: R,
    step: S,
    known: Vec<Option<T>>,
    path: Vec<Row>,
}

impl<'n, T: Copy, R: FnMut(Row) -> T, S: FnMut(T, Row) -> T> Inherited<'n, T, R, S> {
    pub(crate) fn new(nesting: &'n Nesting, rows: usize, root: R, step: S) -> Self {
        Inherited { nesting, root, step, known: vec![None; rows], path: Vec::new() }
    }

    pub(crate) fn of(&mut self, row: Row) -> T {
        let mut here = Some(row);
        let mut outside = None;
        while let Some(row) = here {
            outside = self.known[row as usize];
            if outside.is_some() {
                break;
            }
            self.path.push(row);
            here = self.nesting.parent(row);
        }
        let outermost = self.path.last().copied().unwrap_or(row);
        let mut said = outside.unwrap_or_else(|| (self.root)(outermost));
        while let Some(row) = self.path.pop() {
            said = (self.step)(said, row);
            self.known[row as usize] = Some(said);
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Selection;
    use proptest::prelude::*;

    use super::*;
    use crate::testing::trace;

    proptest! {
        #[test]
        fn remembering_changes_nothing(spans in proptest::collection::vec((0..40i64, 0..20i64), 0..25)) {
            let mut sample = trace();
            for (start, length) in spans {
                sample = sample.host("cpu_op", "op", start..start + length);
            }
            let loaded = sample.build();
            let selection = Selection::everything();
            let view = loaded.view(&selection);
            let nesting = view.index.nesting(view.trace);
            let step = |outside: u64, row: Row| outside.wrapping_mul(31).wrapping_add(u64::from(row) + 1);
            let root = |row: Row| u64::from(row) + 7;
            let mut inherited = Inherited::new(nesting, view.trace.len(), root, step);
            for row in view.trace.rows() {
                let mut around: Vec<Row> = std::iter::once(row).chain(nesting.ancestors(row)).collect();
                around.reverse();
                let slow = around.iter().fold(root(around[0]), |said, row| step(said, *row));
                prop_assert_eq!(inherited.of(row), slow);
            }
        }
    }
}
