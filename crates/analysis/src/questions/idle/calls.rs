//! Which launching calls devices idled in, and which of them were held up.
//!
//! A call that launches takes microseconds. One that takes much longer than others of its name was held up: by a lock
//! that another thread has, a queue that is full, code that is loaded on its first use. A blocking copy waits for its
//! stream whatever it takes.

use gpuscope_trace::{Class, Ns, Row, StrId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::causes::Cause;
use crate::shared::median::median;

/// So many times the median of its name is more than a call takes by itself.
const HELD_UP: i64 = 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallIdle {
    pub rank: u32,
    pub name: String,
    /// Device idle time inside these calls.
    pub idle_ns: Ns,
    pub count: u64,
    pub longest_ns: Ns,
    /// Of the idle time, in calls that were held up.
    pub held_up_ns: Ns,
}

#[derive(Default)]
pub(super) struct Calls(FxHashMap<StrId, Vec<Inside>>);

struct Inside {
    idle: Ns,
    call: Ns,
}

impl Calls {
    pub(super) fn add(&mut self, view: View<'_>, call: Row, idle: Ns) {
        let Some(length) = view.trace.dur(call).filter(|_| idle > Ns::ZERO) else { return };
        self.0.entry(view.trace.name_id(call)).or_default().push(Inside { idle, call: length });
    }

    /// Most idle time first.
    pub(super) fn answer(self, rank: u32, view: View<'_>, threshold: Ns) -> Vec<CallIdle> {
        let row = |(name, inside): (StrId, Vec<Inside>)| {
            let name = view.trace.strings.get(name);
            let usual = median(inside.iter().map(|one| one.call).collect()).unwrap_or_default();
            let long = threshold.max(Ns(usual.0.saturating_mul(HELD_UP)));
            let blocks = Cause::telling(Class::Runtime, name) == Some(Cause::BlockingCopy);
            let held_up = inside.iter().filter(|one| blocks || one.call > long);
            CallIdle {
                rank,
                name: name.to_owned(),
                idle_ns: inside.iter().map(|one| one.idle).sum(),
                count: inside.len() as u64,
                longest_ns: inside.iter().map(|one| one.idle).max().unwrap_or_default(),
                held_up_ns: held_up.map(|one| one.idle).sum(),
            }
        };
        let mut rows: Vec<CallIdle> = self.0.into_iter().map(row).collect();
        rows.sort_by(|a, b| b.idle_ns.cmp(&a.idle_ns).then_with(|| a.name.cmp(&b.name)));
        rows
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Ns;

    use crate::Idle;
    use crate::testing::trace;

    #[test]
    fn a_call_that_takes_far_longer_than_its_like_was_held_up() {
        let mut sample = trace().call(99, 0..1).kernel("first", 7, 1..2, 99);
        for i in 0..5 {
            let at = 1000 * (i + 1);
            let long = if i == 3 { 500 } else { 10 };
            sample = sample.call(i + 1, at..at + long).kernel("k", 7, at + long..at + long + 5, i + 1);
        }
        let loaded = sample
            .named_call("hipMemcpyWithStream", 9, 7000..7020)
            .memcpy("Memcpy HtoD", 7, 7010..7015, 9)
            .build();
        let answer = loaded.ask(&Idle { threshold: Ns(30) });
        let rows: Vec<_> = answer
            .calls
            .iter()
            .map(|call| (&*call.name, call.idle_ns.0, call.count, call.longest_ns.0, call.held_up_ns.0))
            .collect();
        assert_eq!(rows, [("cudaLaunchKernel", 540, 5, 500, 500), ("hipMemcpyWithStream", 10, 1, 10, 10)]);
        assert_eq!(answer.devices[0].in_call_ns, Ns(550));
    }
}
