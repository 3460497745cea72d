//! How long a call takes when it waits for nothing: what exceeds it by far was spent waiting.
//!
//! That is the median of the calls of its name, but no more than twice what the quickest tenth take, nor than four times
//! what the quickest takes: in a job that runs into a full queue, most calls wait, if not nearly all.

use std::sync::Arc;

use gpuscope_trace::{Ns, Row, View};

/// A call is long if it takes more than three times what is usual, and this on top.
const MARGIN: Ns = Ns(10_000);

pub(crate) struct TypicalCalls(Vec<Ns>);

impl TypicalCalls {
    pub(crate) fn of(view: View<'_>) -> Arc<TypicalCalls> {
        view.index.derived(|| TypicalCalls::find(view))
    }

    fn find(view: View<'_>) -> TypicalCalls {
        let trace = view.trace;
        let mut times: Vec<Vec<Ns>> = vec![Vec::new(); trace.strings.len()];
        for row in trace.rows().filter(|row| trace.class(*row).is_call()) {
            if let Some(dur) = trace.dur(row) {
                times[trace.name_id(row).index()].push(dur);
            }
        }
        TypicalCalls(times.into_iter().map(typical).collect())
    }

    /// What calls of the name of this one usually take.
    pub(crate) fn time(&self, view: View<'_>, call: Row) -> Ns {
        self.0[view.trace.name_id(call).index()]
    }

    /// Whether a call took far longer than those of its name do.
    pub(crate) fn is_long(&self, view: View<'_>, call: Row) -> bool {
        let took = view.trace.dur(call).unwrap_or_default();
        took.0 > self.time(view, call).0.saturating_mul(3).saturating_add(MARGIN.0)
    }
}

fn typical(mut times: Vec<Ns>) -> Ns {
    if times.is_empty() {
        return Ns::ZERO;
    }
    let (middle, tenth) = (times.len() / 2, times.len() / 10);
    let median = *times.select_nth_unstable(middle).1;
    let quick = *times.select_nth_unstable(tenth).1;
    let quickest = times[..=tenth].iter().copied().min().unwrap_or(quick);
    median.min(Ns(quick.0.saturating_mul(2))).min(Ns(quickest.0.saturating_mul(4)))
}
