//! The core's writer of files for what Python writes: a file appears under its name only when it is whole.

use std::io::{self, Write};
use std::path::PathBuf;

use gpuscope_files::Privacy;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

#[pyclass(module = "gpuscope._native")]
#[derive(Debug)]
pub(crate) struct NewFile(Option<gpuscope_files::NewFile>);

#[pymethods]
impl NewFile {
    #[new]
    fn new(path: PathBuf, private: bool) -> PyResult<NewFile> {
        let privacy = if private { Privacy::Private } else { Privacy::AsUsual };
        let file = gpuscope_files::NewFile::create(&path, privacy).map_err(|error| raised(&error))?;
        Ok(NewFile(Some(file)))
    }

    fn write(&mut self, content: &[u8]) -> PyResult<usize> {
        self.file()?.write_all(content).map_err(|error| raised(&error))?;
        Ok(content.len())
    }

    fn flush(&mut self) -> PyResult<()> {
        self.file()?.flush().map_err(|error| raised(&error))
    }

    /// Puts it in its place.
    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        let file = self.0.take().ok_or_else(ended)?;
        py.detach(|| file.finish()).map_err(|error| raised(&error))?;
        Ok(())
    }

    /// Forgets it: what was there stays.
    fn discard(&mut self) {
        self.0 = None;
    }
}

impl NewFile {
    fn file(&mut self) -> PyResult<&mut gpuscope_files::NewFile> {
        self.0.as_mut().ok_or_else(ended)
    }
}

fn ended() -> PyErr {
    PyValueError::new_err("the file is finished")
}

/// With the system's code, by which Python chooses the class.
fn raised(error: &io::Error) -> PyErr {
    let words = gpuscope_job::plain(error);
    match error.raw_os_error() {
        Some(code) => PyOSError::new_err((code, words)),
        None => PyOSError::new_err(words),
    }
}
