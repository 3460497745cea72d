//! Copies over time: bytes under way by kind, and the running total.

use std::collections::BTreeMap;

use gpuscope_figure::{Axis, Figure, Hue, Panel, Pictured, Series, Unit};
use gpuscope_trace::Ns;

use super::{BandwidthAnswer, Copy};

impl Pictured for BandwidthAnswer {
    fn figures(&self) -> Vec<Figure> {
        // Each rank has a clock of its own, so one is drawn: the one that copied most.
        let mut ranks: BTreeMap<u32, i64> = BTreeMap::new();
        for kind in self.copies.iter().filter(|kind| kind.series.is_some()) {
            let sum = ranks.entry(kind.rank).or_default();
            *sum = sum.saturating_add(kind.total_bytes);
        }
        let Some((rank, _)) = ranks.into_iter().rev().max_by_key(|(_, bytes)| *bytes) else {
            return Vec::new();
        };
        let title = format!("How fast did copies go? (rank {rank})");
        let figure = Figure::new("bandwidth", title, self.rates(rank));
        if figure.is_empty() { Vec::new() } else { vec![figure] }
    }
}

impl BandwidthAnswer {
    fn rates(&self, rank: u32) -> Panel {
        let mut kinds: BTreeMap<&str, Vec<Copy>> = BTreeMap::new();
        for kind in self.copies.iter().filter(|kind| kind.rank == rank) {
            kinds.entry(&kind.kind).or_default().extend(kind.series.iter().flatten());
        }
        let start = kinds.values().flatten().map(|copy| copy.start_ns).min().unwrap_or_default();
        let panel = Panel::new(
            Axis::new("time", Unit::Ns).fitted(),
            Axis::new("bandwidth", Unit::GigabytesPerSecond),
        );
        kinds.into_iter().enumerate().fold(panel, |panel, (i, (kind, copies))| {
            let (x, y) = rate(&copies, start);
            panel.with(Series::steps(kind, Hue::Nth(i), x, y, true))
        })
    }
}

/// Bytes of all copies under way, in GB/s: each moves its bytes evenly.
fn rate(copies: &[Copy], start: Ns) -> (Vec<f64>, Vec<f64>) {
    let mut changes: BTreeMap<Ns, f64> = BTreeMap::new();
    for copy in copies.iter().filter(|copy| copy.dur_ns > Ns::ZERO) {
        let rate = copy.bytes as f64 / copy.dur_ns.as_f64();
        *changes.entry(copy.start_ns).or_default() += rate;
        *changes.entry(copy.start_ns + copy.dur_ns).or_default() -= rate;
    }
    let mut now = 0.0;
    let point = |(time, change): (Ns, f64)| {
        now += change;
        // What is left of sums of fractions is not a rate.
        ((time - start).as_f64(), if now < 1e-9 { 0.0 } else { now })
    };
    changes.into_iter().map(point).unzip()
}
