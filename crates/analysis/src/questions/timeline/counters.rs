//! Numbers over time below the tracks: how long queues were, how much memory was taken, how fast copies went.

use std::collections::BTreeMap;

use gpuscope_table::Unit;
use gpuscope_trace::{Ns, View};

use super::picture::{Counter, Track, TrackSort};
use crate::Question;
use crate::bandwidth::Bandwidth;
use crate::counters::sampled;
use crate::memory::Memory;
use crate::queue::Queue;

pub(super) fn of(rank: u32, view: View<'_>, group: &str) -> Vec<Track> {
    let queues = Queue { series: true, ..Queue::default() }.local(rank, view).into_iter().map(|queue| {
        let points = queue.series.unwrap_or_default();
        let points = points.into_iter().map(|point| (point.time_ns, point.length)).collect();
        track(group, format!("queue, stream {}", queue.stream), Unit::Count, points)
    });
    let memory = Memory { series: true }.local(rank, view).devices.into_iter().map(|device| {
        let points = device.series.unwrap_or_default();
        let points = points.into_iter().map(|point| (point.time_ns, point.allocated_bytes)).collect();
        track(group, format!("allocated, {}", device.device), Unit::Bytes, points)
    });
    let copies = Bandwidth { series: true }.local(rank, view).copies.into_iter().map(|kind| {
        let mut changes: BTreeMap<Ns, i64> = BTreeMap::new();
        for copy in kind.series.iter().flatten() {
            // As fast on average as it was: what a copy adds it takes away again, to the byte.
            let rate = i128::from(copy.bytes) * 1_000_000_000 / i128::from(copy.dur_ns.0.max(1));
            let rate = i64::try_from(rate).unwrap_or(i64::MAX / 4);
            *changes.entry(copy.start_ns).or_default() += rate;
            *changes.entry(copy.start_ns + copy.dur_ns.max(Ns(1))).or_default() -= rate;
        }
        let mut now = 0_i64;
        let points = changes.into_iter().map(|(time, change)| {
            now = now.saturating_add(change);
            (time, now)
        });
        track(group, format!("bandwidth, {}", kind.kind), Unit::BytesPerSecond, points.collect())
    });
    let sampled = sampled(view).into_iter().map(|((source, name), points)| {
        let points = points.into_iter().map(|(time, value)| (time, value.round() as i64)).collect();
        track(group, format!("{}, {source}", view.trace.strings.get(name)), Unit::Count, points)
    });
    queues.chain(memory).chain(copies).chain(sampled).filter(|track| track.counter.is_some()).collect()
}

fn track(group: &str, title: String, unit: Unit, mut points: Vec<(Ns, i64)>) -> Track {
    // Of several values at one instant the last one stays.
    points.reverse();
    points.dedup_by_key(|(time, _)| *time);
    points.reverse();
    let (time, value) = points.into_iter().unzip();
    let counter = Counter { unit, time, value };
    let counter = (!counter.time.is_empty()).then_some(counter);
    Track { group: group.to_owned(), title, sort: TrackSort::Counter, lanes: Vec::new(), counter }
}
