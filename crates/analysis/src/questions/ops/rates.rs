//! How well the calls of one operator did together, whatever their arguments: what they did and moved by the GPU time
//! below them, over the calls whose work is known.

use gpuscope_trace::Ns;
use gpuscope_work::Work;

use super::roofline::{Bound, Limits, Roof};
use super::work::WorkOfOp;

/// An amount of some calls, and their time.
#[derive(Clone, Copy, Default)]
struct Sum {
    amount: f64,
    time: Ns,
}

impl Sum {
    fn add(&mut self, amount: f64, time: Ns) {
        self.amount += amount;
        self.time += time;
    }

    fn rate(&self) -> Option<f64> {
        (self.time > Ns::ZERO).then(|| self.amount / self.time.as_f64())
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct Rates {
    flops: Sum,
    bytes: Sum,
    /// Nanoseconds at best.
    at_best: Sum,
    at_best_computing: f64,
}

/// What a kind of call does, and how fast at best.
pub(super) struct OfKind<'w> {
    work: &'w Work,
    roof: Option<Roof>,
}

impl<'w> OfKind<'w> {
    pub(super) fn new(work: &'w Work, limits: &Limits) -> OfKind<'w> {
        OfKind { work, roof: limits.roof(work) }
    }
}

impl Rates {
    pub(super) fn add(&mut self, kind: &OfKind<'_>, time: Ns) {
        self.flops.add(kind.work.flops as f64, time);
        if let Some(bytes) = kind.work.bytes {
            self.bytes.add(bytes as f64, time);
        }
        if let Some(roof) = kind.roof {
            self.at_best.add(roof.ns, time);
            self.at_best_computing += if roof.bound == Bound::Compute { roof.ns } else { 0.0 };
        }
    }

    /// What is different from call to call stays unknown; bound is what takes most of the time at best.
    pub(super) fn work(&self) -> WorkOfOp {
        let is_computing = 2.0 * self.at_best_computing > self.at_best.amount;
        WorkOfOp {
            tflops_per_s: self.flops.rate().map(|rate| rate / 1e3),
            tb_per_s: self.bytes.rate().map(|rate| rate / 1e3),
            flops_per_byte: (self.bytes.amount > 0.0 && self.bytes.time == self.flops.time)
                .then(|| self.flops.amount / self.bytes.amount),
            pct_roofline: self.at_best.rate().map(|share| 100.0 * share),
            bound: self.at_best.rate().map(|_| if is_computing { Bound::Compute } else { Bound::Memory }),
            ..WorkOfOp::default()
        }
    }
}
