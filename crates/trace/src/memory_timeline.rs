//! How many bytes a job's tensors took over time, and what the tensors were for, as torch exports it beside a
//! trace (`export_memory_timeline`).

use serde::Serialize;

use crate::time::Ns;

/// What the bytes were for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum MemoryCategory {
    Parameter,
    #[serde(rename = "Optimizer state")]
    OptimizerState,
    Input,
    Temporary,
    Activation,
    Gradient,
    Autograd,
    Unknown,
}

impl MemoryCategory {
    /// In the order in which torch numbers them.
    pub const ALL: [MemoryCategory; 8] = [
        MemoryCategory::Parameter,
        MemoryCategory::OptimizerState,
        MemoryCategory::Input,
        MemoryCategory::Temporary,
        MemoryCategory::Activation,
        MemoryCategory::Gradient,
        MemoryCategory::Autograd,
        MemoryCategory::Unknown,
    ];

    /// The category with torch's number for it.
    pub fn of_number(number: i64) -> MemoryCategory {
        usize::try_from(number).ok().and_then(|i| Self::ALL.get(i)).copied().unwrap_or(Self::Unknown)
    }

    pub fn label(self) -> &'static str {
        match self {
            MemoryCategory::Parameter => "Parameter",
            MemoryCategory::OptimizerState => "Optimizer state",
            MemoryCategory::Input => "Input",
            MemoryCategory::Temporary => "Temporary",
            MemoryCategory::Activation => "Activation",
            MemoryCategory::Gradient => "Gradient",
            MemoryCategory::Autograd => "Autograd",
            MemoryCategory::Unknown => "Unknown",
        }
    }
}

/// More bytes of a category, or fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryChange {
    /// Below zero for what was there before recording began.
    pub time: Ns,
    pub bytes: i64,
    pub category: MemoryCategory,
}

/// The changes in the order of the file, which is that of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryTimeline {
    pub changes: Vec<MemoryChange>,
}
