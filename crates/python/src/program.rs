//! The command of the wheel: the same program as the binary.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};

use gpuscope_cli::Terminal;
use pyo3::prelude::*;

/// Runs the command line on `arguments` (those of the process without it) and returns its exit code.
#[pyfunction]
#[pyo3(signature = (arguments=None))]
pub(crate) fn main(py: Python<'_>, arguments: Option<Vec<OsString>>) -> PyResult<u8> {
    let sys = py.import("sys")?;
    let arguments = match arguments {
        Some(arguments) => arguments,
        None => sys.getattr("argv")?.extract::<Vec<OsString>>()?.into_iter().skip(1).collect(),
    };
    // Programs are recorded by the interpreter that has this package.
    let environment = py.import("os")?.getattr("environ")?;
    environment.call_method1("setdefault", ("GPUSCOPE_PYTHON", sys.getattr("executable")?))?;
    // Ctrl-C ends the program, as it does for one that is not written in Python. Only its main thread may say so.
    let signal = py.import("signal")?;
    let _ = signal.call_method1("signal", (signal.getattr("SIGINT")?, signal.getattr("SIG_DFL")?));
    gpuscope_files::discard_on_signals();
    let words = std::iter::once(OsString::from("gpuscope")).chain(arguments);
    let words: Vec<OsString> = words.collect();
    let exit = py.detach(|| {
        let mut out = BufWriter::new(io::stdout());
        let exit = gpuscope_cli::run(words, &mut out, &mut io::stderr(), Terminal::detect());
        // A reader that has gone away (`| head`) has seen what it wanted.
        let _ = out.flush();
        exit
    });
    Ok(exit.0)
}
