//! How long a call usually takes: what exceeds it by far was spent waiting for something.

use gpuscope_trace::{Ns, Row, View};

/// A call is long if it takes more than three times what is usual, and this on top.
const MARGIN: Ns = Ns(10_000);

/// The median time of the calls of each name.
pub(crate) struct TypicalCalls(Vec<Ns>);

impl TypicalCalls {
    pub(crate) fn of(view: View<'_>) -> TypicalCalls {
        let trace = view.trace;
        let mut times: Vec<Vec<Ns>> = vec![Vec::new(); trace.strings.len()];
        for row in trace.rows().filter(|row| trace.class(*row).is_call()) {
            if let Some(dur) = trace.dur(row) {
                times[trace.name_id(row).index()].push(dur);
            }
        }
        let median = |mut times: Vec<Ns>| {
            let middle = times.len() / 2;
            if times.is_empty() { Ns::ZERO } else { *times.select_nth_unstable(middle).1 }
        };
        TypicalCalls(times.into_iter().map(median).collect())
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
