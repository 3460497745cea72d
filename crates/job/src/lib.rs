//! Finds the inputs of a run, loads ranks in parallel and merges their answers.
//!
//! Which formats there are is the table of `gpuscope_formats`; nothing here knows one.

mod archive;
mod budget;
mod captures;
mod charts;
pub mod convert;
mod error;
mod folder;
mod graph_captures;
mod inputs;
mod kept;
mod load;
mod natural;
mod path_text;
mod ranks;
mod reopen;
mod run;
mod source;
mod unselected;

pub use budget::default_limit as default_memory;
pub use charts::ChartOptions;
pub use error::{Error, plain};
pub use folder::{FoundRun, RunFolder, Sort, Version};
pub use graph_captures::graph_captures_beside;
pub use load::Progress;
pub use path_text::text_of;
pub use run::{InputInfo, JobOptions, Outcome, Run, worst};
