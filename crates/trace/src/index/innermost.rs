//! What each host thread was doing, moment by moment: the innermost event then.

use super::order::ThreadOrder;
use crate::intervals::Interval;
use crate::time::Ns;
use crate::trace::{Row, Trace};
use crate::track::ThreadId;

/// Per thread, stretches of time in order, each with the innermost event during it. Time in which nothing was
/// recorded has no stretch.
#[derive(Debug, Default)]
pub struct Innermost {
    stretches: Vec<(Interval, Row)>,
    /// Where each thread begins in `stretches`; one more entry at the end.
    first: Vec<u32>,
}

impl Innermost {
    pub(super) fn new(trace: &Trace, order: &ThreadOrder) -> Innermost {
        let mut found = Innermost { stretches: Vec::new(), first: vec![0] };
        for thread in order.threads() {
            found.sweep(trace, thread);
            found.first.push(found.stretches.len() as u32);
        }
        found
    }

    fn sweep(&mut self, trace: &Trace, rows: &[Row]) {
        let mut open: Vec<(Row, Ns)> = Vec::new();
        let mut now = Ns(i64::MIN);
        for &row in rows {
            let Some((start, end)) = trace.span(row) else { continue };
            self.close(&mut open, &mut now, start);
            if let Some((innermost, _)) = open.last() {
                self.push(now, start, *innermost);
            }
            now = start;
            open.push((row, end));
        }
        self.close(&mut open, &mut now, Ns(i64::MAX));
    }

    /// Ends what ends up to `until`, innermost first.
    fn close(&mut self, open: &mut Vec<(Row, Ns)>, now: &mut Ns, until: Ns) {
        while let Some((row, end)) = open.pop_if(|(_, end)| *end <= until) {
            self.push(*now, end, row);
            *now = end.max(*now);
        }
    }

    fn push(&mut self, from: Ns, to: Ns, row: Row) {
        if from < to {
            self.stretches.push((Interval::new(from, to), row));
        }
    }

    /// The stretches of a thread that reach into a window, cut to it.
    pub fn during(&self, thread: ThreadId, window: Interval) -> impl Iterator<Item = (Interval, Row)> {
        let i = thread.0 as usize;
        let all = &self.stretches[self.first[i] as usize..self.first[i + 1] as usize];
        let from = all.partition_point(|(time, _)| time.end <= window.start);
        all[from..].iter().take_while(move |(time, _)| time.start < window.end).map(move |(time, row)| {
            (Interval::new(time.start.max(window.start), time.end.min(window.end)), *row)
        })
    }
}
