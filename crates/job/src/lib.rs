//! Finds the inputs of a run, loads ranks in parallel and merges their answers.
//!
//! A file that holds several ranks is read as one: the processes of a Kineto file's GPU events are its devices,
//! so a merged file cannot be told from one process that drives several devices.

mod archive;
mod budget;
mod captures;
mod error;
mod inputs;
mod load;
mod natural;
mod peek;
mod ranks;
mod run;
mod source;

pub use error::Error;
pub use load::Progress;
pub use run::{InputInfo, JobOptions, Outcome, Run, worst};
