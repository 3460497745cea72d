//! Measured runs: what repeated measurements say, how two of them differ, whether the newest got worse, and their history
//! in a database that survives being killed. Knows nothing of traces: a measured value is a value.

pub mod changes;
pub mod compare;
pub mod data;
mod error;
pub mod gate;
pub mod history;
mod metric;
pub mod overview;
mod permutation;
mod random;
mod summary;
pub mod time;
pub mod trend;

pub use error::Error;
pub use history::History;
pub use metric::{Better, KERNEL_TIME, Metric};
pub use permutation::two_sets;
pub use summary::Summary;
