//! What is measured: a name, a unit, and which way is better.

use gpuscope_table::Unit;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    Lower,
    Higher,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// `latency`, `throughput`, `kernel_time:gemm`.
    pub name: String,
    pub unit: Unit,
    pub better: Better,
}

/// The metrics that gpuscope measures itself. Those of one name only; time of kernels is by the kernel's name.
const KNOWN: [(&str, Unit, Better); 12] = [
    ("latency", Unit::Ns, Better::Lower),
    ("throughput", Unit::PerSecond, Better::Higher),
    ("peak_memory", Unit::Bytes, Better::Lower),
    ("bandwidth", Unit::BytesPerSecond, Better::Higher),
    ("step_time", Unit::Ns, Better::Lower),
    ("step_time_p99", Unit::Ns, Better::Lower),
    ("exposed_comm", Unit::Ns, Better::Lower),
    ("exposed_copies", Unit::Ns, Better::Lower),
    ("idle_share", Unit::Percent, Better::Lower),
    ("busy_share", Unit::Percent, Better::Higher),
    ("mfu", Unit::Percent, Better::Higher),
    ("gpu_time", Unit::Ns, Better::Lower),
];

/// What comes before the name of a kernel.
pub const KERNEL_TIME: &str = "kernel_time:";

impl Metric {
    pub fn known(name: &str) -> Option<Metric> {
        let kernel = name.strip_prefix(KERNEL_TIME).map(|_| (Unit::Ns, Better::Lower));
        let listed = || KNOWN.iter().find(|known| known.0 == name).map(|known| (known.1, known.2));
        let (unit, better) = kernel.or_else(listed)?;
        Some(Metric { name: name.to_owned(), unit, better })
    }

    /// The least change that anybody would look at: of times, sizes and shares.
    pub fn least_change(&self) -> f64 {
        match self.unit {
            Unit::Ns => 10_000.0,
            Unit::Bytes => 1_048_576.0,
            Unit::Percent => 0.5,
            _ => 0.0,
        }
    }
}

impl Better {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Better::Lower => "lower",
            Better::Higher => "higher",
        }
    }

    pub(crate) fn of(word: &str) -> Option<Better> {
        [Better::Lower, Better::Higher].into_iter().find(|better| better.word() == word)
    }
}
