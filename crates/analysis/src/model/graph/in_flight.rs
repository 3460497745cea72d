//! Work that was launched before the steps began. With several steps it keeps its times whatever is changed: it is
//! none of theirs, and what it waited for was not recorded. A single step that waits for it is as long as it is because
//! of it.
//!
//! On every stream that is what comes before the first work of a step and has no launch in the trace. And if the first
//! work of a stream began long after it was launched although nothing is recorded before it, something that was not
//! recorded held it, and it begins no sooner.

use gpuscope_trace::{Ns, View};
use rustc_hash::FxHashMap;

use super::waits::stream_of;
use super::{Hold, Node, What};

/// So long after its launch has returned, work is not just on its way.
const HELD: Ns = Ns(1_000_000);

pub(super) fn hold(view: View<'_>, nodes: &mut [Node]) {
    let on_gpu = |node: &Node| matches!(node.what, What::Gpu(_));
    let mut steps = nodes.iter().filter(|node| on_gpu(node)).filter_map(|node| node.step);
    let first = steps.next();
    let in_steps = steps.any(|step| Some(step) != first);
    let mut begun: FxHashMap<_, bool> = FxHashMap::default();
    for node in nodes.iter_mut().filter(|node| on_gpu(node)) {
        let begun = begun.entry(stream_of(view, node.row)).or_default();
        let returned = view.launch(node.row).and_then(|call| Some(view.trace.span(call)?.1));
        let launched = returned.is_some();
        if !*begun && node.delay > HELD && returned.is_some_and(|returned| node.start - returned > HELD) {
            node.hold = Hold::Start;
        }
        // Without steps, nothing tells what came before from what came later.
        if !*begun && !launched && in_steps {
            node.hold = Hold::Whole;
        }
        *begun |= launched || !in_steps;
    }
}
