//! Kernels so short that starting them costs as much as running them, and who launches them.
//!
//! Short is a GPU event below a threshold. `gap_ns` is the idle time of the device right before such events, each
//! gap up to the ordinary price of a launch: what fusing them into what ran before could save at most. Longer gaps
//! have other causes, which `idle` names.

use std::collections::BTreeMap;

use gpuscope_trace::{GpuEvent, Ns, StrId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::calls::Calls;
use crate::idle::Idle;

/// How finely the histogram divides the time up to the threshold.
const BINS: i64 = 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bin {
    pub from_ns: Ns,
    pub to_ns: Ns,
    pub count: u64,
    pub sum_ns: Ns,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShortRow {
    pub rank: u32,
    /// The operator, or the launch outside of any; null if no launch is known.
    pub op: Option<String>,
    pub kernel: String,
    pub count: u64,
    pub sum_ns: Ns,
    pub gap_ns: Ns,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ShortKernels {
    pub threshold_ns: Ns,
    /// GPU events of any length.
    pub events: u64,
    pub count: u64,
    pub count_pct: f64,
    pub sum_ns: Ns,
    pub gap_ns: Ns,
    pub histogram: Vec<Bin>,
    /// Largest gaps first.
    pub rows: Vec<ShortRow>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    time: Ns,
    gap: Ns,
}

pub(super) fn study(rank: u32, view: View<'_>, calls: &Calls, threshold: Ns) -> ShortKernels {
    let mut study =
        ShortKernels { threshold_ns: threshold, histogram: bins(threshold), ..ShortKernels::default() };
    let gaps = gaps(view, threshold);
    let mut sums: FxHashMap<(Option<StrId>, StrId), Sum> = FxHashMap::default();
    let mut add = |op: Option<StrId>, events: &[GpuEvent]| {
        for event in events.iter().filter(|event| event.dur() < threshold) {
            study.histogram[bin(event.dur(), threshold)].add(event.dur());
            let sum = sums.entry((op, view.trace.name_id(event.row))).or_default();
            sum.count += 1;
            sum.time += event.dur();
            sum.gap += gaps.get(&event.row).copied().unwrap_or_default();
        }
    };
    (0..calls.len()).for_each(|call| add(Some(view.trace.name_id(calls.row(call))), calls.direct(call)));
    add(None, calls.unlinked());
    let text = |id: StrId| view.trace.strings.get(id).to_owned();
    let row = |((op, kernel), sum): ((Option<StrId>, StrId), Sum)| ShortRow {
        rank,
        op: op.map(text),
        kernel: text(kernel),
        count: sum.count,
        sum_ns: sum.time,
        gap_ns: sum.gap,
    };
    study.rows = sums.into_iter().map(row).collect();
    study.events = view.gpu().count() as u64;
    study.sum_up();
    study
}

impl ShortKernels {
    /// The studies of several ranks as one.
    pub(super) fn join(&mut self, other: ShortKernels) {
        self.events += other.events;
        for (bin, more) in self.histogram.iter_mut().zip(other.histogram) {
            bin.count += more.count;
            bin.sum_ns += more.sum_ns;
        }
        self.rows.extend(other.rows);
        self.sum_up();
    }

    fn sum_up(&mut self) {
        self.count = self.histogram.iter().map(|bin| bin.count).sum();
        self.sum_ns = self.histogram.iter().map(|bin| bin.sum_ns).sum();
        self.gap_ns = self.rows.iter().map(|row| row.gap_ns).sum();
        self.count_pct = if self.events == 0 { 0.0 } else { 100.0 * self.count as f64 / self.events as f64 };
        self.rows.sort_by(|a, b| {
            (b.gap_ns, b.sum_ns, a.rank, &a.op, &a.kernel)
                .cmp(&(a.gap_ns, a.sum_ns, b.rank, &b.op, &b.kernel))
        });
    }
}

impl Bin {
    fn add(&mut self, duration: Ns) {
        self.count += 1;
        self.sum_ns += duration;
    }
}

fn bins(threshold: Ns) -> Vec<Bin> {
    let edge = |i: i64| Ns((i128::from(threshold.0) * i128::from(i) / i128::from(BINS)) as i64);
    (0..BINS).map(|i| Bin { from_ns: edge(i), to_ns: edge(i + 1), count: 0, sum_ns: Ns::ZERO }).collect()
}

/// The last bin that begins at or before a duration below the threshold.
fn bin(duration: Ns, threshold: Ns) -> usize {
    let place =
        (i128::from(duration.0) * i128::from(BINS) + i128::from(BINS) - 1) / i128::from(threshold.0.max(1));
    place.clamp(0, i128::from(BINS) - 1) as usize
}

/// The idle time of the device before each short event, up to the price of a launch; none where there is none.
fn gaps(view: View<'_>, threshold: Ns) -> FxHashMap<u32, Ns> {
    let most = Idle::default().threshold;
    let mut busy_until: BTreeMap<i64, Ns> = BTreeMap::new();
    let gap = |event: &GpuEvent| {
        let until = busy_until.entry(view.device(event.row)).or_insert(event.start);
        let gap = event.start - *until;
        *until = event.end.max(*until);
        (gap > Ns::ZERO && event.dur() < threshold).then_some((event.row, gap.min(most)))
    };
    view.gpu().filter_map(gap).collect()
}
