//! To which of the host events around it something belongs.

use gpuscope_trace::{Nesting, Row};

/// Which of several owners around one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Among {
    Innermost,
    Outermost,
}

/// Finds owners: host events that pass a test, around a host event or itself. What was found is remembered for all
/// rows on the way, so that asking for every row of a trace looks at each once, however deep the nesting.
///
/// A fold as of [`crate::shared::inherit::Inherited`], but what that remembers of a row is twice as large and has to be written
/// for all rows before the first is asked for; most never are. Which operator a kernel counts for is another question,
/// answered by [`crate::ops::Calls`], for which frames and annotations are no containers.
pub(crate) struct Owners<'n, F> {
    nesting: &'n Nesting,
    among: Among,
    is_owner: F,
    /// Per row: not known yet, none, or the owner's row two further on.
    known: Vec<u32>,
    path: Vec<Row>,
}

const UNKNOWN: u32 = 0;
const NONE: u32 = 1;

impl<'n, F: FnMut(Row) -> bool> Owners<'n, F> {
    pub(crate) fn new(nesting: &'n Nesting, rows: usize, among: Among, is_owner: F) -> Self {
        Owners { nesting, among, is_owner, known: vec![UNKNOWN; rows], path: Vec::new() }
    }

    pub(crate) fn of(&mut self, row: Row) -> Option<Row> {
        let mut here = Some(row);
        while let Some(row) = here.filter(|row| self.known[*row as usize] == UNKNOWN) {
            self.path.push(row);
            here = self.nesting.parent(row);
        }
        let mut outside = here.map_or(NONE, |row| self.known[row as usize]);
        while let Some(row) = self.path.pop() {
            if (outside == NONE || self.among == Among::Innermost) && (self.is_owner)(row) {
                outside = row.saturating_add(2);
            }
            self.known[row as usize] = outside;
        }
        self.known[row as usize].checked_sub(2)
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::{Selection, Trace};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::trace;

    fn slow(nesting: &Nesting, trace: &Trace, row: Row, among: Among) -> Option<Row> {
        let mut around = std::iter::once(row).chain(nesting.ancestors(row));
        let is_owner = |row: &Row| trace.name(*row) == "owner";
        match among {
            Among::Innermost => around.find(is_owner),
            Among::Outermost => around.filter(is_owner).last(),
        }
    }

    proptest! {
        #[test]
        fn a_parent_is_the_last_begun_that_holds_all_of_it(
            spans in proptest::collection::vec((0..30i64, 0..20i64), 0..25),
        ) {
            let mut sample = trace();
            for (start, length) in &spans {
                sample = sample.host("cpu_op", "op", *start..start + length);
            }
            let loaded = sample.build();
            let selection = Selection::everything();
            let view = loaded.view(&selection);
            let nesting = view.index.nesting(view.trace);
            let mut order: Vec<Row> = view.trace.rows().collect();
            order.sort_by_key(|row| (view.trace.start(*row), std::cmp::Reverse(view.trace.dur(*row)), *row));
            let end = |row: &Row| view.trace.span(*row).unwrap().1;
            for (i, row) in order.iter().enumerate() {
                let parent = order[..i].iter().rev().find(|before| end(before) >= end(row));
                prop_assert_eq!(nesting.parent(*row), parent.copied());
            }
        }

        #[test]
        fn remembering_changes_nothing(spans in proptest::collection::vec((0..40i64, 0..20i64, any::<bool>()), 0..25)) {
            let mut sample = trace();
            for (start, length, owner) in spans {
                let name = if owner { "owner" } else { "other" };
                sample = sample.host("cpu_op", name, start..start + length);
            }
            let loaded = sample.build();
            let selection = Selection::everything();
            let view = loaded.view(&selection);
            let nesting = view.index.nesting(view.trace);
            for among in [Among::Innermost, Among::Outermost] {
                let mut owners = Owners::new(nesting, view.trace.len(), among, |row| view.trace.name(row) == "owner");
                for row in view.trace.rows() {
                    prop_assert_eq!(owners.of(row), slow(nesting, view.trace, row, among));
                }
            }
        }
    }
}
