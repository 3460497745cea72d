//! The catalogue of questions, for tests and tools.

use gpuscope_cli::catalog;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// All questions and their options, as JSON.
#[pyfunction]
pub(crate) fn catalogue() -> PyResult<String> {
    serde_json::to_string(&catalog::questions()).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
