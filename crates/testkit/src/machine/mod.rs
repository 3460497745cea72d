//! A machine of its own: random jobs run on hosts and GPUs that behave as those of CUDA and HIP do, are recorded as a
//! profiler would record them, and run once more, changed, for the truth about what a change comes to.
//!
//! Nothing here knows how anything is explained or predicted. What is simulated is the machine: calls that cost host
//! time, launches that reach the GPU later, streams that run in order and side by side, bounded queues whose calls
//! block, copy engines, events between streams, copies that block, kernels that wait for other ranks.

mod author;
mod chance;
mod change;
mod gpu;
mod hardware;
mod host;
mod inference;
mod job;
mod kind;
mod kineto;
mod names;
mod program;
mod record;
mod shape;
mod simulation;
mod steps;
#[cfg(test)]
mod tests;
mod training;

pub use change::Change;
pub use hardware::Vendor;
pub use job::{Job, Outcome};
pub use kind::{JOB_KINDS, JobKind};
