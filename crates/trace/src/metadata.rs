//! What a trace says about itself besides its events.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::time::Ns;

/// One entry of `deviceProperties`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Device {
    pub id: i64,
    pub name: Option<String>,
    pub memory_bytes: Option<i64>,
    pub compute_major: Option<i64>,
    pub compute_minor: Option<i64>,
    pub max_threads_per_block: Option<i64>,
    pub max_threads_per_multiprocessor: Option<i64>,
    pub registers_per_block: Option<i64>,
    pub registers_per_multiprocessor: Option<i64>,
    pub warp_size: Option<i64>,
    pub shared_memory_per_block: Option<i64>,
    pub shared_memory_per_block_optin: Option<i64>,
    pub shared_memory_per_multiprocessor: Option<i64>,
    pub multiprocessors: Option<i64>,
}

/// One entry of `distributedInfo.pg_config`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProcessGroup {
    pub name: String,
    pub description: Option<String>,
    pub backend: Option<String>,
    pub size: Option<i64>,
    pub ranks: Vec<i64>,
    /// The list of ranks was cut off by the producer.
    pub ranks_cut: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distributed {
    pub backend: Option<String>,
    pub rank: Option<i64>,
    pub world_size: Option<i64>,
    pub nccl_version: Option<String>,
    pub groups: Vec<ProcessGroup>,
}

/// What the profiler was asked to record; `None` where the trace does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recording {
    pub shapes: Option<bool>,
    pub stacks: Option<bool>,
    pub memory: Option<bool>,
    pub modules: Option<bool>,
    pub flops: Option<bool>,
}

/// Which program recorded the trace, as far as advice on recording differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recorder {
    #[default]
    TorchProfiler,
    NsightSystems,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Metadata {
    pub recorder: Recorder,
    pub devices: Vec<Device>,
    pub distributed: Option<Distributed>,
    pub recording: Recording,
    /// Added to an event's time it gives the time since the epoch; kept apart so that times stay as written.
    pub base_time_ns: Option<i64>,
    /// When the recording began, if that is known whatever was recorded.
    pub began: Option<Ns>,
    pub host_name: Option<String>,
    pub trace_id: Option<String>,
    pub trace_name: Option<String>,
    pub schema_version: Option<i64>,
    pub display_time_unit: Option<String>,
    /// `cuda_runtime_version`, `hip_driver_version`, `cupti_version`, …
    pub versions: BTreeMap<String, String>,
    /// Every other top-level entry that is a plain value.
    pub other: BTreeMap<String, String>,
    /// Log lines the producer left in the file.
    pub log: Vec<String>,
}
