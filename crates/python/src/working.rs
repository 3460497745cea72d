//! Work that takes a while: other Python threads go on meanwhile, and Ctrl-C ends the waiting at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use pyo3::prelude::*;

use crate::errors;

/// How long a signal may wait to be seen.
const PATIENCE: Duration = Duration::from_millis(50);
/// As much as the main thread of a program has.
const STACK: usize = 8 << 20;

/// Runs `work` on a thread of its own. If a signal ends the waiting, the flag that `work` got is set: reading stops at
/// the next block, and what is left of the work ends by itself.
pub(crate) fn wait_for<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(Arc<AtomicBool>) -> T + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let (send, mut receive) = sync_channel(1);
    let flag = Arc::clone(&stop);
    let thread = std::thread::Builder::new().name("gpuscope".to_owned()).stack_size(STACK);
    thread.spawn(move || {
        // Nobody may be waiting any more.
        let _ = send.send(work(flag));
    })?;
    loop {
        let received;
        (receive, received) = py.detach(move || {
            let received = receive.recv_timeout(PATIENCE);
            (receive, received)
        });
        match received {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            }
            Err(RecvTimeoutError::Disconnected) => return Err(errors::bug(py)),
        }
    }
}
