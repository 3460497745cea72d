//! What is the same instant on different ranks?
//!
//! Times are first taken since the epoch (`baseTimeNanoseconds` added). Ranks of one host share a clock, unless
//! their collectives show that they do not; where no host is known, every rank has its own. For two clocks,
//! each collective in which everyone waits says that no member ended before every other had begun, and each
//! receive that it did not end before its send had begun. Where many collectives in which everyone waits agree on how
//! far apart their members end, that is the clocks' distance, and much closer (see [`ends`]); broadcasts, whose root ends
//! early, say nothing. All of these together leave, for each clock, a set of
//! linear functions that may be its distance to the reference; the middle one is taken, and how far any other
//! is from it is the half-width: nothing that is smaller can be known from these traces.
//!
//! Clocks that share no collective with the reference are reached through those that do. Each adds its own
//! half-width to what it passes on, so the bounds stay bounds. Each part is looked at twice, whatever the
//! number of ranks.

mod ends;
mod hosts;
mod line;
mod quality;
mod solve;
#[cfg(test)]
mod tests;

use gpuscope_trace::Ns;
use serde::Serialize;

use crate::collectives::{Matched, Part};
use line::Line;

/// How a rank's clock differs from its reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankClock {
    pub rank: u32,
    pub host: Option<String>,
    /// The rank whose clock aligned times are on.
    pub reference_rank: u32,
    /// How far this clock is ahead of the reference, in the middle of the run.
    pub offset_ns: Ns,
    /// How many nanoseconds it gains on the reference in a second.
    pub drift_ppb: i64,
    /// How far off that may be at the worst time of the run; 0 on the reference's own clock.
    pub half_width_ns: Ns,
    /// Collectives contradict each other by this much: they do not fit a clock that runs evenly.
    pub contradiction_ns: Option<Ns>,
}

#[derive(Clone, Debug)]
struct Clock {
    /// The lowest rank on it, as a place in `Matched::ranks`.
    member: u32,
    reference: u32,
    /// None for a reference.
    line: Option<Line>,
    /// First and last time seen on it.
    span: (i64, i64),
}

/// The clocks of all ranks of a job.
#[derive(Clone, Debug, Default)]
pub struct Offsets {
    ranks: Vec<(u32, Option<String>)>,
    clocks: Vec<Clock>,
    of_member: Vec<u32>,
    /// Hosts whose ranks turned out not to share a clock.
    torn_hosts: Vec<String>,
}

impl Offsets {
    pub fn of(matched: &Matched) -> Offsets {
        let hosts = hosts::clocks(matched);
        let ranks = matched.ranks.iter().map(|rank| (rank.rank, rank.host.clone())).collect();
        let mut clocks: Vec<Clock> = hosts
            .first_member
            .iter()
            .map(|member| Clock {
                member: *member,
                reference: *member,
                line: None,
                span: (i64::MAX, i64::MIN),
            })
            .collect();
        for part in &matched.parts {
            let (first, last) = &mut clocks[hosts.of_member[part.member as usize] as usize].span;
            (*first, *last) = ((*first).min(part.start.0), (*last).max(part.end().0));
        }
        let mut offsets = Offsets { ranks, clocks, of_member: hosts.of_member, torn_hosts: hosts.torn };
        if offsets.clocks.len() > 1 {
            solve::all(matched, &mut offsets);
        }
        offsets
    }

    /// Whether two ranks are on one clock; both are places in [`Matched::ranks`].
    pub fn share(&self, a: u32, b: u32) -> bool {
        self.of_member[a as usize] == self.of_member[b as usize]
    }

    /// A time of a rank on the clock of its reference.
    pub fn aligned(&self, member: u32, time: Ns) -> Ns {
        self.clock(member).line.map_or(time, |line| time - Ns(line.at(time.0)))
    }

    pub fn aligned_start(&self, part: &Part) -> Ns {
        self.aligned(part.member, part.start)
    }

    /// Taken from an aligned time it gives the time as the reference's file would have it.
    pub fn reference_base(&self, matched: &Matched, member: u32) -> Ns {
        Ns(matched.ranks[self.clock(member).reference as usize].base_ns)
    }

    /// How far off an aligned time may be.
    pub fn half_width(&self, member: u32, time: Ns) -> Ns {
        self.clock(member).line.map_or(Ns::ZERO, |line| Ns(line.half_width(time.0)))
    }

    /// By how much the order of two parts may be wrong once aligned.
    pub fn between(&self, a: &Part, b: &Part) -> Ns {
        if self.share(a.member, b.member) {
            return Ns::ZERO;
        }
        self.half_width(a.member, a.start) + self.half_width(b.member, b.start)
    }

    pub fn offset(&self, rank: u32) -> Option<RankClock> {
        let member = self.ranks.iter().position(|(other, _)| *other == rank)?;
        Some(self.rank_clock(member as u32))
    }

    /// Every rank's clock, in order of the ranks.
    pub fn ranks(&self) -> impl Iterator<Item = RankClock> {
        (0..self.ranks.len() as u32).map(|member| self.rank_clock(member))
    }

    fn clock(&self, member: u32) -> &Clock {
        &self.clocks[self.of_member[member as usize] as usize]
    }

    fn rank_clock(&self, member: u32) -> RankClock {
        let clock = self.clock(member);
        let (rank, host) = &self.ranks[member as usize];
        let none = RankClock {
            rank: *rank,
            host: host.clone(),
            reference_rank: self.ranks[clock.reference as usize].0,
            offset_ns: Ns::ZERO,
            drift_ppb: 0,
            half_width_ns: Ns::ZERO,
            contradiction_ns: None,
        };
        let Some(line) = &clock.line else { return none };
        let (first, last) = clock.span;
        RankClock {
            offset_ns: Ns(line.at(i64::midpoint(first, last))),
            drift_ppb: line.slope_ppb(),
            half_width_ns: Ns(line.half_width(first).max(line.half_width(last))),
            contradiction_ns: line.contradiction.map(|ns| Ns(ns.ceil() as i64)),
            ..none
        }
    }
}
