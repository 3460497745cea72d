//! The times of a set of GPU events, found in one walk over them by their start.
//!
//! With `HIDING` = COMP ∪ COMM and ALL = COMP ∪ COMM ∪ MEMCPY, |COMM − COMP| is |HIDING| − |COMP| and
//! |MEMCPY − COMP − COMM| is |ALL| − |HIDING|: five lengths of unions give all eight numbers.

use gpuscope_trace::{GpuEvent, Interval, Kind, Ns};

use super::Times;
use crate::shared::cover::Cover;

#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    /// From the first start to the last end so far, events without length included.
    hull: Option<Interval>,
    computation: Cover,
    communication: Cover,
    copies: Cover,
    hiding: Cover,
    busy: Cover,
    /// In gaps shorter than the threshold.
    micro: Ns,
}

impl Sweep {
    /// Takes in an event that starts no earlier than those before it; gaps shorter than `micro` are counted apart.
    #[inline]
    pub(super) fn add(&mut self, event: &GpuEvent, micro: Ns) {
        let time = event.interval();
        // An event without length ends no gap.
        if !time.is_empty() {
            self.pass_gap(time.start, micro);
        }
        let hull = self.hull.get_or_insert(time);
        hull.end = hull.end.max(time.end);
        self.busy.add(time);
        if event.kind == Kind::Memcpy {
            self.copies.add(time);
            return;
        }
        self.hiding.add(time);
        if event.kind == Kind::Communication {
            self.communication.add(time);
        } else {
            self.computation.add(time);
        }
    }

    #[inline]
    fn pass_gap(&mut self, until: Ns, micro: Ns) {
        let Some(hull) = self.hull else { return };
        let gap = until - self.busy.until().max(hull.start);
        if gap > Ns::ZERO && gap < micro {
            self.micro += gap;
        }
    }

    pub(super) fn hull(&self) -> Option<Interval> {
        self.hull
    }

    /// The times, but for the estimates.
    pub(super) fn times(&self, micro: Option<Ns>) -> Times {
        let total = self.hull.map_or(Ns::ZERO, Interval::len);
        let idle = total - self.busy.len();
        let micro = micro.map(|limit| {
            let mut end = self.clone();
            self.hull.iter().for_each(|hull| end.pass_gap(hull.end, limit));
            end.micro
        });
        Times {
            computation_ns: self.computation.len(),
            comm_ns: self.communication.len(),
            memcpy_ns: self.copies.len(),
            exposed_comm_ns: self.hiding.len() - self.computation.len(),
            exposed_memcpy_ns: self.busy.len() - self.hiding.len(),
            busy_ns: self.busy.len(),
            total_ns: total,
            idle_ns: idle,
            micro_idle_ns: micro,
            macro_idle_ns: micro.map(|micro| idle - micro),
            est_sm_efficiency_pct: None,
            est_occupancy_pct: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::TimeSet;
    use proptest::prelude::*;

    use super::*;

    /// The same numbers by the definition: sets, unions and differences.
    fn by_sets(events: &[GpuEvent], micro: Ns) -> Times {
        let of = |kinds: &[Kind]| {
            let events = events.iter().filter(|event| kinds.contains(&event.kind));
            TimeSet::from_sorted(events.map(GpuEvent::interval))
        };
        let (computation, comm, copies) =
            (of(&[Kind::Computation, Kind::Memset]), of(&[Kind::Communication]), of(&[Kind::Memcpy]));
        let busy = of(&Kind::ALL);
        let whole = TimeSet::from_sorted(events.first().map(|first| {
            let end = events.iter().map(|event| event.end).max().unwrap_or(first.end);
            Interval::new(first.start, end)
        }));
        let idle = whole.minus(&busy);
        let gaps = idle.intervals().iter().map(|gap| gap.len());
        let micro: Ns = gaps.filter(|gap| *gap < micro).sum();
        Times {
            computation_ns: computation.len(),
            comm_ns: comm.len(),
            memcpy_ns: copies.len(),
            exposed_comm_ns: comm.minus(&computation).len(),
            exposed_memcpy_ns: copies.minus(&computation).minus(&comm).len(),
            busy_ns: busy.len(),
            total_ns: whole.len(),
            idle_ns: idle.len(),
            micro_idle_ns: Some(micro),
            macro_idle_ns: Some(idle.len() - micro),
            ..Times::default()
        }
    }

    /// Short and dense, long and sparse, and as far apart as times can be.
    fn events() -> impl Strategy<Value = Vec<GpuEvent>> {
        let limit = Ns::LIMIT.0 / 2;
        let span = prop_oneof![
            4 => (0..300i64, 0..15i64),
            1 => (0..300i64, 0..300i64),
            1 => (-limit..limit, 0..limit),
        ];
        let event = (span, 0..Kind::ALL.len()).prop_map(|((start, dur), kind)| GpuEvent {
            row: 0,
            start: Ns(start),
            end: Ns(start + dur),
            kind: Kind::ALL[kind],
        });
        proptest::collection::vec(event, 0..60).prop_map(|mut events| {
            events.sort_by_key(|event| event.start);
            events
        })
    }

    proptest! {
        #[test]
        fn the_sweep_gives_what_the_algebra_of_sets_gives(events in events(), micro in 0..10i64) {
            let mut sweep = Sweep::default();
            for event in &events {
                sweep.add(event, Ns(micro));
            }
            prop_assert_eq!(sweep.times(Some(Ns(micro))), by_sets(&events, Ns(micro)));
        }
    }
}
