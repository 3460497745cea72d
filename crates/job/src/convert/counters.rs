//! Counters for viewers of traces: how much work waited for each stream, how fast bytes moved.

use std::collections::BTreeMap;

use gpuscope_analysis::{Question, Queue};
use gpuscope_formats::rewrite::{NewEvent, Overlay};
use gpuscope_trace::{Arg, Class, Ns, View};

/// The queue of each stream after each change, as `queue --series` has it.
pub(super) fn queue(rank: u32, view: View<'_>) -> Overlay {
    let question = Queue { series: true, ..Queue::default() };
    let streams = question.merge(vec![question.local(rank, view)]).streams;
    let mut events = Vec::new();
    for stream in &streams {
        let series = stream.series.as_deref().unwrap_or_default();
        // Of changes at one instant only the last can be seen.
        for at_once in series.chunk_by(|a, b| a.time_ns == b.time_ns) {
            let Some(point) = at_once.last() else { continue };
            events.push(NewEvent::Counter {
                name: "Queue Length".to_owned(),
                pid: stream.device,
                id: Some(stream.stream),
                time: point.time_ns,
                series: "queue_length",
                value: point.length as f64,
            });
        }
    }
    Overlay::new(Vec::new(), events)
}

/// The bandwidth of the copies under way, by device and kind: bytes over time of each, added up. In integers, so
/// that it is 0 again when none is left.
pub(super) fn bandwidth(view: View<'_>) -> Overlay {
    let trace = view.trace;
    let mut changes: BTreeMap<(i64, &str), Vec<(Ns, i128)>> = BTreeMap::new();
    for event in view.gpu().filter(|event| trace.class(event.row) == Class::GpuMemcpy) {
        let Some(bytes) = trace.args.int(event.row, Arg::Bytes) else { continue };
        if event.dur() <= Ns::ZERO {
            continue;
        }
        let name = trace.name(event.row);
        let kind = name.split_once(" (").map_or(name, |(kind, _)| kind);
        let per_second = i128::from(bytes) * 1_000_000_000 / i128::from(event.dur().0);
        let of_kind = changes.entry((view.device(event.row), kind)).or_default();
        of_kind.extend([(event.start, per_second), (event.end, -per_second)]);
    }
    let mut events = Vec::new();
    for ((device, kind), mut changes) in changes {
        changes.sort_unstable_by_key(|(time, _)| *time);
        let mut current = 0_i128;
        for at_once in changes.chunk_by(|a, b| a.0 == b.0) {
            current += at_once.iter().map(|(_, change)| change).sum::<i128>();
            events.push(NewEvent::Counter {
                name: kind.to_owned(),
                pid: device,
                id: None,
                time: at_once[0].0,
                series: "memory_bw_gbps",
                value: current as f64 / 1e9,
            });
        }
    }
    Overlay::new(Vec::new(), events)
}
