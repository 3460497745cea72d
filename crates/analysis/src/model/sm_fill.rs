//! How much of a device its kernels filled while they ran.
//!
//! A profiler notes with each kernel an estimate of how far it fills the device: its thread blocks per
//! streaming multiprocessor (1 or more: every multiprocessor has work) and its achieved occupancy. Here each
//! estimate is averaged over the time in which kernels that carry it ran: at each instant the estimates of
//! all kernels running on the device add up, to at most 100 %. Copies, idle time and kernels without an
//! estimate do not count, so the figure says how well busy time was used, never how much of it there was.
//! Several devices are averaged by their time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use gpuscope_trace::side_tables::{ArgColumn, float_from_slot};
use gpuscope_trace::{Arg, Group, Interval, Ns, Row, Trace};

/// A share of the device in millionths; integers, so that sums do not depend on their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Share(u32);

impl Share {
    const WHOLE: i64 = 1_000_000;

    /// `None` for what is no share at all.
    pub(crate) fn new(part: f64) -> Option<Share> {
        (part >= 0.0).then(|| Share((part.min(1.0) * Share::WHOLE as f64).round() as u32))
    }
}

/// How far one kernel fills the device, where its event says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Estimate {
    pub(crate) sm: Option<Share>,
    pub(crate) occupancy: Option<Share>,
}

impl Estimate {
    pub(crate) fn is_empty(self) -> bool {
        self == Estimate::default()
    }
}

/// Looks up the estimates of events that come nearly in the order of their rows.
pub(crate) struct Estimates<'a> {
    rows: &'a [Row],
    blocks_per_sm: &'a ArgColumn,
    occupancy: &'a ArgColumn,
    next: usize,
}

impl<'a> Estimates<'a> {
    pub(crate) fn new(trace: &'a Trace) -> Estimates<'a> {
        let args = &trace.args;
        Estimates {
            rows: args.table(Group::Launch).rows(),
            blocks_per_sm: args.column(Arg::BlocksPerSm),
            occupancy: args.column(Arg::Occupancy),
            next: 0,
        }
    }

    #[inline]
    pub(crate) fn of(&mut self, row: Row) -> Estimate {
        let place = if self.rows.get(self.next) == Some(&row) { Some(self.next) } else { self.find(row) };
        let Some(place) = place else { return Estimate::default() };
        self.next = place + 1;
        let part = |column: &ArgColumn| column.get(place).map(|slot| f64::from(float_from_slot(slot)));
        Estimate {
            sm: part(self.blocks_per_sm).and_then(Share::new),
            occupancy: part(self.occupancy).and_then(|percent| Share::new(percent / 100.0)),
        }
    }

    /// Searches from the last place outwards: streams take turns, but do not stray far.
    fn find(&self, row: Row) -> Option<usize> {
        let (rows, from) = (self.rows, self.next.min(self.rows.len()));
        let (mut low, mut high) = (from, from);
        let mut reach = 1;
        while high < rows.len() && rows[high] < row {
            (low, high) = (high, high.saturating_add(reach).min(rows.len()));
            reach *= 2;
        }
        while low > 0 && rows[low - 1] >= row {
            (high, low) = (low, low.saturating_sub(reach));
            reach *= 2;
        }
        let high = (high + 1).min(rows.len());
        rows[low..high].binary_search(&row).ok().map(|place| low + place)
    }
}

/// The filled part of some time, to be added up over devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fill {
    /// Nanoseconds times millionths.
    filled: i128,
    time: Ns,
}

impl Fill {
    pub(crate) fn add(&mut self, other: Fill) {
        self.filled += other.filled;
        self.time += other.time;
    }

    /// `None` if no kernel said how far it fills the device.
    pub(crate) fn pct(self) -> Option<f64> {
        (self.time > Ns::ZERO)
            .then(|| 100.0 * self.filled as f64 / (self.time.as_f64() * Share::WHOLE as f64))
    }
}

/// One estimate over the kernels that run at the moment and carry it.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    kernels: u32,
    sum: i64,
    fill: Fill,
}

impl Running {
    fn start(&mut self, share: Option<Share>) {
        if let Some(share) = share {
            self.kernels += 1;
            self.sum += i64::from(share.0);
        }
    }

    fn end(&mut self, share: Option<Share>) {
        if let Some(share) = share {
            self.kernels -= 1;
            self.sum -= i64::from(share.0);
        }
    }

    fn pass(&mut self, time: Ns) {
        if self.kernels > 0 {
            self.fill.filled += i128::from(time.0) * i128::from(self.sum.min(Share::WHOLE));
            self.fill.time += time;
        }
    }
}

/// Adds up the kernels of one device, which come in order of their start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Device {
    /// By their end, the next first.
    running: BinaryHeap<Reverse<(Ns, Estimate)>>,
    now: Ns,
    sm: Running,
    occupancy: Running,
}

impl Device {
    #[inline]
    pub(crate) fn run(&mut self, time: Interval, estimate: Estimate) {
        if estimate.is_empty() {
            return;
        }
        while self.running.peek().is_some_and(|next| next.0.0 <= time.start) {
            self.end_next();
        }
        self.pass_until(time.start);
        self.sm.start(estimate.sm);
        self.occupancy.start(estimate.occupancy);
        self.running.push(Reverse((time.end, estimate)));
    }

    /// The multiprocessors' share and the occupancy.
    pub(crate) fn finish(mut self) -> (Fill, Fill) {
        while !self.running.is_empty() {
            self.end_next();
        }
        (self.sm.fill, self.occupancy.fill)
    }

    fn end_next(&mut self) {
        if let Some(Reverse((end, estimate))) = self.running.pop() {
            self.pass_until(end);
            self.sm.end(estimate.sm);
            self.occupancy.end(estimate.occupancy);
        }
    }

    fn pass_until(&mut self, until: Ns) {
        let time = until - self.now;
        self.sm.pass(time);
        self.occupancy.pass(time);
        self.now = until;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Kernel = (i64, i64, f64);

    /// By multiprocessors, and by occupancy, which only every kernel of a second list carries.
    fn pcts(kernels: &[Kernel], occupied: &[Kernel]) -> (Option<f64>, Option<f64>) {
        let of = |list: &[Kernel], which: fn(Option<Share>) -> Estimate| {
            list.iter().map(|&(a, b, part)| (a, b, which(Share::new(part)))).collect::<Vec<_>>()
        };
        let mut all = of(kernels, |sm| Estimate { sm, ..Estimate::default() });
        all.extend(of(occupied, |occupancy| Estimate { occupancy, ..Estimate::default() }));
        all.sort_by_key(|kernel| kernel.0);
        let mut device = Device::default();
        for (a, b, estimate) in all {
            device.run(Interval::new(Ns(a), Ns(b)), estimate);
        }
        let (sm, occupancy) = device.finish();
        (sm.pct(), occupancy.pct())
    }

    fn pct(kernels: &[Kernel]) -> Option<f64> {
        pcts(kernels, &[]).0
    }

    #[test]
    fn the_mean_is_over_the_time_of_kernels_only() {
        assert_eq!(pct(&[(0, 10, 0.5), (90, 100, 1.0)]), Some(75.0));
        assert_eq!(pct(&[(0, 10, 4.0)]), Some(100.0));
        assert_eq!(pct(&[(0, 0, 1.0)]), None);
        assert_eq!(pct(&[(0, 10, f64::NAN), (0, 10, -1.0)]), None);
    }

    #[test]
    fn kernels_side_by_side_add_up_to_at_most_all_of_the_device() {
        // 0..10 half, 10..20 all (half and three quarters), 20..30 three quarters.
        assert_eq!(pct(&[(0, 20, 0.5), (10, 30, 0.75)]), Some(75.0));
        // One inside another, then a touching one.
        assert_eq!(
            pct(&[(0, 8, 0.25), (2, 4, 0.25), (8, 16, 0.5)]),
            Some(100.0 * (0.25 * 6.0 + 1.0 + 4.0) / 16.0)
        );
    }

    fn kernels() -> impl Strategy<Value = Vec<Kernel>> {
        let kernel = (0..40i64, 0..12i64, 0..6u8).prop_map(|(a, d, part)| (a, a + d, f64::from(part) / 4.0));
        proptest::collection::vec(kernel, 0..10)
    }

    proptest! {
        #[test]
        fn the_two_estimates_do_not_meddle_with_each_other(kernels in kernels(), occupied in kernels()) {
            let apart = (pcts(&kernels, &[]).0, pcts(&[], &occupied).1);
            prop_assert_eq!(pcts(&kernels, &occupied), apart);
        }

        #[test]
        fn a_row_is_found_wherever_the_last_one_was(rows in proptest::collection::btree_set(0..80u32, 0..40)) {
            let rows: Vec<Row> = rows.into_iter().collect();
            let empty = ArgColumn::default();
            for next in 0..=rows.len() {
                let table = Estimates { rows: &rows, blocks_per_sm: &empty, occupancy: &empty, next };
                for row in 0..81 {
                    prop_assert_eq!(table.find(row), rows.binary_search(&row).ok());
                }
            }
        }
    }
}
