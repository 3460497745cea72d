//! What repeated measurements say, worked out as everywhere else.

use gpuscope_bench::Summary;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Mean, spread, percentiles and the confidence interval of the mean, in the unit of the samples.
#[pyfunction]
#[pyo3(signature = (samples, confidence=0.95))]
pub(crate) fn summarize(py: Python<'_>, samples: Vec<f64>, confidence: f64) -> PyResult<Bound<'_, PyDict>> {
    let unsound = "samples: expected at least one, all of them finite numbers";
    let summary = Summary::of(&samples, confidence).ok_or_else(|| PyValueError::new_err(unsound))?;
    let numbers = [
        ("count", summary.count as f64),
        ("mean", summary.mean),
        ("std", summary.std),
        ("min", summary.min),
        ("median", summary.median),
        ("p95", summary.p95),
        ("p99", summary.p99),
        ("max", summary.max),
        ("ci_low", summary.ci_low),
        ("ci_high", summary.ci_high),
    ];
    let dict = PyDict::new(py);
    for (name, number) in numbers {
        dict.set_item(name, number)?;
    }
    Ok(dict)
}
