//! Engines that several questions use: what waited for what, which clocks agree, how long a step takes.

pub mod clocks;
pub(crate) mod doing;
pub(crate) mod efficiency;
pub(crate) mod engine;
pub(crate) mod graph;
pub(crate) mod job;
pub(crate) mod launch_queue;
pub(crate) mod lost;
pub(crate) mod sm_fill;
pub(crate) mod start_up;
pub mod step_time;
pub(crate) mod syncs;
pub(crate) mod typical;
