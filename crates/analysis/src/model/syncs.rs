//! What the recorded synchronisation rows (`cuda_sync`) waited for.
//!
//! A call that waits, or a stream that waits for an event, leaves a row of its own that tells the stream it
//! waited on and the correlation of the `cudaEventRecord` call that marked the place. What was waited for is the
//! last GPU event launched on that stream before the mark.

use std::sync::Arc;

use gpuscope_trace::{Arg, Class, Ns, Row, View};
use rustc_hash::FxHashMap;

/// What rows are called in which a stream, not the host, waits.
pub(crate) const STREAM_WAITS: &str = "Stream Wait Event";

/// A stream of a device.
pub(crate) type StreamKey = (i64, i64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// All work given to a stream.
    Stream(StreamKey),
    /// All work given to a device.
    Device(i64),
    /// The work before an event; none if it is not in the trace.
    Event(Option<Row>),
}

/// One synchronisation row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sync {
    pub row: Row,
    /// The runtime or driver call.
    pub call: Option<Row>,
    pub awaited: Awaited,
    /// For a stream that waits: the first work that had to.
    pub held_back: Option<Row>,
}

impl Sync {
    /// The work before the event that was waited for.
    pub(crate) fn source(&self) -> Option<Row> {
        match self.awaited {
            Awaited::Event(source) => source,
            Awaited::Stream(_) | Awaited::Device(_) => None,
        }
    }
}

/// GPU events of every stream in the order of their launches.
pub(crate) struct LaunchOrder(FxHashMap<StreamKey, Vec<(Ns, Row)>>);

impl LaunchOrder {
    pub(crate) fn of(view: View<'_>) -> Arc<LaunchOrder> {
        view.index.derived(|| LaunchOrder::find(view))
    }

    fn find(view: View<'_>) -> LaunchOrder {
        let mut streams: FxHashMap<StreamKey, Vec<(Ns, Row)>> = FxHashMap::default();
        for event in view.index.gpu(view.trace).iter() {
            if let (Some(stream), Some(launched)) = (view.stream(event.row), view.launch_start(event.row)) {
                streams.entry((view.device(event.row), stream)).or_default().push((launched, event.row));
            }
        }
        for launches in streams.values_mut() {
            // Stable: the kernels of one graph launch stay in the order in which they ran.
            launches.sort_by_key(|(launched, _)| *launched);
        }
        LaunchOrder(streams)
    }

    pub(crate) fn last_before(&self, stream: StreamKey, time: Ns) -> Option<Row> {
        let launches = self.0.get(&stream)?;
        let next = launches.partition_point(|(launched, _)| *launched < time);
        Some(launches[next.checked_sub(1)?].1)
    }

    fn first_after(&self, stream: StreamKey, time: Ns) -> Option<Row> {
        let launches = self.0.get(&stream)?;
        let next = launches.partition_point(|(launched, _)| *launched < time);
        Some(launches.get(next)?.1)
    }
}

/// All recorded synchronisation, in file order.
pub(crate) fn recorded(view: View<'_>) -> Arc<Vec<Sync>> {
    view.index.derived(|| find(view))
}

fn find(view: View<'_>) -> Vec<Sync> {
    let trace = view.trace;
    let rows: Vec<Row> =
        trace.rows().filter(|row| trace.class(*row) == Class::Sync && trace.span(*row).is_some()).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let calls = calls_of(view, &rows);
    let order = LaunchOrder::of(view);
    let call = |row, arg| calls.get(&trace.args.int(row, arg)?).copied();
    let started = |row| trace.start(row);
    let sync = |row: Row| {
        let device = view.device(row);
        let own_call = call(row, Arg::Correlation);
        // 4294967295 and -1 stand for all streams.
        let stream = view.stream(row).filter(|stream| (0..i64::from(u32::MAX)).contains(stream));
        let marked = || {
            let mark = started(call(row, Arg::WaitOnRecordCorrelation)?)?;
            let awaited = (device, trace.args.int(row, Arg::WaitOnStream)?);
            order.last_before(awaited, mark)
        };
        let (awaited, held_back) = match trace.name(row) {
            "Stream Sync" | "Stream Synchronize" => match stream {
                Some(stream) => (Awaited::Stream((device, stream)), None),
                None => (Awaited::Device(device), None),
            },
            "Context Sync" | "Context Synchronize" => (Awaited::Device(device), None),
            "Event Sync" | "Event Synchronize" => (Awaited::Event(marked()), None),
            STREAM_WAITS => {
                let from = own_call.and_then(started).or_else(|| started(row));
                let held =
                    stream.zip(from).and_then(|(stream, from)| order.first_after((device, stream), from));
                (Awaited::Event(marked()), held)
            }
            _ => return None,
        };
        Some(Sync { row, call: own_call, awaited, held_back })
    };
    rows.into_iter().filter_map(sync).collect()
}

/// The calls that synchronisation rows speak of, by correlation.
fn calls_of(view: View<'_>, rows: &[Row]) -> FxHashMap<i64, Row> {
    let trace = view.trace;
    let mut wanted: FxHashMap<i64, Option<Row>> = FxHashMap::default();
    for arg in [Arg::Correlation, Arg::WaitOnRecordCorrelation] {
        let spoken_of = rows.iter().filter_map(|row| trace.args.int(*row, arg)).filter(|id| *id > 0);
        wanted.extend(spoken_of.map(|id| (id, None)));
    }
    for (row, id) in trace.args.iter(Arg::Correlation) {
        if trace.class(row).is_call()
            && trace.span(row).is_some()
            && let Some(call) = wanted.get_mut(&id)
        {
            call.get_or_insert(row);
        }
    }
    wanted.into_iter().filter_map(|(id, call)| Some((id, call?))).collect()
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::{Id, Phase, Selection};

    use super::*;
    use crate::testing::{Sample, trace};

    fn sync_row(sample: Sample, name: &str, stream: i64, corr: i64, waits_on: Option<(i64, i64)>) -> Sample {
        sample.event(Phase::Complete, "cuda_sync", name, Some(0), Some(5), |record| {
            (record.pid, record.tid) = (Id::Int(0), Id::Int(stream));
            (record.device, record.stream) = (Id::Int(0), Id::Int(stream));
            record.set_int(Arg::Correlation, corr);
            if let Some((stream, mark)) = waits_on {
                record.set_int(Arg::WaitOnStream, stream);
                record.set_int(Arg::WaitOnRecordCorrelation, mark);
            }
        })
    }

    #[test]
    fn an_event_stands_for_the_last_launch_before_its_mark() {
        let sample = trace()
            .call(1, 0..2)
            .call(2, 3..4)
            .named_call("cudaEventRecord", 3, 5..6)
            .call(4, 7..8)
            .named_call("cudaStreamWaitEvent", 5, 9..10)
            .call(6, 11..12)
            .kernel("first", 7, 10..20, 1)
            .kernel("marked", 7, 20..30, 2)
            .kernel("later", 7, 30..40, 4)
            .kernel("held", 9, 35..40, 6);
        let sample = sync_row(sample, "Stream Wait Event", 9, 5, Some((7, 3)));
        let loaded = sync_row(sample, "Context Sync", -1, 99, None).build();
        let everything = Selection::everything();
        let syncs = recorded(loaded.view(&everything));
        let name = |row: Option<Row>| row.map(|row| loaded.trace.name(row));
        let Awaited::Event(source) = syncs[0].awaited else { panic!("{syncs:?}") };
        assert_eq!((name(source), name(syncs[0].held_back)), (Some("marked"), Some("held")));
        assert_eq!((syncs[1].awaited, syncs[1].call), (Awaited::Device(0), None));
    }
}
