//! A file that hands something to another program of the same user, and goes when it is no longer needed.

use std::io::{self, Write};
use std::path::Path;

use tempfile::{Builder, TempPath};

use crate::litter;

/// Only the user can read it; it is deleted when dropped, and when a signal ends a process that
/// [wants that](crate::discard_on_signals).
#[derive(Debug)]
pub struct Handed(TempPath);

impl Handed {
    /// In the system's folder for such files. The ending tells the other program what it is.
    pub fn new(ending: &str, content: &str) -> io::Result<Handed> {
        let mut file = Builder::new().prefix("gpuscope-").suffix(ending).tempfile()?;
        file.write_all(content.as_bytes())?;
        litter::remember(file.path());
        Ok(Handed(file.into_temp_path()))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        litter::forget(&self.0);
    }
}
