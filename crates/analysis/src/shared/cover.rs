//! How much time intervals cover together, found in one walk over them in order of their start.
//!
//! Lengths of unions are all that the questions need: what one set covers and another does not is the length of
//! both together less that of the other, and what two share is the sum of their lengths less that of both.

use gpuscope_trace::{Interval, Ns};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cover {
    len: Ns,
    until: Ns,
}

impl Default for Cover {
    fn default() -> Self {
        Cover { len: Ns::ZERO, until: Ns(i64::MIN) }
    }
}

impl Cover {
    /// Takes in an interval that starts no earlier than those before it.
    #[inline]
    pub(crate) fn add(&mut self, time: Interval) {
        let from = time.start.max(self.until);
        if from < time.end {
            self.len += time.end - from;
            self.until = time.end;
        }
    }

    pub(crate) fn len(&self) -> Ns {
        self.len
    }

    /// Where the last covered stretch ends.
    pub(crate) fn until(&self) -> Ns {
        self.until
    }
}

/// As [`Cover`], and how much of it lies before any instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Covered {
    /// Disjoint stretches in order, each with what lies before it.
    stretches: Vec<(Interval, Ns)>,
}

impl Covered {
    /// Takes in an interval that starts no earlier than those before it.
    #[inline]
    pub(crate) fn add(&mut self, time: Interval) {
        if time.is_empty() {
            return;
        }
        match self.stretches.last_mut() {
            Some((last, _)) if time.start <= last.end => last.end = last.end.max(time.end),
            last => {
                let before = last.map_or(Ns::ZERO, |(last, before)| *before + last.len());
                self.stretches.push((time, before));
            }
        }
    }

    pub(crate) fn until(&self, time: Ns) -> Ns {
        let begun = self.stretches.partition_point(|(stretch, _)| stretch.start < time);
        let Some((last, before)) = begun.checked_sub(1).map(|last| self.stretches[last]) else {
            return Ns::ZERO;
        };
        before + (last.end.min(time) - last.start)
    }

    pub(crate) fn within(&self, time: Interval) -> Ns {
        if time.is_empty() { Ns::ZERO } else { self.until(time.end) - self.until(time.start) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_before_an_instant_is_counted_once() {
        let mut covered = Covered::default();
        for (start, end) in [(10, 15), (12, 13), (13, 20), (25, 25), (30, 35)] {
            covered.add(Interval::new(Ns(start), Ns(end)));
        }
        let until = [0, 10, 15, 20, 25, 30, 33, 99].map(|time| covered.until(Ns(time)).0);
        assert_eq!(until, [0, 0, 5, 10, 10, 10, 13, 15]);
        assert_eq!(covered.within(Interval::new(Ns(18), Ns(32))), Ns(4));
    }
}
