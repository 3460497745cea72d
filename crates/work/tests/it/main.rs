//! Work models on what real traces have, and on anything else.
#![expect(clippy::print_stderr, reason = "a skipped test says so")]

mod devices;
mod hostile;
mod identities;
mod oracle;
mod peers;

use std::path::PathBuf;

/// The corpus folder, or `None` (said loudly) where it is not given.
fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("GPUSCOPE_CORPUS");
    if folder.is_none() {
        eprintln!("skipped: GPUSCOPE_CORPUS is not set, so no real trace is read");
    }
    folder.map(PathBuf::from)
}
