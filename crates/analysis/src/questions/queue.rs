//! How much work was waiting for the GPU, stream by stream?
//!
//! The queue of a stream grows by one when a call that will put work on it begins, and shrinks by one when that
//! work starts. At one instant all that grows it comes first. Lengths are taken after each change; `mean` is
//! over the changes, `mean_time_weighted` and all of `over_time` over the time between them, which is what an
//! observer would see. A queue as long as the driver allows holds up whoever launches next: `full_ns` is the time
//! during which it was. How long that is, the calls that had to wait tell; where none did, no queue was full.

mod figures;

use std::collections::BTreeMap;

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Ns, Row, View};
use serde::Serialize;

use crate::Question;
use crate::model::launch_queue::LaunchQueues;
use crate::model::syncs::StreamKey;
use crate::model::typical::TypicalCalls;
use crate::shared::weighted::Weighted;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamQueue {
    pub rank: u32,
    pub device: i64,
    pub stream: i64,
    /// How often the length changed.
    pub points: u64,
    pub max: i64,
    pub mean: f64,
    pub mean_time_weighted: f64,
    /// Time during which the queue was as long as it ever was.
    pub time_at_max_ns: Ns,
    /// Time during which it was full, and its share of the time between the first and the last change.
    pub full_ns: Ns,
    pub full_pct: f64,
    /// The length at which calls were seen to wait for room; none if no call was.
    pub depth: Option<i64>,
    /// Calls that waited for room, and how much longer than usual they took.
    pub blocked_calls: u64,
    pub blocked_ns: Ns,
    /// None if no time passed.
    pub over_time: Option<LengthOverTime>,
    /// Length after each change, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Vec<QueuePoint>>,
}

/// Lengths weighted by the time for which they lasted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LengthOverTime {
    pub min: i64,
    /// A quarter of the time the queue was no longer than this.
    pub p25: i64,
    pub median: i64,
    pub p75: i64,
    pub std: f64,
}

impl StreamQueue {
    fn is_known_full(&self) -> bool {
        self.depth.is_some() || self.blocked_calls > 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct QueuePoint {
    pub time_ns: Ns,
    pub length: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueAnswer {
    pub streams: Vec<StreamQueue>,
}

impl Tabular for QueueAnswer {
    fn tables(&self) -> Vec<Table> {
        let streams = Table::of("streams", "Queue length", &self.streams)
            .int("rank", Unit::None, "The rank", |s| i64::from(s.rank))
            .int("device", Unit::None, "The device", |s| s.device)
            .int("stream", Unit::None, "The stream", |s| s.stream)
            .int("max", Unit::Count, "The longest the queue was", |s| s.max)
            .float("mean", Unit::Ratio, "Mean length over all changes", |s| s.mean)
            .float("mean_time_weighted", Unit::Ratio, "Mean length over time", |s| s.mean_time_weighted)
            .int("points", Unit::Count, "How often the length changed", |s| s.points as i64)
            .int("time_at_max_ns", Unit::Ns, "Time during which it was longest", |s| s.time_at_max_ns.0)
            .int("full_ns", Unit::Ns, "Time during which it was full", |s| s.full_ns.0)
            .float("full_pct", Unit::Percent, "Its share of the time", |s| s.full_pct)
            .int("depth", Unit::Count, "Length at which calls waited for room, if any did", |s| s.depth)
            .int("blocked_calls", Unit::Count, "Calls that waited for room", |s| {
                s.is_known_full().then_some(s.blocked_calls as i64)
            })
            .int("blocked_ns", Unit::Ns, "How much longer than usual these took", |s| {
                s.is_known_full().then_some(s.blocked_ns.0)
            })
            .int("p25", Unit::Count, "A quarter of the time no longer than this", |s| {
                s.over_time.map(|over| over.p25)
            })
            .int("median", Unit::Count, "Half of the time no longer than this", |s| {
                s.over_time.map(|over| over.median)
            })
            .int("p75", Unit::Count, "Three quarters of the time no longer than this", |s| {
                s.over_time.map(|over| over.p75)
            })
            .build();
        let points: Vec<(&StreamQueue, &QueuePoint)> = self
            .streams
            .iter()
            .flat_map(|s| s.series.iter().flatten().map(move |point| (s, point)))
            .collect();
        if points.is_empty() {
            return vec![streams];
        }
        let series = Table::of("series", "Queue length over time", &points)
            .int("rank", Unit::None, "The rank", |p| i64::from(p.0.rank))
            .int("device", Unit::None, "The device", |p| p.0.device)
            .int("stream", Unit::None, "The stream", |p| p.0.stream)
            .int("time_ns", Unit::TimestampNs, "When the length changed", |p| p.1.time_ns.0)
            .int("length", Unit::Count, "The length from then on", |p| p.1.length)
            .build();
        vec![streams, series]
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Queue {
    /// Keep the length after every change.
    pub series: bool,
    /// A queue this long is full; without it, one as long as those on which calls waited.
    pub max_length: Option<i64>,
}

/// What happened to one stream's queue.
#[derive(Default)]
struct Course {
    /// False sorts first: at one instant the queue grows before it shrinks.
    changes: Vec<(Ns, bool)>,
    blocked_calls: u64,
    blocked: Ns,
}

impl Question for Queue {
    type Local = Vec<StreamQueue>;
    type Answer = QueueAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> Vec<StreamQueue> {
        let typical = TypicalCalls::of(view);
        let queues = LaunchQueues::of(view);
        let waited = |call: Row| view.trace.dur(call).unwrap_or_default() - typical.time(view, call);
        let mut courses: BTreeMap<StreamKey, Course> = BTreeMap::new();
        for event in view.gpu() {
            let Some((stream, call)) = view.stream(event.row).zip(view.launch(event.row)) else { continue };
            let Some(launched) = view.trace.start(call) else { continue };
            let course = courses.entry((view.device(event.row), stream)).or_default();
            course.changes.extend([(launched, false), (event.start, true)]);
            if queues.has_blocked(call) {
                course.blocked_calls += 1;
                course.blocked += waited(call);
            }
        }
        courses.into_iter().map(|(stream, course)| self.stream(rank, stream, course, &queues)).collect()
    }

    fn merge(&self, locals: Vec<Vec<StreamQueue>>) -> QueueAnswer {
        QueueAnswer { streams: locals.into_iter().flatten().collect() }
    }
}

impl Queue {
    fn stream(self, rank: u32, key: StreamKey, mut course: Course, queues: &LaunchQueues) -> StreamQueue {
        course.changes.sort_unstable();
        let found = queues.streams.get(&key);
        let full_from = self.max_length.or(found.map(|queue| queue.full_from));
        let mut length = 0;
        let points: Vec<QueuePoint> = course
            .changes
            .iter()
            .map(|(time, starts)| {
                length += if *starts { -1 } else { 1 };
                QueuePoint { time_ns: *time, length }
            })
            .collect();
        let max = points.iter().map(|point| point.length).max().unwrap_or(0);
        let sum: i64 = points.iter().map(|point| point.length).sum();
        let (mut at_max, mut full, mut area) = (Ns::ZERO, Ns::ZERO, 0i128);
        let mut lengths = Weighted::default();
        for pair in points.windows(2) {
            let time = pair[1].time_ns - pair[0].time_ns;
            area += i128::from(pair[0].length) * i128::from(time.0);
            lengths.add(pair[0].length.into(), time);
            if pair[0].length == max {
                at_max += time;
            }
            if full_from.is_some_and(|least| pair[0].length >= least) {
                full += time;
            }
        }
        let whole = match (points.first(), points.last()) {
            (Some(first), Some(last)) => last.time_ns - first.time_ns,
            _ => Ns::ZERO,
        };
        StreamQueue {
            rank,
            device: key.0,
            stream: key.1,
            points: points.len() as u64,
            max,
            mean: sum as f64 / points.len().max(1) as f64,
            mean_time_weighted: if whole > Ns::ZERO { area as f64 / whole.as_f64() } else { 0.0 },
            time_at_max_ns: at_max,
            full_ns: full,
            full_pct: full.pct_of(whole),
            depth: found.map(|queue| queue.depth),
            blocked_calls: course.blocked_calls,
            blocked_ns: course.blocked,
            over_time: lengths.spread().map(|spread| LengthOverTime {
                min: spread.min as i64,
                p25: spread.quartiles[0] as i64,
                median: spread.quartiles[1] as i64,
                p75: spread.quartiles[2] as i64,
                std: spread.deviation,
            }),
            series: self.series.then_some(points),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{launched_onto, trace};

    #[test]
    fn at_one_instant_the_queue_grows_first() {
        let loaded = trace()
            .call(1, 0..2)
            .call(2, 10..12)
            .kernel("a", 7, 10..20, 1)
            .kernel("b", 7, 30..40, 2)
            .kernel("unlaunched", 7, 50..60, None)
            .build();
        let answer = loaded.ask(&Queue { series: true, max_length: Some(2) });
        let stream = &answer.streams[0];
        let series: Vec<_> =
            stream.series.as_ref().unwrap().iter().map(|p| (p.time_ns.0, p.length)).collect();
        assert_eq!(series, [(0, 1), (10, 2), (10, 1), (30, 0)]);
        assert_eq!((stream.points, stream.max, stream.time_at_max_ns), (4, 2, Ns(0)));
        assert!((stream.mean - 1.0).abs() < 1e-12);
        assert!((stream.mean_time_weighted - 1.0).abs() < 1e-12);
        assert_eq!((stream.full_ns, stream.over_time.map(|over| over.median)), (Ns(0), Some(1)));
    }

    #[test]
    fn every_stream_says_how_long_it_was_full() {
        let loaded = trace()
            .call(1, 0..2)
            .call(2, 10..12)
            .call(3, 20..22)
            .call(4, 30..32)
            .kernel("a", 7, 50..60, 1)
            .kernel("b", 7, 60..70, 2)
            .kernel("c", 20, 90..100, 3)
            .kernel("d", 20, 130..140, 4)
            .build();
        let streams = loaded.ask(&Queue { max_length: Some(2), ..Queue::default() }).streams;
        let full: Vec<_> = streams.iter().map(|s| (s.stream, s.full_ns.0)).collect();
        assert_eq!(full, [(7, 40), (20, 60)]);
        assert!((streams[0].full_pct - 100.0 * 40.0 / 60.0).abs() < 1e-9);
        let over = streams[1].over_time.unwrap();
        assert_eq!((over.min, over.p25, over.median, over.p75), (1, 1, 2, 2));
    }

    #[test]
    fn calls_that_waited_tell_from_which_length_on_it_was_full() {
        let loaded = launched_onto(100, 140);
        let stream = &loaded.ask(&Queue::default()).streams[0];
        // While the first 100 calls are made, 14 kernels begin: the last 26 calls wait, 45 us of 51 from start to start.
        assert_eq!((stream.depth, stream.blocked_calls), (Some(100), 26));
        assert_eq!(stream.blocked_ns, Ns(26 * 44_615 + 10));
        assert_eq!(stream.full_ns, Ns(1_373_000));
        assert_eq!(
            loaded.ask(&Queue { max_length: Some(1024), ..Queue::default() }).streams[0].full_ns,
            Ns(0)
        );
    }

    #[test]
    fn a_queue_on_which_no_call_waited_was_not_full() {
        let streams = launched_onto(1000, 140).ask(&Queue::default()).streams;
        assert_eq!((streams[0].depth, streams[0].full_ns, streams[0].blocked_calls), (None, Ns(0), 0));
    }

    #[test]
    fn devices_with_the_same_stream_number_are_apart() {
        let loaded = trace()
            .call(1, 0..2)
            .call(2, 3..4)
            .kernel("a", 7, 10..20, 1)
            .on(1)
            .kernel("b", 7, 10..20, 2)
            .build();
        let streams: Vec<_> =
            loaded.ask(&Queue::default()).streams.iter().map(|s| (s.device, s.max)).collect();
        assert_eq!(streams, [(0, 1), (1, 1)]);
    }
}
