//! The types of kernels, and the time in which each combination of them ran.

use gpuscope_trace::{Interval, Kind, Ns};
use serde::Serialize;

use crate::shared::cover::Cover;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum KernelType {
    Computation,
    Communication,
    Memory,
}

impl KernelType {
    pub const ALL: [KernelType; 3] = [KernelType::Computation, KernelType::Communication, KernelType::Memory];

    pub fn of(kind: Kind) -> KernelType {
        match kind {
            Kind::Computation => KernelType::Computation,
            Kind::Communication => KernelType::Communication,
            Kind::Memcpy | Kind::Memset => KernelType::Memory,
        }
    }

    pub fn label(self) -> &'static str {
        match self {
            KernelType::Computation => "COMPUTATION",
            KernelType::Communication => "COMMUNICATION",
            KernelType::Memory => "MEMORY",
        }
    }
}

/// Combinations of types, as bits in the order of [`KernelType::ALL`].
pub(super) type Combinations = [Ns; 8];

pub(super) fn label(mask: usize) -> String {
    let active = KernelType::ALL.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1);
    active.map(|(_, kernel_type)| kernel_type.label()).collect::<Vec<_>>().join(" overlapping ")
}

/// For each set of types, as bits, the time in which any of them ran.
#[derive(Debug, Default)]
pub(super) struct Unions([Cover; 8]);

impl Unions {
    /// Takes in an event that starts no earlier than those before it.
    #[inline]
    pub(super) fn add(&mut self, kernel_type: KernelType, time: Interval) {
        let bit = 1 << kernel_type as usize;
        for (_, cover) in self.0.iter_mut().enumerate().filter(|(mask, _)| mask & bit != 0) {
            cover.add(time);
        }
    }

    /// The time in which each combination of types ran, and nothing else.
    pub(super) fn combinations(&self) -> Combinations {
        const ALL: usize = 7;
        // The time in which something ran, but nothing that is not in the set.
        let within = |mask: usize| self.0[ALL].len() - self.0[ALL & !mask].len();
        let mut times = Combinations::default();
        // A set comes after all that it holds: what is left of its time is its own.
        for mask in 1..=ALL {
            let of_parts: Ns = (1..mask).filter(|part| part & mask == *part).map(|part| times[part]).sum();
            times[mask] = within(mask) - of_parts;
        }
        times
    }
}
