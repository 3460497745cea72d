//! `gpuscope._native`: what the Python package asks of the core. It opens traces, puts commands to them and hands tables
//! over as Arrow; what an answer means is decided elsewhere.
#![allow(clippy::needless_pass_by_value, reason = "the interpreter hands its arguments over by value")]

mod answer;
mod arrow;
mod catalogue;
mod errors;
mod events;
mod files;
mod measured;
mod program;
mod traces;
mod working;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::answer::{Answered, Chart};
    #[pymodule_export]
    use super::arrow::Table;
    #[pymodule_export]
    use super::catalogue::catalogue;
    #[pymodule_export]
    use super::files::NewFile;
    #[pymodule_export]
    use super::measured::summarize;
    #[pymodule_export]
    use super::program::main;
    #[pymodule_export]
    use super::traces::Traces;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
