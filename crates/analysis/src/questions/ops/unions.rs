//! How long the GPU worked for each call: straight under it, and anywhere below it.
//!
//! Both are unions: two kernels at once count once. What is below a call is put together from what is below the
//! calls inside it, always the smaller set into the larger, so that no nesting, however deep, makes it quadratic.

use std::collections::BTreeMap;

use gpuscope_trace::{Interval, Ns};

use super::calls::Calls;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) direct: Ns,
    pub(crate) subtree: Ns,
}

/// The times of every call.
pub(crate) fn times(calls: &Calls) -> Vec<Times> {
    let mut times = vec![Times::default(); calls.len()];
    let mut below: Vec<Option<Busy>> = Vec::new();
    below.resize_with(calls.len(), || None);
    // From the last to the first, so that everything below a call is there when it is its turn.
    for call in (0..calls.len()).rev() {
        let own = || union(calls.direct(call).iter().map(gpuscope_trace::GpuEvent::interval));
        let direct = own().map(Interval::len).sum();
        let inner = below[call].take();
        let parent = calls.parent(call);
        let Some(mut busy) = inner else {
            times[call] = Times { direct, subtree: direct };
            if let Some(parent) = parent {
                own().for_each(|interval| below[parent].get_or_insert_default().insert(interval));
            }
            continue;
        };
        own().for_each(|interval| busy.insert(interval));
        times[call] = Times { direct, subtree: busy.total };
        if let Some(parent) = parent {
            below[parent] = Some(match below[parent].take() {
                Some(other) => busy.join(other),
                None => busy,
            });
        }
    }
    times
}

/// The union of intervals that come by start, one stretch after the other.
pub(crate) fn union(intervals: impl Iterator<Item = Interval>) -> impl Iterator<Item = Interval> {
    let mut intervals = intervals.filter(|interval| !interval.is_empty()).peekable();
    std::iter::from_fn(move || {
        let mut stretch = intervals.next()?;
        while let Some(next) = intervals.next_if(|next| next.start <= stretch.end) {
            stretch.end = stretch.end.max(next.end);
        }
        Some(stretch)
    })
}

/// A set of time that grows.
#[derive(Debug, Default)]
struct Busy {
    /// By start; none touches another.
    stretches: BTreeMap<Ns, Ns>,
    total: Ns,
}

impl Busy {
    fn insert(&mut self, mut interval: Interval) {
        while let Some((&start, &end)) = self.stretches.range(..=interval.end).next_back()
            && end >= interval.start
        {
            self.stretches.remove(&start);
            self.total -= end - start;
            interval = Interval::new(interval.start.min(start), interval.end.max(end));
        }
        self.stretches.insert(interval.start, interval.end);
        self.total += interval.len();
    }

    fn join(mut self, mut other: Busy) -> Busy {
        if self.stretches.len() < other.stretches.len() {
            std::mem::swap(&mut self, &mut other);
        }
        for (start, end) in other.stretches {
            self.insert(Interval::new(start, end));
        }
        self
    }
}
