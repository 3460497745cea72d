//! What each row ran on the GPU: every kernel of it, by stream and by the call that launched it.

use gpuscope_trace::{Ns, StrId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::calls::Calls;
use super::tally::Tallies;
use crate::shared::durations::Durations;

/// Launches of one kernel straight under the calls of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelOfOp {
    pub name: String,
    pub stream: Option<i64>,
    /// The call that launches it: `cudaLaunchKernel`, `hipGraphLaunch`, …
    pub launcher: String,
    pub count: u64,
    pub sum_ns: Ns,
    pub mean_ns: f64,
    /// Of an even number the mean of the middle two, rounded down.
    pub median_ns: Ns,
    pub std_ns: f64,
    pub min_ns: Ns,
    pub max_ns: Ns,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    row: u32,
    name: StrId,
    stream: Option<i64>,
    launcher: StrId,
}

/// Per row its kernels, largest sum first.
pub(super) fn of_rows(view: View<'_>, calls: &Calls, tallies: &Tallies) -> Vec<Vec<KernelOfOp>> {
    let mut durations: FxHashMap<Key, Vec<Ns>> = FxHashMap::default();
    for (call, row) in tallies.of.iter().enumerate() {
        let Some(row) = *row else { continue };
        for event in calls.direct(call) {
            let launcher = view.launch(event.row).map_or(StrId::EMPTY, |launch| view.trace.name_id(launch));
            let (name, stream) = (view.trace.name_id(event.row), view.stream(event.row));
            durations.entry(Key { row, name, stream, launcher }).or_default().push(event.dur());
        }
    }
    let mut rows: Vec<Vec<KernelOfOp>> = vec![Vec::new(); tallies.rows.len()];
    for (key, durations) in durations {
        rows[key.row as usize].push(kernel(view, key, durations));
    }
    for kernels in &mut rows {
        let place = |kernel: &KernelOfOp| (kernel.stream, kernel.sum_ns);
        kernels.sort_by(|a, b| {
            b.sum_ns
                .cmp(&a.sum_ns)
                .then_with(|| (&a.name, place(a), &a.launcher).cmp(&(&b.name, place(b), &b.launcher)))
        });
    }
    rows
}

fn kernel(view: View<'_>, key: Key, mut each: Vec<Ns>) -> KernelOfOp {
    let mut all = Durations::default();
    for duration in &each {
        all.add(*duration);
    }
    let middle = each.len() / 2;
    let (below, upper, _) = each.select_nth_unstable(middle);
    let lower =
        if all.count.is_multiple_of(2) { below.iter().max().copied().unwrap_or(*upper) } else { *upper };
    KernelOfOp {
        name: view.trace.strings.get(key.name).to_owned(),
        stream: key.stream,
        launcher: view.trace.strings.get(key.launcher).to_owned(),
        count: all.count,
        sum_ns: all.sum_ns(),
        mean_ns: all.mean(),
        median_ns: Ns(lower.0 + (*upper - lower).0 / 2),
        std_ns: all.deviation(),
        min_ns: all.min,
        max_ns: all.max,
    }
}
