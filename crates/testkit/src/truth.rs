//! What is true of a written job, in the terms a reader should answer in. All times are integer nanoseconds as written
//! in the files, unless a name says `true`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::fault::Fault;
use crate::plan::Clock;
use crate::purpose::Phase;

/// The truth of a whole job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Truth {
    /// Every simulated rank, in order, also those whose file is missing.
    pub ranks: Vec<RankTruth>,
    /// Every collective and transfer over all its members, in order of its group and sequence number.
    pub collectives: Vec<JobCollective>,
    pub lateness: Vec<Lateness>,
    /// The rank that was furthest behind in sum, inherited lateness left aside; none if no rank was behind for more than
    /// one per cent of the job.
    pub latest_rank: Option<u32>,
    pub faults: Vec<PlantedFault>,
    /// True time from the job's start to its last rank's end.
    pub true_makespan_ns: i64,
}

/// The truth of one rank's file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RankTruth {
    pub rank: u32,
    pub world_size: u32,
    /// Whether `write_job` writes this rank's file.
    pub written: bool,
    /// Elements of `traceEvents`.
    pub elements: u64,
    pub bytes: u64,
    /// Over all elements; `""` for those without a category.
    pub events_by_category: BTreeMap<String, u64>,
    pub device: u32,
    /// Over all duration events.
    pub start_ns: i64,
    pub end_ns: i64,
    pub total: BreakdownTruth,
    pub steps: Vec<StepTruth>,
    /// Per full name, by name.
    pub kernels: Vec<KernelTruth>,
    /// Per operator that launched anything, and per call that did so outside of any, by name.
    pub operators: Vec<OperatorTruth>,
    pub collectives: Vec<CollectiveTruth>,
    /// The process groups this rank belongs to and used, in order of their number.
    pub groups: Vec<GroupTruth>,
    /// By phase, those whose launching call is in the file.
    pub phases: Vec<PhaseTruth>,
    /// GPU work for each stack of modules in each phase, where the launching call is in the file.
    pub layers: Vec<LayerTruth>,
    pub gpu_events: u64,
    /// GPU events whose launching call is in the file.
    pub launched: u64,
    pub unlinked: u64,
    pub zero_length_gpu_events: u64,
    pub memory_peak: Option<MemoryPeak>,
    pub clock: Clock,
    /// Where planted faults held this rank's host, as written.
    pub fault_sites: Vec<FaultSpan>,
}

/// Time by what was active, as the `breakdown` command defines it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct BreakdownTruth {
    pub computation_ns: i64,
    pub comm_ns: i64,
    pub memcpy_ns: i64,
    pub exposed_comm_ns: i64,
    pub exposed_memcpy_ns: i64,
    pub busy_ns: i64,
    pub total_ns: i64,
    pub idle_ns: i64,
}

/// One `ProfilerStep#` and the GPU events launched inside it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepTruth {
    pub step: u32,
    /// The host annotation.
    pub start_ns: i64,
    pub end_ns: i64,
    pub breakdown: BreakdownTruth,
    pub flops: StepFlops,
    pub gpu_events: u64,
    pub wall_ns: i64,
    /// Last GPU end of this step less that of the step before.
    pub period_ns: Option<i64>,
    pub window_ns: i64,
    pub lead_idle_ns: i64,
    pub tail_idle_ns: i64,
}

/// Operations of matrix products and attention in one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StepFlops {
    /// Without what ran again: in a checkpointed block, and the scores of attention on its way back.
    pub model: u64,
    pub hardware: u64,
}

/// All launches of one GPU event name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelTruth {
    pub name: String,
    /// `COMPUTATION`, `COMMUNICATION` or `MEMORY`.
    pub kernel_type: &'static str,
    pub count: u64,
    pub sum_ns: i64,
    pub min_ns: i64,
    pub max_ns: i64,
}

/// All calls of an operator that put work on the GPU straight away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OperatorTruth {
    pub name: String,
    pub count: u64,
    /// The time of each call's GPU events united, then summed.
    pub direct_ns: i64,
    /// Of these, the calls that run again what was thrown away.
    pub recomputed: u64,
    pub recomputed_ns: i64,
    /// Operations of all calls, of matrix products and attention.
    pub flops: u64,
    pub recomputed_flops: u64,
}

/// GPU work for one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PhaseTruth {
    pub phase: Phase,
    pub count: u64,
    pub sum_ns: i64,
    /// Of these, launched as part of a graph.
    pub replayed: u64,
    pub replayed_ns: i64,
}

/// GPU work of one stack of modules in one phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LayerTruth {
    pub phase: Phase,
    /// The modules around it, outermost first: `nn.Module: Block_3`.
    pub modules: Vec<String>,
    pub count: u64,
    /// All but communication.
    pub compute_ns: i64,
    pub comm_ns: i64,
    /// Operations of matrix products and of attention.
    pub flops: u64,
}

/// One rank's communication in one process group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupTruth {
    pub group: String,
    pub description: &'static str,
    pub collectives: u64,
    /// The lengths of its parts summed, as written.
    pub comm_ns: i64,
    /// Time in which one of the group ran and no computation did.
    pub exposed_ns: i64,
}

/// One rank's part in a collective.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectiveTruth {
    pub group: String,
    pub group_ranks: Vec<u32>,
    pub seq: u64,
    pub name: &'static str,
    /// Source and destination, if point to point.
    pub peers: Option<(u32, u32)>,
    pub in_elements: i64,
    pub out_elements: i64,
    /// To each of the group, in order; empty where all get the same.
    pub sent_bytes: Vec<i64>,
    pub start_ns: i64,
    pub dur_ns: i64,
    pub true_start_ns: i64,
    pub true_end_ns: i64,
    /// From this rank's arrival to the last one's, in true time.
    pub true_wait_ns: i64,
    pub last_rank: u32,
    pub last_arrival_true_ns: i64,
    /// How far the last rank was behind the one before it.
    pub last_behind_ns: i64,
}

/// A collective over all its members, in true time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobCollective {
    pub group: String,
    pub seq: u64,
    pub name: &'static str,
    pub peers: Option<(u32, u32)>,
    pub members: Vec<u32>,
    pub last_rank: u32,
    /// Last arrival less first.
    pub skew_ns: i64,
    /// Last arrival less the one before it.
    pub last_behind_ns: i64,
    /// From the last arrival to the common end.
    pub transfer_ns: i64,
    /// How much of `last_behind_ns` is there because the last rank had itself waited longer than the second last for
    /// others in its other groups; carried on while it meets no other group in between. Always 0 for point-to-point
    /// transfers.
    pub inherited_ns: i64,
    /// The rank it waited for most there.
    pub inherited_from: Option<u32>,
}

/// How often and by how much one rank was the last in synchronising collectives; point-to-point transfers left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lateness {
    pub rank: u32,
    pub collectives: u64,
    pub arrived_last: u64,
    /// Of these, how often most of it was inherited from another group.
    pub inherited: u64,
    /// How far it was behind the one before it, summed, less what was inherited.
    pub behind_ns: i64,
    /// What it waited for others.
    pub wait_ns: i64,
}

/// The largest `Total Allocated`, and when it was first reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MemoryPeak {
    pub bytes: i64,
    pub at_ns: i64,
}

/// A stretch of host time that belongs to a planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FaultSpan {
    /// Its place in the plan's list.
    pub fault: usize,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// A planted fault, where it shows and what it costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlantedFault {
    pub code: &'static str,
    pub fault: Option<Fault>,
    pub rank: Option<u32>,
    pub step: Option<u32>,
    /// From its first to its last trace on the host of its rank, as written; the whole file if it has no place of its
    /// own.
    pub start_ns: i64,
    pub end_ns: i64,
    /// Host time that belongs to it, as written.
    pub host_ns: i64,
    /// How much longer the job takes than the same job without this fault, in true time. For `pipeline_bubble`: what
    /// this rank waited in sends and receives.
    pub lost_ns: i64,
    /// How much longer the median step of its rank takes than without it, by `period_ns`; rank 0's if it concerns all.
    pub step_lost_ns: i64,
    /// How much longer its rank's GPU idles over the whole file than without it; rank 0's if it concerns all.
    pub idle_ns: i64,
    /// The same for exposed communication.
    pub exposed_comm_ns: i64,
}
