//! What a file may hold other than events.

use crate::compile_log::CompileLog;
use crate::memory_timeline::MemoryTimeline;

/// What a file holds. Each question says which of these it is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holds {
    /// What ran when.
    #[default]
    Events,
    /// How many bytes were allocated for what.
    MemoryTimeline,
    /// What torch.compile did.
    CompileLog,
    /// What was measured of single kernels.
    Metrics,
    /// Kernels by name, added up.
    KernelSums,
}

impl Holds {
    pub const ALL: &'static [Holds] =
        &[Holds::Events, Holds::MemoryTimeline, Holds::CompileLog, Holds::Metrics, Holds::KernelSums];
}

/// What is in a file instead of events.
#[derive(Debug)]
pub enum Payload {
    MemoryTimeline(MemoryTimeline),
    CompileLog(CompileLog),
    Metrics(Metrics),
    KernelSums(Vec<KernelSum>),
}

impl Payload {
    pub fn holds(&self) -> Holds {
        match self {
            Payload::MemoryTimeline(_) => Holds::MemoryTimeline,
            Payload::CompileLog(_) => Holds::CompileLog,
            Payload::Metrics(_) => Holds::Metrics,
            Payload::KernelSums(_) => Holds::KernelSums,
        }
    }
}

/// What Nsight Compute measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    /// In the order in which they ran.
    pub launches: Vec<MeasuredLaunch>,
    pub metrics: Vec<Metric>,
    pub rules: Vec<MetricRule>,
}

/// One launch that was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeasuredLaunch {
    pub id: i64,
    pub kernel: String,
    /// As a trace has it: `[24, 1, 1]`.
    pub grid: Option<[i64; 3]>,
    pub block: Option<[i64; 3]>,
    pub device: Option<i64>,
    /// `9.0`
    pub compute_capability: Option<String>,
}

/// One value of one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Which of the launches.
    pub launch: u32,
    pub section: String,
    /// What of a section with several it is, such as one roof of a roofline.
    pub label: Option<String>,
    pub name: String,
    /// As it was written; values are not converted.
    pub unit: String,
    pub value: MetricValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MetricValue {
    Int(i64),
    Number(f64),
    Text(String),
    Absent,
}

impl MetricValue {
    pub fn number(&self) -> Option<f64> {
        match self {
            MetricValue::Int(value) => Some(*value as f64),
            MetricValue::Number(value) => Some(*value),
            MetricValue::Text(_) | MetricValue::Absent => None,
        }
    }
}

/// What a rule says of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricRule {
    pub launch: u32,
    pub section: String,
    pub rule: String,
    /// `OPT` (something to do), `INF` (to know), `WRN`.
    pub sort: String,
    pub description: String,
    pub estimated_speedup_pct: Option<f64>,
}

/// All launches of one kernel, added up by another program.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSum {
    pub name: String,
    pub count: u64,
    pub sum_ns: i64,
    pub mean_ns: f64,
    pub min_ns: i64,
    pub max_ns: i64,
    pub std_ns: f64,
}
