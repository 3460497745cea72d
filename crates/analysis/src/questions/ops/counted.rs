//! Whose work counts, so that nothing counts twice: where operators with known work call others (`aten::linear` and
//! `aten::addmm`), the outermost counts, and nothing below it.

use gpuscope_work::Work;

use super::calls::Calls;
use super::kinds::Kinds;
use super::work::Works;

pub(crate) struct Counted<'w> {
    pub(crate) call: usize,
    /// Whether its work is known, by its own or by that of a call around it.
    pub(crate) known: bool,
    /// Its own work, if that counts.
    pub(crate) work: Option<&'w Work>,
}

/// Every call, each before those below it.
pub(crate) fn counted<'w>(
    calls: &'w Calls,
    kinds: &'w Kinds,
    works: &'w Works,
) -> impl Iterator<Item = Counted<'w>> {
    let mut is_known = vec![false; calls.len()];
    (0..calls.len()).map(move |call| {
        let inside = calls.parent(call).is_some_and(|parent| is_known[parent]);
        let work = works.of[kinds.of[call] as usize].as_ref();
        is_known[call] = inside || work.is_some();
        Counted { call, known: is_known[call], work: work.filter(|_| !inside) }
    })
}
