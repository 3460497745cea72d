//! Finds the inputs of a run, loads ranks in parallel and merges their answers.
//!
//! A file that holds several ranks is read as one. The processes of a Kineto file's GPU events are its devices, so
//! a merged file cannot be told from one process that drives several devices; and even where labels name a rank,
//! merged files reuse correlation ids between ranks, so that a part of the rows would be linked to the launches
//! of another rank. Splitting such a file is sound only while its events are read, before they are linked.

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
mod unselected;

pub use error::{Error, plain};
pub use load::Progress;
pub use run::{InputInfo, JobOptions, Outcome, Run, worst};
