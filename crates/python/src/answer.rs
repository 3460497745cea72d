//! What a command answered, as Python sees it.

use gpuscope_cli::session;
use gpuscope_figure::Figure;
use gpuscope_report::chart::plotly;
use gpuscope_report::chart::svg::{self, Dress};
use gpuscope_report::places;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::arrow::{Table, unsound};

#[pyclass(frozen, module = "gpuscope._native")]
#[derive(Debug)]
pub(crate) struct Answered {
    /// The exit code of the command: 1 if a gate or check found something.
    #[pyo3(get)]
    exit: u8,
    /// JSON lists, as in the envelope.
    #[pyo3(get)]
    inputs: String,
    #[pyo3(get)]
    quality: String,
    #[pyo3(get)]
    tables: Vec<Py<Table>>,
    #[pyo3(get)]
    charts: Vec<Chart>,
}

/// One figure.
#[pyclass(frozen, module = "gpuscope._native")]
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    title: String,
    #[pyo3(get)]
    summary: String,
    figure: Figure,
}

#[pymethods]
impl Chart {
    /// `{"data": […], "layout": {…}}`
    fn plotly(&self) -> String {
        plotly::figure(&self.figure).to_string()
    }

    fn svg(&self) -> String {
        svg::draw(&self.figure, &Dress::FILE)
    }
}

impl Answered {
    pub(crate) fn new(py: Python<'_>, answered: session::Answered) -> PyResult<Answered> {
        // Answers of many parts have tables of one name; files and Python tell them apart alike.
        let names = places(&answered.tables);
        let table = |(name, table): (&String, &gpuscope_table::Table)| {
            Py::new(py, Table::of(name, table).map_err(unsound)?)
        };
        let chart = |figure: Figure| Chart {
            name: figure.name.to_owned(),
            title: figure.title.clone(),
            summary: figure.summary.clone(),
            figure,
        };
        let json = |text: serde_json::Result<String>| {
            text.map_err(|error| PyRuntimeError::new_err(error.to_string()))
        };
        Ok(Answered {
            exit: answered.exit,
            inputs: json(serde_json::to_string(&answered.inputs))?,
            quality: json(serde_json::to_string(&answered.quality))?,
            tables: names.iter().zip(&answered.tables).map(table).collect::<PyResult<_>>()?,
            charts: answered.figures.into_iter().map(chart).collect(),
        })
    }
}
