//! How long host and GPU were active, and how long both at once.

use gpuscope_trace::{Class, GpuEvent, Interval, Ns, StrId, TimeSet, View};
use rustc_hash::FxHashMap;

use super::RankTimeline;

pub(super) fn of(rank: u32, view: View<'_>) -> RankTimeline {
    let trace = view.trace;
    let selected = || trace.rows().filter(|row| view.selection.has(*row));
    let in_extent = selected().filter(|row| trace.class(*row) != Class::OsRuntime);
    let extent = in_extent.filter_map(|row| trace.span(row)).reduce(|(a, b), (c, d)| (a.min(c), b.max(d)));
    let mut waits: FxHashMap<StrId, bool> = FxHashMap::default();
    let mut working = |row| match trace.class(row) {
        Class::Operator => true,
        class if class.is_call() => {
            let name = trace.name_id(row);
            !*waits.entry(name).or_insert_with(|| is_waiting(trace.strings.get(name)))
        }
        _ => false,
    };
    let active: Vec<Interval> = selected()
        .filter(|row| working(*row))
        .filter_map(|row| trace.span(row))
        .map(|(start, end)| Interval::new(start, end))
        .collect();
    let host = TimeSet::from_unsorted(active);
    let gpu = TimeSet::from_sorted(view.gpu().map(GpuEvent::interval));
    RankTimeline {
        rank,
        total_ns: extent.map_or(Ns::ZERO, |(start, end)| end - start),
        cpu_active_ns: host.len(),
        gpu_active_ns: gpu.len(),
        overlap_ns: host.intersect(&gpu).len(),
    }
}

/// A call that returns only once the device has done something: `cudaDeviceSynchronize`, `hipEventSynchronize`.
fn is_waiting(call: &str) -> bool {
    call.contains("Synchronize")
}
