//! Stretches of time that are drawn: those closer than an eye can tell apart are one.

use gpuscope_trace::{Interval, Ns};

/// A chart is about this many pixels wide.
const PIXELS: i64 = 1_000;

/// What is shorter than this cannot be seen in a chart of all the time.
pub(crate) fn finest(whole: Interval) -> Ns {
    Ns(whole.len().0 / PIXELS)
}

/// Stretches of one sort, taken in by their start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    pub(crate) runs: Vec<Interval>,
}

impl Runs {
    /// Joins the last one unless there is a gap that can be seen.
    pub(crate) fn add(&mut self, time: Interval, finest: Ns) {
        match self.runs.last_mut() {
            Some(last) if time.start <= last.end + finest => last.end = last.end.max(time.end),
            _ => self.runs.push(time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_kept_if_they_can_be_seen() {
        let time = |start: i64, end: i64| Interval::new(Ns(start), Ns(end));
        let mut runs = Runs::default();
        for (start, end) in [(0, 100), (105, 200), (150, 160), (211, 300)] {
            runs.add(time(start, end), finest(time(0, 10_000)));
        }
        assert_eq!(runs.runs, [time(0, 200), time(211, 300)]);
    }
}
