//! Builds traces with a known, planted truth.
//!
//! A [`Plan`] says what job to simulate and what goes wrong in it. [`write_job`] writes one Kineto trace per rank and
//! returns the [`Truth`]: what an exact reader must answer about these files, and what was planted where.
//! Nothing here depends on the readers it is meant to test.
//!
//! * [`text`] builds tiny traces by hand, for unit tests.
//! * [`mutate`] damages a trace's bytes, for tests of robustness.
//! * [`findings_page`] reads what the documentation says of each finding.

mod action;
mod backward;
mod by_group;
mod catalog;
mod change;
pub mod chrome;
mod cost;
mod costs;
mod emit;
mod engine;
mod event;
mod experts;
mod fault;
mod findings_page;
mod groups;
mod input;
mod job;
mod layers;
pub mod machine;
mod memory;
pub mod mutate;
mod operators;
mod plan;
mod planting;
mod preamble;
mod program;
mod purpose;
mod rank;
mod recompute;
pub mod rng;
mod shapes;
mod size;
mod small_kernels;
mod stalls;
mod sweep;
pub mod text;
mod transfers;
mod truth;
mod witness;
mod write;

pub use change::Change;
pub use fault::{Extent, Fault, StallCause};
pub use findings_page::{FindingSection, findings_page};
pub use plan::{BASE_TIME_NS, Clock, Detail, JOB_START_NS, Plan, Sharding};
pub use purpose::Phase;
pub use truth::{
    BreakdownTruth, CollectiveTruth, FaultSpan, GroupTruth, JobCollective, KernelTruth, Lateness, LayerTruth,
    MemoryPeak, PhaseTruth, PlantedFault, RankTruth, StepFlops, StepTruth, Truth,
};
pub use write::{Compression, file_name, files_of_others, truth, write_job, write_rank};

/// The job `gpuscope demo` writes: eight ranks of about 20 000 events, one of them slow, gradients reduced only after
/// the backward pass, and one data loader that stalls.
pub fn demo() -> Plan {
    Plan { layers: 10, steps: 6, seed: 7, ..Plan::healthy() }
        .with_straggler(5, 118)
        .with_exposed_all_reduce()
        .with_data_loader_stall(2, 13, 230_000_000)
        .with_events(20_000)
}
