//! What the host did before the GPU got its first work.

use gpuscope_trace::{Interval, Ns, StrId, View};
use rustc_hash::FxHashMap;

use crate::graph::{Node, What};

/// Names listed.
const LISTED: usize = 3;
/// What takes less than this share of the time explains nothing, in per cent.
const TELLING_PCT: i128 = 10;

/// Names of what the launching thread was in, each with its time there and that of all inside it: of those that take
/// much of it the ones deepest inside, since what is around them says less.
pub(super) fn of(view: View<'_>, nodes: &[Node], from: Option<Ns>) -> Vec<(String, Ns)> {
    let on_gpu = nodes.iter().filter(|node| matches!(node.what, What::Gpu(_)));
    let Some(first) = on_gpu.min_by_key(|node| node.start) else { return Vec::new() };
    let (Some(from), Some(call)) = (from, view.launch(first.row)) else { return Vec::new() };
    let lead = Interval::new(from, first.start);
    if lead.is_empty() {
        return Vec::new();
    }
    let (trace, nesting) = (view.trace, view.index.nesting(view.trace));
    // Time and depth of each name; a name inside itself counts once.
    let mut names: FxHashMap<StrId, (Ns, usize)> = FxHashMap::default();
    let mut around = Vec::new();
    for (part, row) in view.index.innermost(trace).during(trace.track(call).thread, lead) {
        around.clear();
        around.extend(std::iter::once(row).chain(nesting.ancestors(row)).map(|row| trace.name_id(row)));
        for (i, name) in around.iter().enumerate().filter(|(i, name)| !around[..*i].contains(name)) {
            let (time, depth) = names.entry(*name).or_default();
            (*time, *depth) = (*time + part.len(), (*depth).max(around.len() - i));
        }
    }
    let much = |time: Ns| i128::from(time.0) * 100 >= i128::from(lead.len().0) * TELLING_PCT;
    let mut telling: Vec<_> = names.into_iter().filter(|(_, (time, _))| much(*time)).collect();
    telling.sort_by_key(|(name, (time, depth))| (std::cmp::Reverse((*depth, *time)), *name));
    telling.truncate(LISTED);
    telling.sort_by_key(|(name, (time, _))| (std::cmp::Reverse(*time), *name));
    telling.into_iter().map(|(name, (time, _))| (trace.strings.get(name).to_owned(), time)).collect()
}
