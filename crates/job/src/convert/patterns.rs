//! Frequent sequences of kernels on top of a trace: their operators are marked.

use gpuscope_analysis::{Patterns, Question};
use gpuscope_formats::rewrite::Overlay;
use gpuscope_trace::View;

/// Each operator that launches one of the listed sequences says which, counted from 1, and how often it occurs.
pub(super) fn overlay(question: &Patterns, rank: u32, view: View<'_>) -> Overlay {
    let patterns = question.merge(vec![question.local(rank, view)]).patterns;
    let mark = |(place, root): (usize, u32)| {
        let text = format!("\"pattern\":{},\"pattern_count\":{}", place + 1, patterns[place].count);
        (view.trace.element(root), text.into())
    };
    Overlay::new(question.roots(rank, view).into_iter().map(mark).collect(), Vec::new())
}
