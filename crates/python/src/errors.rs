//! The one place where refusals of the core become exceptions of `gpuscope.errors`.

use gpuscope_cli::Exit;
use gpuscope_cli::session::Refusal;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

pub(crate) fn of(py: Python<'_>, refusal: &Refusal) -> PyErr {
    if refusal.stopped {
        return PyKeyboardInterrupt::new_err(());
    }
    let class = if refusal.exit == Exit::UNREADABLE { "InputError" } else { "UsageError" };
    let mut message = refusal.messages.join("\n");
    if let Some(hint) = &refusal.hint {
        message.push_str("\nhint: ");
        message.push_str(hint);
    }
    raise(py, class, message)
}

/// A panic of the core: its message is on standard error.
pub(crate) fn bug(py: Python<'_>) -> PyErr {
    let report =
        concat!("please report it, with the message above, at ", env!("CARGO_PKG_REPOSITORY"), "/issues");
    raise(py, "InternalError", format!("this is a bug in gpuscope {}; {report}", env!("CARGO_PKG_VERSION")))
}

fn raise(py: Python<'_>, class: &str, message: String) -> PyErr {
    let raised = || -> PyResult<PyErr> {
        let class = py.import("gpuscope.errors")?.getattr(class)?;
        Ok(PyErr::from_value(class.call1((message,))?))
    };
    raised().unwrap_or_else(|error| error)
}
