//! Time by what was active, found by walking over sorted boundaries with a counter per kind.
//!
//! Deliberately not the interval unions an analysis would use: a truth found the same way would share its mistakes.

use crate::truth::BreakdownTruth;

/// The kinds a breakdown tells apart; memsets count as computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Computation,
    Communication,
    Memcpy,
}

#[derive(Debug, Clone, Copy)]
struct Boundary {
    at: i64,
    kind: Kind,
    change: i32,
}

/// Adds up a breakdown while intervals are still coming in.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    pending: Vec<Boundary>,
    active: [i32; 3],
    at: i64,
    first_start: Option<i64>,
    last_end: Option<i64>,
    sums: BreakdownTruth,
}

impl Sweep {
    pub(crate) fn add(&mut self, start: i64, end: i64, kind: Kind) {
        self.first_start = Some(self.first_start.map_or(start, |first| first.min(start)));
        self.last_end = Some(self.last_end.map_or(end, |last| last.max(end)));
        self.pending.push(Boundary { at: start, kind, change: 1 });
        self.pending.push(Boundary { at: end, kind, change: -1 });
    }

    /// Walks as far as `horizon`: no interval added later may start before it.
    pub(crate) fn advance(&mut self, horizon: i64) {
        self.pending.sort_by_key(|boundary| boundary.at);
        let ripe = self.pending.partition_point(|boundary| boundary.at <= horizon);
        for boundary in self.pending.drain(..ripe) {
            self.sums.count(self.active, boundary.at - self.at);
            self.at = boundary.at;
            self.active[boundary.kind as usize] += boundary.change;
        }
    }

    pub(crate) fn first_start(&self) -> Option<i64> {
        self.first_start
    }

    pub(crate) fn last_end(&self) -> Option<i64> {
        self.last_end
    }

    pub(crate) fn finish(mut self) -> BreakdownTruth {
        self.advance(i64::MAX);
        let (Some(first), Some(last)) = (self.first_start, self.last_end) else {
            return BreakdownTruth::default();
        };
        self.sums.total_ns = last - first;
        self.sums.idle_ns = self.sums.total_ns - self.sums.busy_ns;
        self.sums
    }
}

impl BreakdownTruth {
    fn count(&mut self, active: [i32; 3], ns: i64) {
        let [computation, communication, memcpy] = active.map(|count| count > 0);
        if computation {
            self.computation_ns += ns;
        }
        if communication {
            self.comm_ns += ns;
            if !computation {
                self.exposed_comm_ns += ns;
            }
        }
        if memcpy {
            self.memcpy_ns += ns;
            if !computation && !communication {
                self.exposed_memcpy_ns += ns;
            }
        }
        if computation || communication || memcpy {
            self.busy_ns += ns;
        }
    }
}
