//! How deep was the program in calls, and what did the GPU do meanwhile?
//!
//! The depth at an instant is the number of Python frames that are open on one thread, the one with the most of them;
//! where no frames were recorded (`with_stack=True` records them) it is that of all host events. Of more than
//! [`gpuscope_figure::MOST_POINTS`] changes so many are kept that no extreme is lost. Stretches of GPU work of one kind
//! with gaps that a chart of the whole time cannot show are one stretch.

mod figures;

use gpuscope_figure::kept;
use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Class, Interval, Ns, Row, View};
use serde::Serialize;

use crate::Question;
use crate::kernels::KernelType;
use crate::shared::runs::{Runs, finest};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DepthPoint {
    pub time_ns: Ns,
    /// From then on.
    pub depth: i64,
}

/// The GPU was at it, but for gaps too short to be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Busy {
    pub kernel_type: KernelType,
    pub start_ns: Ns,
    pub end_ns: Ns,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankDepth {
    pub rank: u32,
    /// Whether frames of Python were recorded; otherwise all host events count.
    pub python: bool,
    pub max_depth: i64,
    /// Changes of the depth, before some were left out.
    pub changes: u64,
    pub points: Vec<DepthPoint>,
    pub busy: Vec<Busy>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StackDepthAnswer {
    pub ranks: Vec<RankDepth>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct StackDepth;

impl Question for StackDepth {
    type Local = RankDepth;
    type Answer = StackDepthAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankDepth {
        let is_frame = |row: Row| view.trace.class(row) == Class::PythonFrame;
        let (python, changes) = match changes(view, is_frame) {
            frames if frames.is_empty() => (false, changes(view, |_| true)),
            frames => (true, frames),
        };
        let x: Vec<f64> = changes.iter().map(|point| point.time_ns.as_f64()).collect();
        let y: Vec<f64> = changes.iter().map(|point| point.depth as f64).collect();
        RankDepth {
            rank,
            python,
            max_depth: changes.iter().map(|point| point.depth).max().unwrap_or(0),
            changes: changes.len() as u64,
            points: kept(&x, &y).into_iter().map(|place| changes[place]).collect(),
            busy: busy(view),
        }
    }

    fn merge(&self, locals: Vec<RankDepth>) -> StackDepthAnswer {
        StackDepthAnswer { ranks: locals }
    }
}

/// The depth after each change, on the thread with most of the wanted events.
fn changes(view: View<'_>, wanted: impl Fn(Row) -> bool) -> Vec<DepthPoint> {
    let listed = |row: &&Row| view.selection.has(**row) && wanted(**row);
    let threads = view.index.host_threads(view.trace);
    let busiest = threads.max_by_key(|rows| rows.iter().filter(listed).count()).unwrap_or_default();
    let mut changes: Vec<(Ns, i64)> = Vec::new();
    for row in busiest.iter().filter(listed) {
        if let Some((start, end)) = view.trace.span(*row).filter(|(start, end)| start < end) {
            changes.extend([(start, 1), (end, -1)]);
        }
    }
    changes.sort_unstable();
    let mut points: Vec<DepthPoint> = Vec::new();
    let mut depth = 0;
    for at_once in changes.chunk_by(|a, b| a.0 == b.0) {
        let before = depth;
        depth += at_once.iter().map(|(_, change)| change).sum::<i64>();
        if depth != before || points.is_empty() {
            points.push(DepthPoint { time_ns: at_once[0].0, depth });
        }
    }
    points
}

fn busy(view: View<'_>) -> Vec<Busy> {
    let whole = view.gpu().fold(None, |whole: Option<Interval>, event| {
        let whole = whole.unwrap_or(event.interval());
        Some(Interval::new(whole.start.min(event.start), whole.end.max(event.end)))
    });
    let Some(whole) = whole else { return Vec::new() };
    let mut runs: [Runs; KernelType::ALL.len()] = Default::default();
    for event in view.gpu() {
        runs[KernelType::of(event.kind) as usize].add(event.interval(), finest(whole));
    }
    let of_type = |(kernel_type, runs): (KernelType, Runs)| {
        let busy = move |time: Interval| Busy { kernel_type, start_ns: time.start, end_ns: time.end };
        runs.runs.into_iter().map(busy)
    };
    KernelType::ALL.into_iter().zip(runs).flat_map(of_type).collect()
}

impl Tabular for StackDepthAnswer {
    fn tables(&self) -> Vec<Table> {
        let points: Vec<(u32, &DepthPoint)> = self
            .ranks
            .iter()
            .flat_map(|rank| rank.points.iter().map(move |point| (rank.rank, point)))
            .collect();
        let points = Table::of("points", "Depth of calls over time", &points)
            .int("rank", Unit::None, "The rank", |p| i64::from(p.0))
            .int("time_ns", Unit::TimestampNs, "When the depth changed", |p| p.1.time_ns.0)
            .int("depth", Unit::Count, "The depth from then on", |p| p.1.depth)
            .build();
        let busy: Vec<(u32, &Busy)> =
            self.ranks.iter().flat_map(|rank| rank.busy.iter().map(move |busy| (rank.rank, busy))).collect();
        let busy = Table::of("busy", "GPU work over time", &busy)
            .int("rank", Unit::None, "The rank", |b| i64::from(b.0))
            .text("kernel_type", "Computation, communication or memory traffic", |b| {
                b.1.kernel_type.label().to_owned()
            })
            .int("start_ns", Unit::TimestampNs, "When it began", |b| b.1.start_ns.0)
            .int("end_ns", Unit::TimestampNs, "When it ended", |b| b.1.end_ns.0)
            .build();
        vec![points, busy]
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_figure::{Data, Pictured};

    use super::*;
    use crate::testing::trace;

    #[test]
    fn frames_are_counted_on_the_thread_that_has_them() {
        let answer = trace()
            .host("python_function", "main", 0..100)
            .host("python_function", "forward", 10..60)
            .host("python_function", "linear", 20..40)
            .host("cpu_op", "aten::mm", 25..30)
            .on_thread(2, "python_function", "loader", 0..100, &[])
            .kernel("gemm", 7, 30..50, None)
            .memcpy("Memcpy HtoD", 7, 60..70, None)
            .build()
            .ask(&StackDepth);
        let rank = &answer.ranks[0];
        let points: Vec<(i64, i64)> =
            rank.points.iter().map(|point| (point.time_ns.0, point.depth)).collect();
        assert_eq!(points, [(0, 1), (10, 2), (20, 3), (40, 2), (60, 1), (100, 0)]);
        assert_eq!((rank.max_depth, rank.python), (3, true));
        let busy: Vec<_> =
            rank.busy.iter().map(|busy| (busy.kernel_type, busy.start_ns.0, busy.end_ns.0)).collect();
        assert_eq!(busy, [(KernelType::Computation, 30, 50), (KernelType::Memory, 60, 70)]);
    }

    #[test]
    fn without_frames_all_host_events_count() {
        let answer = trace().host("cpu_op", "aten::linear", 0..10).host("cpu_op", "aten::mm", 2..8).build();
        let rank = &answer.ask(&StackDepth).ranks[0];
        assert_eq!((rank.max_depth, rank.python), (2, false));
    }

    #[test]
    fn the_figure_says_what_the_answer_says() {
        let answer = trace()
            .host("python_function", "main", 50..150)
            .host("python_function", "forward", 60..110)
            .kernel("gemm", 7, 90..160, None)
            .build()
            .ask(&StackDepth);
        let figure = &answer.figures()[0];
        let Data::Line { x, y, .. } = &figure.panels[0].series[0].data else { panic!("a line") };
        assert_eq!((x.as_slice(), y.as_slice()), (&[0.0, 10.0, 60.0, 100.0][..], &[1.0, 2.0, 1.0, 0.0][..]));
        let Data::Stretches { from, to, .. } = &figure.panels[1].series[0].data else { panic!("stretches") };
        assert_eq!((from[0], to[0]), (40.0, 110.0));
    }
}
