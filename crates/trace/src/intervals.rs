//! Sets of time as sorted, disjoint, half-open intervals, and the algebra on them.

use crate::time::Ns;

/// A half-open stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    pub start: Ns,
    pub end: Ns,
}

impl Interval {
    pub fn new(start: Ns, end: Ns) -> Interval {
        Interval { start, end }
    }

    pub fn len(self) -> Ns {
        self.end - self.start
    }

    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// A set of instants: intervals in order, none empty, none touching another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeSet(Vec<Interval>);

impl TimeSet {
    /// The union of intervals that come in order of their start.
    pub fn from_sorted(intervals: impl IntoIterator<Item = Interval>) -> TimeSet {
        let mut set: Vec<Interval> = Vec::new();
        for next in intervals {
            if next.is_empty() {
                continue;
            }
            match set.last_mut() {
                Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
                _ => set.push(next),
            }
        }
        TimeSet(set)
    }

    /// The union of intervals in any order.
    pub fn from_unsorted(intervals: impl IntoIterator<Item = Interval>) -> TimeSet {
        let mut intervals: Vec<Interval> = intervals.into_iter().collect();
        intervals.sort_unstable();
        TimeSet::from_sorted(intervals)
    }

    pub fn intervals(&self) -> &[Interval] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How much time is in the set.
    pub fn len(&self) -> Ns {
        self.0.iter().map(|i| i.len()).sum()
    }

    /// From the first instant to the last.
    pub fn hull(&self) -> Option<Interval> {
        Some(Interval::new(self.0.first()?.start, self.0.last()?.end))
    }

    #[must_use]
    pub fn union(&self, other: &TimeSet) -> TimeSet {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        TimeSet::from_sorted(std::iter::from_fn(|| match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x.start <= y.start => a.next().copied(),
            (_, Some(_)) => b.next().copied(),
            (_, None) => a.next().copied(),
        }))
    }

    #[must_use]
    pub fn intersect(&self, other: &TimeSet) -> TimeSet {
        let (mut i, mut j) = (0, 0);
        let mut common = Vec::new();
        while let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) {
            let both = Interval::new(a.start.max(b.start), a.end.min(b.end));
            if !both.is_empty() {
                common.push(both);
            }
            if a.end <= b.end {
                i += 1;
            } else {
                j += 1;
            }
        }
        TimeSet(common)
    }

    /// What is in `self` and not in `other`.
    #[must_use]
    pub fn minus(&self, other: &TimeSet) -> TimeSet {
        let mut rest = Vec::new();
        let mut j = 0;
        for interval in &self.0 {
            let mut from = interval.start;
            while let Some(cut) = other.0.get(j).filter(|cut| cut.start < interval.end) {
                if cut.start > from {
                    rest.push(Interval::new(from, cut.start));
                }
                from = from.max(cut.end);
                if cut.end >= interval.end {
                    // It may reach into the next interval too.
                    break;
                }
                j += 1;
            }
            if from < interval.end {
                rest.push(Interval::new(from, interval.end));
            }
        }
        TimeSet(rest)
    }

    /// The stretches between the intervals.
    pub fn gaps(&self) -> impl Iterator<Item = Interval> {
        self.0.windows(2).map(|pair| Interval::new(pair[0].end, pair[1].start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(pairs: &[(i64, i64)]) -> TimeSet {
        TimeSet::from_unsorted(pairs.iter().map(|&(a, b)| Interval::new(Ns(a), Ns(b))))
    }

    #[test]
    fn touching_intervals_are_one_and_empty_ones_none() {
        assert_eq!(set(&[(5, 7), (0, 5), (9, 9)]), set(&[(0, 7)]));
        assert_eq!(set(&[(3, 3)]), TimeSet::default());
    }

    #[test]
    fn a_cut_can_reach_over_several_intervals() {
        assert_eq!(
            set(&[(0, 4), (6, 10), (12, 20)]).minus(&set(&[(2, 13), (15, 16)])),
            set(&[(0, 2), (13, 15), (16, 20)])
        );
    }

    #[test]
    fn gaps_lie_between() {
        let gaps: Vec<_> = set(&[(0, 2), (5, 6), (9, 10)]).gaps().map(Interval::len).collect();
        assert_eq!(gaps, [Ns(3), Ns(3)]);
    }
}
