//! Open traces: asked again and again, read once.

use std::sync::Arc;

use gpuscope_cli::Terminal;
use gpuscope_cli::session::{self, Asking, OpenRun, Refusal, Wanted};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::answer::Answered;
use crate::arrow::{Table, unsound};
use crate::working::wait_for;
use crate::{errors, events};

#[pyclass(frozen, module = "gpuscope._native")]
#[derive(Debug)]
pub(crate) struct Traces(Arc<OpenRun>);

#[pymethods]
impl Traces {
    #[new]
    fn new(py: Python<'_>, paths: Vec<String>, flags: Vec<String>) -> PyResult<Traces> {
        let open = move |_| OpenRun::open(&paths, &flags);
        Traces::of(py, wait_for(py, open)?)
    }

    /// From the text of a file.
    #[staticmethod]
    fn of_text(py: Python<'_>, text: PyBackedBytes, name: String, flags: Vec<String>) -> PyResult<Traces> {
        let open = move |_| OpenRun::of_text(&text, &name, &flags);
        Traces::of(py, wait_for(py, open)?)
    }

    /// As arguments name these traces.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// The same under another name.
    fn renamed(&self, name: &str) -> Traces {
        Traces(Arc::new(self.0.renamed(name)))
    }

    /// Puts a command to these traces (and `others` that its arguments name); `wanted` is `tables` or `figures`.
    #[pyo3(signature = (arguments, wanted, others=Vec::new()))]
    fn ask(
        &self,
        py: Python<'_>,
        arguments: Vec<String>,
        wanted: &str,
        others: Vec<Bound<'_, Traces>>,
    ) -> PyResult<Answered> {
        let wanted = match wanted {
            "tables" => Wanted::Tables,
            "figures" => Wanted::Figures,
            other => return Err(PyValueError::new_err(format!("wanted: tables or figures, not {other}"))),
        };
        let answered = self.put(py, arguments, wanted, Terminal::none(), &others)?;
        Answered::new(py, answered)
    }

    /// What a command prints on a terminal of this width, and its exit code; files are written as its arguments say.
    #[pyo3(signature = (arguments, width=100, pictures=false, others=Vec::new()))]
    fn text(
        &self,
        py: Python<'_>,
        arguments: Vec<String>,
        width: usize,
        pictures: bool,
        others: Vec<Bound<'_, Traces>>,
    ) -> PyResult<(String, u8)> {
        let terminal = Terminal { width, pictures, ..Terminal::none() };
        let answered = self.put(py, arguments, Wanted::Text, terminal, &others)?;
        let text =
            String::from_utf8(answered.text).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok((text, answered.exit))
    }

    /// Reads what is not in memory yet.
    fn load(&self, py: Python<'_>) -> PyResult<()> {
        let open = Arc::clone(&self.0);
        let read = wait_for(py, move |stop| open.run(stop, None).load().map_err(Refusal::from))?;
        read.map_err(|refusal| errors::of(py, &refusal))
    }

    /// The events of each rank, or of one; with every argument that is kept, if wanted.
    #[pyo3(signature = (rank=None, arguments=false))]
    fn events(&self, py: Python<'_>, rank: Option<u32>, arguments: bool) -> PyResult<Vec<(u32, Table)>> {
        let open = Arc::clone(&self.0);
        let read = wait_for(py, move |stop| {
            let run = open.run(stop, rank);
            let found = run.each(|rank, view| (rank, events::table(view, arguments)));
            found.map_err(Refusal::from)
        })?;
        let tables = read.map_err(|refusal| errors::of(py, &refusal))?.answer;
        tables.into_iter().map(|(rank, table)| Ok((rank, table.map_err(unsound)?))).collect()
    }
}

impl Traces {
    fn of(py: Python<'_>, opened: Result<OpenRun, Refusal>) -> PyResult<Traces> {
        opened.map(|run| Traces(Arc::new(run))).map_err(|refusal| errors::of(py, &refusal))
    }

    fn put(
        &self,
        py: Python<'_>,
        arguments: Vec<String>,
        wanted: Wanted,
        terminal: Terminal,
        others: &[Bound<'_, Traces>],
    ) -> PyResult<session::Answered> {
        let mut runs = vec![Arc::clone(&self.0)];
        runs.extend(others.iter().map(|other| Arc::clone(&other.get().0)));
        let answered = wait_for(py, move |stop| {
            let runs: Vec<&OpenRun> = runs.iter().map(AsRef::as_ref).collect();
            session::ask(&runs, &arguments, &Asking { wanted, terminal, stop, ..Asking::default() })
        })?;
        answered.map_err(|refusal| errors::of(py, &refusal))
    }
}
