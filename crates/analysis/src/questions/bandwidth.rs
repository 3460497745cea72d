//! How fast did copies go, kind by kind?
//!
//! Over copies that say how many bytes they moved. The kind is the copy's name up to its first ` (`: `Memcpy
//! HtoD (Pinned -> Device)` is `Memcpy HtoD`; a copy from device to device that names two different devices is
//! `Memcpy PtoP`, whatever it is called. The bandwidth is bytes over the copies' summed time.
//!
//! `over_time` is what an observer would see while copies of a kind were under way: each moves its bytes evenly,
//! those that overlap add up, and each rate is weighted by how long it lasted. Rates are added up as integers, so
//! that nothing is left over when a copy ends. Memory sets, where their bytes are known, are in `sets`.

mod figures;

use std::collections::BTreeMap;

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Arg, Class, Ns, Row, View};
use serde::Serialize;

use crate::Question;
use crate::shared::weighted::Weighted;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CopyKind {
    pub rank: u32,
    pub kind: String,
    pub count: u64,
    pub total_bytes: i64,
    pub sum_ns: Ns,
    /// Null for copies that took no time.
    pub gb_per_s: Option<f64>,
    pub over_time: Option<RateOverTime>,
    /// Each copy, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Vec<Copy>>,
}

/// Rates while at least one copy was under way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateOverTime {
    /// How long at least one was.
    pub busy_ns: Ns,
    pub mean_gb_per_s: f64,
    pub min_gb_per_s: f64,
    /// A quarter of the time it was no faster than this.
    pub p25_gb_per_s: f64,
    pub median_gb_per_s: f64,
    pub p75_gb_per_s: f64,
    pub max_gb_per_s: f64,
    pub std_gb_per_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Copy {
    pub start_ns: Ns,
    pub dur_ns: Ns,
    pub bytes: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BandwidthAnswer {
    pub copies: Vec<CopyKind>,
    /// Memory sets.
    pub sets: Vec<CopyKind>,
}

impl Tabular for BandwidthAnswer {
    fn tables(&self) -> Vec<Table> {
        let copies = table("copies", "Copies by kind", &self.copies);
        let sets = (!self.sets.is_empty()).then(|| table("sets", "Memory sets", &self.sets));
        std::iter::once(copies).chain(sets).collect()
    }
}

fn table(name: &'static str, title: &str, kinds: &[CopyKind]) -> Table {
    Table::of(name, title, kinds)
        .int("rank", Unit::None, "The rank", |c| i64::from(c.rank))
        .text("kind", "What was copied from where to where", |c| c.kind.clone())
        .int("count", Unit::Count, "Copies", |c| c.count as i64)
        .int("total_bytes", Unit::Bytes, "Bytes moved", |c| c.total_bytes)
        .int("sum_ns", Unit::Ns, "Summed time of the copies", |c| c.sum_ns.0)
        .float("gb_per_s", Unit::GigabytesPerSecond, "Bytes over summed time", |c| c.gb_per_s)
        .int("busy_ns", Unit::Ns, "Time with at least one under way", |c| c.over_time.map(|o| o.busy_ns.0))
        .float("median_gb_per_s", Unit::GigabytesPerSecond, "Half of that time no faster than this", |c| {
            c.over_time.map(|o| o.median_gb_per_s)
        })
        .float("max_gb_per_s", Unit::GigabytesPerSecond, "The fastest at any time", |c| {
            c.over_time.map(|o| o.max_gb_per_s)
        })
        .build()
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Bandwidth {
    /// Keep every copy.
    pub series: bool,
}

impl Question for Bandwidth {
    type Local = BandwidthAnswer;
    type Answer = BandwidthAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> BandwidthAnswer {
        BandwidthAnswer {
            copies: self.kinds(rank, view, Class::GpuMemcpy),
            sets: self.kinds(rank, view, Class::GpuMemset),
        }
    }

    fn merge(&self, locals: Vec<BandwidthAnswer>) -> BandwidthAnswer {
        let mut all = BandwidthAnswer::default();
        for local in locals {
            all.copies.extend(local.copies);
            all.sets.extend(local.sets);
        }
        all
    }
}

impl Bandwidth {
    /// What moved bytes, by kind.
    fn kinds(self, rank: u32, view: View<'_>, class: Class) -> Vec<CopyKind> {
        let mut kinds: BTreeMap<&str, (i64, Vec<Copy>)> = BTreeMap::new();
        for event in view.gpu().filter(|event| view.trace.class(event.row) == class) {
            let Some(bytes) = view.trace.args.int(event.row, Arg::Bytes) else { continue };
            let (total, copies) = kinds.entry(kind(view, event.row)).or_default();
            *total = total.saturating_add(bytes);
            copies.push(Copy { start_ns: event.start, dur_ns: event.dur(), bytes });
        }
        let answer = |(kind, (total_bytes, copies)): (&str, (i64, Vec<Copy>))| {
            let sum_ns: Ns = copies.iter().map(|copy| copy.dur_ns).sum();
            CopyKind {
                rank,
                kind: kind.to_owned(),
                count: copies.len() as u64,
                total_bytes,
                sum_ns,
                // Bytes per nanosecond are gigabytes per second.
                gb_per_s: (sum_ns > Ns::ZERO).then(|| total_bytes as f64 / sum_ns.as_f64()),
                over_time: over_time(&copies),
                series: self.series.then_some(copies),
            }
        };
        kinds.into_iter().map(answer).collect()
    }
}

fn kind(view: View<'_>, row: Row) -> &str {
    let (args, name) = (&view.trace.args, view.trace.name(row));
    let kind = name.split_once(" (").map_or(name, |(kind, _)| kind);
    let devices = args.text(row, Arg::Source).zip(args.text(row, Arg::Destination));
    let is_between = devices.is_some_and(|(from, to)| from != to);
    if kind == "Memcpy DtoD" && is_between { "Memcpy PtoP" } else { kind }
}

/// Parts of a byte per nanosecond in which rates are added up.
const PARTS: i128 = 1 << 32;

fn over_time(copies: &[Copy]) -> Option<RateOverTime> {
    let mut changes: Vec<(Ns, i128, i32)> = Vec::new();
    for copy in copies.iter().filter(|copy| copy.dur_ns > Ns::ZERO) {
        let rate = i128::from(copy.bytes) * PARTS / i128::from(copy.dur_ns.0);
        changes.extend([(copy.start_ns, rate, 1), (copy.start_ns + copy.dur_ns, -rate, -1)]);
    }
    changes.sort_unstable_by_key(|change| change.0);
    let mut rates = Weighted::default();
    let (mut rate, mut under_way) = (0, 0);
    for pair in changes.windows(2) {
        (rate, under_way) = (rate + pair[0].1, under_way + pair[0].2);
        if under_way > 0 {
            rates.add(rate, pair[1].0 - pair[0].0);
        }
    }
    let spread = rates.spread()?;
    let gb_per_s = |rate: i128| rate as f64 / PARTS as f64;
    Some(RateOverTime {
        busy_ns: spread.time,
        mean_gb_per_s: spread.mean / PARTS as f64,
        min_gb_per_s: gb_per_s(spread.min),
        p25_gb_per_s: gb_per_s(spread.quartiles[0]),
        median_gb_per_s: gb_per_s(spread.quartiles[1]),
        p75_gb_per_s: gb_per_s(spread.quartiles[2]),
        max_gb_per_s: gb_per_s(spread.max),
        std_gb_per_s: spread.deviation / PARTS as f64,
    })
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::{Id, Phase, StrId};

    use super::*;
    use crate::testing::{Sample, trace};

    fn copy(sample: Sample, name: &str, start: i64, dur: i64, bytes: Option<i64>) -> Sample {
        sample.event(Phase::Complete, "gpu_memcpy", name, Some(start), Some(dur), |record| {
            record.stream = Id::Int(7);
            if let Some(bytes) = bytes {
                record.set_int(Arg::Bytes, bytes);
            }
        })
    }

    #[test]
    fn kinds_are_names_without_their_memory_types() {
        let sample = copy(trace(), "Memcpy HtoD (Pinned -> Device)", 0, 10, Some(100));
        let sample = copy(sample, "Memcpy HtoD (Pageable -> Device)", 20, 30, Some(60));
        let sample = copy(sample, "Memcpy DtoH (Device -> Pinned)", 60, 0, Some(8));
        let sample = copy(sample, "Memcpy PtoP (Device -> Device)", 70, 5, None);
        let answer = sample.build().ask(&Bandwidth::default());
        let rows: Vec<_> =
            answer.copies.iter().map(|c| (c.kind.as_str(), c.count, c.total_bytes, c.gb_per_s)).collect();
        assert_eq!(rows, [("Memcpy DtoH", 1, 8, None), ("Memcpy HtoD", 2, 160, Some(4.0))]);
    }

    #[test]
    fn a_copy_between_two_devices_is_a_kind_of_its_own() {
        let mut devices = [StrId::EMPTY; 2];
        let mut sample = trace().texts(|strings| devices = [b"0", b"1"].map(|id| strings.intern(id)));
        for (start, to) in [(0, devices[0]), (10, devices[1])] {
            sample = sample.event(
                Phase::Complete,
                "gpu_memcpy",
                "Memcpy DtoD (Device -> Device)",
                Some(start),
                Some(5),
                |record| {
                    record.set_int(Arg::Bytes, 5);
                    record.set_text(Arg::Source, devices[0]);
                    record.set_text(Arg::Destination, to);
                },
            );
        }
        let answer = sample.build().ask(&Bandwidth::default());
        let kinds: Vec<_> = answer.copies.iter().map(|c| (c.kind.as_str(), c.count)).collect();
        assert_eq!(kinds, [("Memcpy DtoD", 1), ("Memcpy PtoP", 1)]);
    }

    #[test]
    fn rates_add_up_while_copies_overlap_and_nothing_is_left_over() {
        let name = "Memcpy DtoD";
        // 0.1 and 0.2 bytes a nanosecond overlap for a while: in floats their sum less both is not zero.
        let sample = copy(trace(), name, 0, 100, Some(10));
        let sample = copy(sample, name, 50, 100, Some(20));
        let sample = copy(sample, name, 1000, 10, Some(30));
        let over = sample.build().ask(&Bandwidth::default()).copies[0].over_time.unwrap();
        assert_eq!(over.busy_ns, Ns(160));
        assert!((over.mean_gb_per_s - 60.0 / 160.0).abs() < 1e-9, "{}", over.mean_gb_per_s);
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(near(over.min_gb_per_s, 0.1) && near(over.max_gb_per_s, 3.0), "{over:?}");
        assert!(near(over.median_gb_per_s, 0.2), "{over:?}");
    }

    #[test]
    fn extremes_neither_panic_nor_wrap() {
        let sample = copy(trace(), "Memcpy DtoD", 0, 1, Some(i64::MAX));
        let sample = copy(sample, "Memcpy DtoD", 0, i64::MAX / 2, Some(i64::MIN + 1));
        let answer = copy(sample, "Memcpy DtoD", 5, -7, Some(1)).build().ask(&Bandwidth::default());
        assert_eq!(answer.copies[0].count, 3);
    }
}
