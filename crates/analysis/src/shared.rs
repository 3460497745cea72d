//! Small tools that know nothing of any question.

pub(crate) mod cover;
pub(crate) mod durations;
pub(crate) mod few_ranks;
pub mod gate;
pub(crate) mod grid;
pub(crate) mod inherit;
pub(crate) mod median;
pub(crate) mod owner;
pub(crate) mod recording;
pub(crate) mod runs;
pub(crate) mod spread;
pub(crate) mod text;
pub(crate) mod weighted;
