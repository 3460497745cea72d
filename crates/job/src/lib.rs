//! Finds the inputs of a run, loads ranks in parallel and merges their answers.
//!
//! A file that holds several ranks is split by process where every process with GPU work names its rank (see
//! `Trace::into_ranks`); a merged file that does not say whose its processes are cannot be told from one process
//! that drives several devices, and is read as one rank.

mod archive;
mod budget;
mod captures;
mod charts;
mod compile_logs;
pub mod convert;
mod error;
mod folder;
mod graph_captures;
mod inputs;
mod kept;
mod load;
mod natural;
mod path_text;
mod peek;
mod ranks;
mod reopen;
mod run;
mod source;
mod unselected;

pub use budget::default_limit as default_memory;
pub use charts::ChartOptions;
pub use compile_logs::CompileLogs;
pub use error::{Error, plain};
pub use folder::{FoundRun, RunFolder, Sort, Version};
pub use graph_captures::graph_captures_beside;
pub use load::Progress;
pub use path_text::text_of;
pub use run::{InputInfo, JobOptions, Outcome, Run, worst};
