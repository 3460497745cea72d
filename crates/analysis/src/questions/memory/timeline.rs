//! torch's memory timeline: totals over time by what the tensors were for.

use gpuscope_trace::{MemoryCategory, MemoryTimeline, Ns};
use serde::Serialize;

use super::ByCategory;

type Totals = ByCategory<MemoryCategory, { MemoryCategory::ALL.len() }>;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    pub rank: u32,
    pub start_ns: Ns,
    pub end_ns: Ns,
    pub peak_bytes: i64,
    /// When most was taken, the first time.
    pub peak_ns: Ns,
    /// What made up the peak.
    pub at_peak_bytes: Totals,
    /// The most of each category by itself, each at its own time.
    pub peak_bytes_by_category: Totals,
    pub final_bytes: Totals,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Vec<TimelinePoint>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimelinePoint {
    pub time_ns: Ns,
    pub total_bytes: i64,
    pub category_bytes: Totals,
}

impl Timeline {
    /// `None` for one without a change.
    pub(super) fn of(rank: u32, recorded: &MemoryTimeline, series: bool) -> Option<Timeline> {
        let mut changes = recorded.changes.clone();
        // Stable: torch writes them in order of time.
        changes.sort_by_key(|change| change.time);
        let first = changes.iter().map(|change| change.time).find(|time| *time >= Ns::ZERO);
        let first = first.or(changes.first().map(|change| change.time))?;
        let mut totals = Totals::new(MemoryCategory::ALL);
        let mut found = Timeline {
            rank,
            start_ns: first,
            end_ns: first,
            peak_bytes: i64::MIN,
            peak_ns: first,
            at_peak_bytes: totals,
            peak_bytes_by_category: totals,
            final_bytes: totals,
            series: series.then(Vec::new),
        };
        for instant in changes.chunk_by(|a, b| a.time == b.time) {
            for change in instant {
                let of_category = &mut totals.bytes_mut()[change.category as usize];
                *of_category = of_category.saturating_add(change.bytes);
            }
            found.add(TimelinePoint {
                time_ns: instant[0].time.max(first),
                total_bytes: totals.total(),
                category_bytes: totals,
            });
        }
        Some(found)
    }

    fn add(&mut self, point: TimelinePoint) {
        if point.total_bytes > self.peak_bytes {
            (self.peak_bytes, self.peak_ns) = (point.total_bytes, point.time_ns);
            self.at_peak_bytes = point.category_bytes;
        }
        self.peak_bytes_by_category.raise_to(&point.category_bytes);
        self.final_bytes = point.category_bytes;
        self.end_ns = point.time_ns;
        if let Some(series) = &mut self.series {
            series.push(point);
        }
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::MemoryChange;

    use super::*;
    use crate::testing::json;

    fn timeline(changes: &[(i64, i64, MemoryCategory)]) -> Option<Timeline> {
        let changes = changes
            .iter()
            .map(|&(time, bytes, category)| MemoryChange { time: Ns(time), bytes, category })
            .collect();
        Timeline::of(0, &MemoryTimeline { changes }, true)
    }

    #[test]
    fn totals_are_taken_after_all_changes_of_one_instant() {
        use MemoryCategory::{Activation, Gradient, Parameter};
        let found = timeline(&[
            (-1, 100, Parameter),
            (50, 40, Activation),
            (60, 30, Activation),
            // A tensor becomes a gradient: it is never counted twice.
            (70, -30, Activation),
            (70, 30, Gradient),
            (80, -40, Activation),
        ])
        .unwrap();
        assert_eq!((found.start_ns, found.end_ns), (Ns(50), Ns(80)));
        assert_eq!((found.peak_bytes, found.peak_ns), (170, Ns(60)));
        let series: Vec<_> = found.series.iter().flatten().map(|p| (p.time_ns.0, p.total_bytes)).collect();
        assert_eq!(series, [(50, 100), (50, 140), (60, 170), (70, 170), (80, 130)]);
        let json = json(&found);
        assert_eq!(json["final_bytes"]["Gradient"], 30);
        assert_eq!(json["at_peak_bytes"]["Activation"], 70);
        assert_eq!(json["peak_bytes_by_category"]["Optimizer state"], 0);
    }

    #[test]
    fn extremes_neither_panic_nor_wrap() {
        let category = MemoryCategory::Unknown;
        assert_eq!(timeline(&[]), None);
        assert_eq!(timeline(&[(-5, 1, category)]).unwrap().peak_bytes, 1);
        let far = timeline(&[(0, i64::MAX, category), (1, i64::MAX, category)]).unwrap();
        assert_eq!(far.peak_bytes, i64::MAX);
    }
}
