//! How fast did copies go, kind by kind?
//!
//! Over copies that say how many bytes they moved. The kind is the copy's name up to its first ` (`: `Memcpy
//! HtoD (Pinned -> Device)` is `Memcpy HtoD`. The bandwidth is bytes over the copies' summed time.

use std::collections::BTreeMap;

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Arg, Class, Ns, View};
use serde::Serialize;

use crate::Question;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CopyKind {
    pub rank: u32,
    pub kind: String,
    pub count: u64,
    pub total_bytes: i64,
    pub sum_ns: Ns,
    /// Null for copies that took no time.
    pub gb_per_s: Option<f64>,
    /// Each copy, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Vec<Copy>>,
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
}

impl Tabular for BandwidthAnswer {
    fn tables(&self) -> Vec<Table> {
        let copies = Table::of("copies", "Copies by kind", &self.copies)
            .int("rank", Unit::None, "The rank", |c| i64::from(c.rank))
            .text("kind", "What was copied from where to where", |c| c.kind.clone())
            .int("count", Unit::Count, "Copies", |c| c.count as i64)
            .int("total_bytes", Unit::Bytes, "Bytes moved", |c| c.total_bytes)
            .int("sum_ns", Unit::Ns, "Summed time of the copies", |c| c.sum_ns.0)
            .float("gb_per_s", Unit::GigabytesPerSecond, "Bytes over summed time", |c| c.gb_per_s)
            .build();
        vec![copies]
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Bandwidth {
    /// Keep every copy.
    pub series: bool,
}

impl Question for Bandwidth {
    type Local = Vec<CopyKind>;
    type Answer = BandwidthAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> Vec<CopyKind> {
        let mut kinds: BTreeMap<&str, CopyKind> = BTreeMap::new();
        for event in view.gpu().filter(|event| view.trace.class(event.row) == Class::GpuMemcpy) {
            let Some(bytes) = view.trace.args.int(event.row, Arg::Bytes) else { continue };
            let name = view.trace.name(event.row);
            let kind = name.split_once(" (").map_or(name, |(kind, _)| kind);
            let found = kinds.entry(kind).or_insert_with(|| CopyKind {
                rank,
                kind: kind.to_owned(),
                count: 0,
                total_bytes: 0,
                sum_ns: Ns::ZERO,
                gb_per_s: None,
                series: self.series.then(Vec::new),
            });
            found.count += 1;
            found.total_bytes = found.total_bytes.saturating_add(bytes);
            found.sum_ns += event.dur();
            if let Some(series) = &mut found.series {
                series.push(Copy { start_ns: event.start, dur_ns: event.dur(), bytes });
            }
        }
        let with_bandwidth = |mut kind: CopyKind| {
            // Bytes per nanosecond are gigabytes per second.
            kind.gb_per_s = (kind.sum_ns > Ns::ZERO).then(|| kind.total_bytes as f64 / kind.sum_ns.as_f64());
            kind
        };
        kinds.into_values().map(with_bandwidth).collect()
    }

    fn merge(&self, locals: Vec<Vec<CopyKind>>) -> BandwidthAnswer {
        BandwidthAnswer { copies: locals.into_iter().flatten().collect() }
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::{Id, Phase};

    use super::*;
    use crate::testing::trace;

    #[test]
    fn kinds_are_names_without_their_memory_types() {
        let copy = |name: &'static str, start: i64, dur: i64, bytes: Option<i64>| {
            move |sample: crate::testing::Sample| {
                sample.event(Phase::Complete, "gpu_memcpy", name, Some(start), Some(dur), |record| {
                    record.stream = Id::Int(7);
                    if let Some(bytes) = bytes {
                        record.set_int(Arg::Bytes, bytes);
                    }
                })
            }
        };
        let sample = copy("Memcpy HtoD (Pinned -> Device)", 0, 10, Some(100))(trace());
        let sample = copy("Memcpy HtoD (Pageable -> Device)", 20, 30, Some(60))(sample);
        let sample = copy("Memcpy DtoH (Device -> Pinned)", 60, 0, Some(8))(sample);
        let sample = copy("Memcpy PtoP (Device -> Device)", 70, 5, None)(sample);
        let answer = sample.build().ask(&Bandwidth::default());
        let rows: Vec<_> =
            answer.copies.iter().map(|c| (c.kind.as_str(), c.count, c.total_bytes, c.gb_per_s)).collect();
        assert_eq!(rows, [("Memcpy DtoH", 1, 8, None), ("Memcpy HtoD", 2, 160, Some(4.0))]);
    }
}
