//! From clock to clock: the next one is bounded by the collectives it shares with those already known.

use std::collections::VecDeque;

use gpuscope_trace::Ns;

use super::Offsets;
use super::ends::{self, End};
use super::line::{Bounds, Line};
use crate::collectives::{Matched, Op};

/// What is known, in the reference's time, of the instant by which all had begun and before which none ended.
#[derive(Clone, Copy)]
struct Meeting {
    not_before: i64,
    not_after: i64,
    /// When the member on the best known clock ended, and how far off that may be.
    end: Option<(i64, i64)>,
    touched: bool,
}

struct Solver<'a> {
    matched: &'a Matched,
    offsets: &'a mut Offsets,
    meetings: Vec<Meeting>,
    /// The collective of each part.
    collective_of: Vec<u32>,
    parts_of: Vec<Vec<u32>>,
    known: Vec<bool>,
    waiting: VecDeque<u32>,
    is_waiting: Vec<bool>,
}

pub(super) fn all(matched: &Matched, offsets: &mut Offsets) {
    let clocks = offsets.clocks.len();
    let mut parts_of = vec![Vec::new(); clocks];
    for (i, part) in matched.parts.iter().enumerate() {
        parts_of[offsets.of_member[part.member as usize] as usize].push(i as u32);
    }
    let meeting = Meeting { not_before: i64::MIN, not_after: i64::MAX, end: None, touched: false };
    let mut solver = Solver {
        matched,
        offsets,
        meetings: vec![meeting; matched.len()],
        collective_of: matched.collective_of(),
        parts_of,
        known: vec![false; clocks],
        waiting: VecDeque::new(),
        is_waiting: vec![false; clocks],
    };
    // Clocks that nothing ties to an earlier one begin a time of their own.
    for clock in 0..clocks as u32 {
        if !solver.known[clock as usize] {
            let reference = solver.offsets.clocks[clock as usize].member;
            solver.learn(clock, None, reference);
            solver.follow(reference);
        }
    }
}

impl Solver<'_> {
    fn follow(&mut self, reference: u32) {
        while let Some(clock) = self.waiting.pop_front() {
            self.is_waiting[clock as usize] = false;
            // Bounded on one side only, it waits for another clock to reach it.
            if !self.known[clock as usize]
                && let Some(line) = self.line(clock)
            {
                self.learn(clock, Some(line), reference);
            }
        }
    }

    fn line(&self, clock: u32) -> Option<Line> {
        let (mut bounds, mut ends) = (Bounds::default(), Vec::new());
        for &i in &self.parts_of[clock as usize] {
            let meeting = self.meetings[self.collective_of[i as usize] as usize];
            let part = &self.matched.parts[i as usize];
            let op = self.matched.sorts[part.sort as usize].op;
            let (start, end) = (part.start.0, part.end().0);
            if meeting.not_before != i64::MIN && (op.everyone_waits() || op == Op::Recv) {
                bounds.at_most(end, end.saturating_sub(meeting.not_before));
            }
            if meeting.not_after != i64::MAX && (op.everyone_waits() || op == Op::Send) {
                bounds.at_least(start, start.saturating_sub(meeting.not_after));
            }
            if let Some((known, half_width)) = meeting.end.filter(|_| op.everyone_waits()) {
                ends.push(End { time: end, ahead: end.saturating_sub(known), half_width });
            }
        }
        let mut closer = bounds.clone();
        let agreed = if ends::bound(&ends, &mut closer) { closer.middle() } else { None };
        agreed.filter(|line| line.contradiction.is_none()).or_else(|| bounds.middle())
    }

    /// Takes a clock as known and passes on what its parts say about their collectives.
    fn learn(&mut self, clock: u32, line: Option<Line>, reference: u32) {
        self.known[clock as usize] = true;
        let found = &mut self.offsets.clocks[clock as usize];
        (found.line, found.reference) = (line, reference);
        for i in std::mem::take(&mut self.parts_of[clock as usize]) {
            let part = &self.matched.parts[i as usize];
            let op = self.matched.sorts[part.sort as usize].op;
            let collective = self.collective_of[i as usize] as usize;
            let meeting = &mut self.meetings[collective];
            let time = |time: Ns| {
                (self.offsets.aligned(part.member, time), self.offsets.half_width(part.member, time))
            };
            if op.everyone_waits() || op == Op::Send {
                let (start, half_width) = time(part.start);
                meeting.not_before = meeting.not_before.max((start - half_width).0);
            }
            if op.everyone_waits() || op == Op::Recv {
                let (end, half_width) = time(part.end());
                meeting.not_after = meeting.not_after.min((end + half_width).0);
                if op.everyone_waits() && meeting.end.is_none_or(|(_, known)| half_width.0 < known) {
                    meeting.end = Some((end.0, half_width.0));
                }
            }
            if !std::mem::replace(&mut meeting.touched, true) {
                self.contact(collective);
            }
        }
    }

    fn contact(&mut self, collective: usize) {
        let op = self.matched.get(collective).op();
        if !op.everyone_waits() && !op.is_point_to_point() {
            return;
        }
        for part in self.matched.get(collective).parts() {
            let clock = self.offsets.of_member[part.member as usize];
            if !self.known[clock as usize] && !std::mem::replace(&mut self.is_waiting[clock as usize], true) {
                self.waiting.push_back(clock);
            }
        }
    }
}
