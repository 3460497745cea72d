//! How much of an operator's GPU time ran while another stream of the device was busy too.
//!
//! During a GPU event its own stream is busy, so others are exactly when at least two streams are: that set is
//! found once per device, and asked for every event.

use std::collections::BTreeMap;

use gpuscope_trace::{GpuEvent, Interval, Ns, TimeSet, View};

use super::unions::union;

/// Per device when at least two of its streams were busy.
pub(super) struct Shared(BTreeMap<i64, Measured>);

impl Shared {
    pub(super) fn of(view: View<'_>) -> Shared {
        let mut streams: BTreeMap<(i64, Option<i64>), Vec<Interval>> = BTreeMap::new();
        for event in view.gpu() {
            let place = (view.device(event.row), view.stream(event.row));
            streams.entry(place).or_default().push(event.interval());
        }
        let mut changes: BTreeMap<i64, Vec<(Ns, i64)>> = BTreeMap::new();
        for ((device, _), intervals) in streams {
            let changes = changes.entry(device).or_default();
            for busy in union(intervals.into_iter()) {
                changes.extend([(busy.start, 1), (busy.end, -1)]);
            }
        }
        Shared(
            changes
                .into_iter()
                .map(|(device, changes)| (device, Measured::new(&at_least_two(changes))))
                .collect(),
        )
    }

    /// Of the united time of GPU events, which come by start, what was shared with another stream.
    pub(super) fn with(&self, view: View<'_>, events: &[GpuEvent]) -> Ns {
        let mut until = Ns(i64::MIN);
        let mut shared = Ns::ZERO;
        for event in events {
            let new = Interval::new(event.start.max(until), event.end);
            if !new.is_empty() {
                shared += self.0.get(&view.device(event.row)).map_or(Ns::ZERO, |set| set.within(new));
                until = event.end;
            }
        }
        shared
    }
}

fn at_least_two(mut changes: Vec<(Ns, i64)>) -> TimeSet {
    changes.sort_unstable();
    let mut busy = 0;
    let mut since = Ns::ZERO;
    TimeSet::from_sorted(changes.into_iter().filter_map(move |(time, change)| {
        let before = busy;
        busy += change;
        if before < 2 && busy == 2 {
            since = time;
        }
        (before == 2 && busy < 2).then_some(Interval::new(since, time))
    }))
}

/// A set of time that tells quickly how much of it lies in an interval.
struct Measured {
    set: Vec<Interval>,
    /// How much lies before each interval.
    before: Vec<Ns>,
}

impl Measured {
    fn new(set: &TimeSet) -> Measured {
        let set = set.intervals().to_vec();
        let before = set.iter().scan(Ns::ZERO, |sum, interval| {
            let before = *sum;
            *sum += interval.len();
            Some(before)
        });
        Measured { before: before.collect(), set }
    }

    fn within(&self, window: Interval) -> Ns {
        self.up_to(window.end) - self.up_to(window.start)
    }

    fn up_to(&self, time: Ns) -> Ns {
        let begun = self.set.partition_point(|interval| interval.start < time);
        let Some(last) = begun.checked_sub(1) else { return Ns::ZERO };
        self.before[last] + (self.set[last].end.min(time) - self.set[last].start)
    }
}
