//! The longest times in which a device had nothing to do because the host had launched nothing, one by one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpuscope_trace::{Interval, Ns, Row, View};
use serde::Serialize;

use super::causes::{Cause, Causes};

/// How many of a run are listed.
pub(super) const LISTED: usize = 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostGap {
    pub rank: u32,
    pub device: i64,
    pub start_ns: Ns,
    pub idle_ns: Ns,
    /// What most of it was spent on, and the event that tells.
    pub cause: Cause,
    pub name: Option<String>,
    /// What the launching thread was in for most of that, the outermost first.
    pub stack: Vec<String>,
    /// The step that launched the work which ended it.
    pub step: Option<i64>,
}

/// A stretch of a device's idle time that ended with a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub(super) device: i64,
    pub(crate) call: Row,
    pub(crate) time: Interval,
}

/// The longest gaps of a rank, longest first.
pub(super) fn longest(rank: u32, view: View<'_>, gaps: &[Gap]) -> Vec<HostGap> {
    let mut longest = gaps.to_vec();
    // Stable: of equal ones the first.
    longest.sort_by_key(|gap| Reverse(gap.time.len()));
    longest.truncate(LISTED);
    let mut causes = Causes::new(view);
    longest.into_iter().map(|gap| explained(rank, view, gap, &mut causes)).collect()
}

fn explained(rank: u32, view: View<'_>, gap: Gap, causes: &mut Causes<'_>) -> HostGap {
    let trace = view.trace;
    let mut by_cause: BTreeMap<Cause, (Ns, BTreeMap<Row, Ns>)> = BTreeMap::new();
    let mut recorded = Ns::ZERO;
    let doing = view.index.innermost(trace).during(trace.track(gap.call).thread, gap.time);
    for (part, row) in doing {
        let (total, rows) = by_cause.entry(causes.of(row).0).or_default();
        *total += part.len();
        *rows.entry(row).or_default() += part.len();
        recorded += part.len();
    }
    by_cause.entry(Cause::NothingRecorded).or_default().0 += gap.time.len() - recorded;
    let most = by_cause.iter().max_by_key(|(cause, (total, _))| (*total, Reverse(**cause)));
    let (cause, rows) =
        most.map_or((Cause::NothingRecorded, None), |(cause, (_, rows))| (*cause, Some(rows)));
    let row = rows.and_then(|rows| rows.iter().max_by_key(|(row, time)| (**time, Reverse(**row))));
    let row = row.map(|(row, _)| *row);
    let steps = view.steps();
    HostGap {
        rank,
        device: gap.device,
        start_ns: gap.time.start,
        idle_ns: gap.time.len(),
        cause,
        name: row.map(|row| trace.strings.get(causes.of(row).1).to_owned()),
        stack: row.map(|row| stack(view, row)).unwrap_or_default(),
        step: trace.start(gap.call).and_then(|time| steps.at(time)).map(|i| steps[i].number),
    }
}

fn stack(view: View<'_>, row: Row) -> Vec<String> {
    let around = std::iter::once(row).chain(view.index.nesting(view.trace).ancestors(row));
    let mut stack: Vec<String> = around.map(|row| view.trace.name(row).to_owned()).collect();
    stack.reverse();
    stack
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Idle;
    use crate::testing::trace;

    #[test]
    fn the_longest_come_first_with_what_the_thread_was_in() {
        let loaded = trace()
            .step(1, 0..1000)
            .call(1, 0..5)
            .kernel("first", 7, 10..100, 1)
            .host("python_function", "train.py(3): step", 50..690)
            .host("cpu_op", "aten::item", 90..420)
            .named_call("cudaStreamSynchronize", 90, 110..400)
            .call(2, 500..505)
            .kernel("second", 7, 520..600, 2)
            .call(3, 650..655)
            .kernel("third", 7, 660..670, 3)
            .call(4, 900..905)
            .kernel("fourth", 7, 910..920, 4)
            .build();
        let gaps = loaded.ask(&Idle::default()).host_gaps;
        let rows: Vec<_> =
            gaps.iter().map(|g| (g.start_ns.0, g.idle_ns.0, g.cause, g.stack.join("/"), g.step)).collect();
        assert_eq!(
            rows,
            [
                (
                    100,
                    400,
                    Cause::Item,
                    "ProfilerStep#1/train.py(3): step/aten::item/cudaStreamSynchronize".to_owned(),
                    Some(1)
                ),
                (670, 230, Cause::NothingRecorded, "ProfilerStep#1".to_owned(), Some(1)),
                (600, 50, Cause::Python, "ProfilerStep#1/train.py(3): step".to_owned(), Some(1)),
            ]
        );
        assert_eq!(gaps[0].name.as_deref(), Some("aten::item"));
    }

    #[test]
    fn ten_are_listed_and_a_silent_thread_has_no_stack() {
        let mut sample = trace();
        for i in 0..20 {
            let at = i * 100;
            sample = sample.call(i + 1, at..at).kernel("k", 7, at + 5..at + 6 + i, i + 1);
        }
        let answer = sample.build().ask(&Idle::default());
        assert_eq!(answer.host_gaps.len(), LISTED);
        assert_eq!((answer.host_gaps[0].idle_ns, answer.host_gaps[0].stack.len()), (Ns(94), 0));
        let all: i64 = answer.devices.iter().map(|device| device.host_ns.0).sum();
        assert!(answer.host_gaps.iter().map(|gap| gap.idle_ns.0).sum::<i64>() < all);
    }
}
