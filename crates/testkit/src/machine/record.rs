//! What happened on one rank, in true time, whether or not a profiler saw it.

use super::program::{Kind, Span, Target};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SpanRecord {
    pub(super) span: Span,
    pub(super) thread: usize,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) external: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Waited {
    Host(Target),
    Stream { stream: usize, event: usize },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallRecord {
    pub(super) name: &'static str,
    pub(super) thread: usize,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) correlation: u64,
    pub(super) external: u64,
    pub(super) waited: Option<Waited>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct GpuRecord {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) stream: usize,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) correlation: u64,
    pub(super) external: u64,
    /// Start of the launching call.
    pub(super) launched: i64,
    /// The step in which it was launched.
    pub(super) step: Option<u32>,
    /// The place among the work of one graph launch.
    pub(super) graph_node: Option<usize>,
}

/// Everything that happened on a rank.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Record {
    pub(super) spans: Vec<SpanRecord>,
    pub(super) calls: Vec<CallRecord>,
    pub(super) gpu: Vec<GpuRecord>,
    /// The stream and the correlation with which each event was recorded.
    pub(super) events: Vec<Option<(usize, u64)>>,
    pub(super) recording_from: i64,
    pub(super) recording_to: i64,
}

fn median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    let n = values.len();
    (n > 0).then(|| i64::midpoint(values[(n - 1) / 2], values[n / 2]))
}

impl Record {
    /// When the last GPU work launched in each recorded step ended, in the order of steps.
    fn step_ends(&self) -> Vec<i64> {
        let recorded = |span: &&SpanRecord| span.start >= self.recording_from;
        let steps = self.spans.iter().filter(recorded).filter_map(|span| match span.span {
            Span::Step(number) => Some(number),
            _ => None,
        });
        let last_end = |number| self.gpu.iter().filter(|g| g.step == Some(number)).map(|g| g.end).max();
        steps.filter_map(last_end).collect()
    }

    /// The median period of the recorded steps but the first, without those far from the others.
    pub(super) fn step_ns(&self) -> i64 {
        let ends = self.step_ends();
        let periods: Vec<i64> =
            ends.windows(2).map(|pair| pair[1] - pair[0]).filter(|&period| period > 0).collect();
        let Some(rough) = median(periods.clone()) else { return 0 };
        let near = |period: &i64| 2 * period >= rough && 2 * period <= 3 * rough;
        median(periods.into_iter().filter(near).collect()).unwrap_or(rough)
    }
}

/// The step time of a job: the median rank's.
pub(super) fn step_of_all(records: &[Record]) -> i64 {
    median(records.iter().map(Record::step_ns).collect()).unwrap_or(0)
}
