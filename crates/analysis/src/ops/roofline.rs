//! The least time that work can take on a GPU: computing at its dense peak, or moving bytes at its memory bandwidth,
//! whichever is longer.

use gpuscope_work::{Engine, Precision, Work};
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    Compute,
    Memory,
}

impl Bound {
    pub(super) fn label(self) -> &'static str {
        match self {
            Bound::Compute => "compute",
            Bound::Memory => "memory",
        }
    }
}

/// What a GPU can do at best; nothing where it is not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// TFLOP/s without sparsity.
    pub peaks: Vec<(Precision, Engine, f64)>,
    pub memory_tb_per_s: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Roof {
    pub(super) ns: f64,
    pub(super) bound: Bound,
}

impl Limits {
    pub(super) fn peak(&self, precision: Precision, engine: Engine) -> Option<f64> {
        let found = self.peaks.iter().find(|(of, by, _)| (*of, *by) == (precision, engine));
        found.map(|(_, _, peak)| *peak).filter(|peak| *peak > 0.0)
    }

    /// Only if all that it depends on is known.
    pub(super) fn roof(&self, work: &Work) -> Option<Roof> {
        // A rate of 10^12 per second is one of 10^3 per nanosecond.
        let moving = work.bytes? as f64 / (self.memory_tb_per_s.filter(|rate| *rate > 0.0)? * 1e3);
        let computing = match work.flops {
            0 => 0.0,
            flops => flops as f64 / (self.peak(work.precision?, work.engine)? * 1e3),
        };
        let bound = if computing > moving { Bound::Compute } else { Bound::Memory };
        Some(Roof { ns: computing.max(moving), bound })
    }
}
