//! How much of a device its kernels filled while they ran.
//!
//! A profiler notes with each kernel an estimate of how far it fills the device: its thread blocks per
//! streaming multiprocessor (1 or more: every multiprocessor has work) and its achieved occupancy. Here the
//! estimate is averaged over the time in which kernels that carry one ran: at each instant the estimates of
//! all kernels running on the device add up, to at most 100 %. Copies, idle time and kernels without an
//! estimate do not count, so the figure says how well busy time was used, never how much of it there was.
//! Several devices are averaged by their time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use gpuscope_trace::{Interval, Ns};

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

/// Adds up the kernels of one device, which come in order of their start.
#[derive(Debug, Default)]
pub(crate) struct Device {
    running: BinaryHeap<Reverse<(Ns, Share)>>,
    /// Of the running kernels' shares.
    sum: i64,
    now: Ns,
    fill: Fill,
}

impl Device {
    pub(crate) fn run(&mut self, time: Interval, share: Share) {
        while self.running.peek().is_some_and(|next| next.0.0 <= time.start) {
            self.end_next();
        }
        if self.running.is_empty() {
            self.now = time.start;
        }
        self.pass_until(time.start);
        self.sum += i64::from(share.0);
        self.running.push(Reverse((time.end, share)));
    }

    pub(crate) fn finish(mut self) -> Fill {
        while !self.running.is_empty() {
            self.end_next();
        }
        self.fill
    }

    fn end_next(&mut self) {
        if let Some(Reverse((end, share))) = self.running.pop() {
            self.pass_until(end);
            self.sum -= i64::from(share.0);
        }
    }

    fn pass_until(&mut self, until: Ns) {
        let time = until - self.now;
        self.fill.filled += i128::from(time.0) * i128::from(self.sum.min(Share::WHOLE));
        self.fill.time += time;
        self.now = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pct(kernels: &[(i64, i64, f64)]) -> Option<f64> {
        let mut device = Device::default();
        for &(a, b, part) in kernels {
            if let Some(share) = Share::new(part) {
                device.run(Interval::new(Ns(a), Ns(b)), share);
            }
        }
        device.finish().pct()
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
}
