//! The history of measured runs: one `SQLite` file, safe to be killed while writing and to be written by several at once.
//!
//! A run is a row with the place it was measured; a measurement is one number of it (a benchmark's latency, a kernel's
//! time), with its samples where they are known. Everything that is added at once is one transaction.

mod add;
mod ask;
mod schema;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::Error;

pub use add::{Added, Measurement, NewRun, fingerprint};
pub use ask::{Kept, Point, RunRow, Series, SeriesKey, Wanted};

/// How long a writer waits for another.
const PATIENCE: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub struct History {
    connection: Connection,
    path: PathBuf,
}

impl History {
    /// Made if it is not there, with the folders above it.
    pub fn open(path: &Path) -> Result<History, Error> {
        if path.is_dir() {
            return Err(a_folder(path));
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| Error::Unreadable { path: folder.display().to_string(), source })?;
        }
        let connection = Connection::open(path).map_err(|source| failed(path, source))?;
        History::prepared(connection, path)
    }

    /// One that is there; `None` if nothing was ever added. What cannot be written to can be read all the same.
    pub fn existing(path: &Path) -> Result<Option<History>, Error> {
        let Ok(about) = std::fs::metadata(path) else { return Ok(None) };
        if about.is_dir() {
            return Err(a_folder(path));
        }
        if about.len() == 0 {
            return Ok(None);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(path, flags).map_err(|source| failed(path, source));
        match opened.and_then(|connection| History::prepared(connection, path)) {
            Err(Error::Database { source, .. }) if is_read_only(&source) => {
                History::read_only(path).map(Some)
            }
            other => other.map(Some),
        }
    }

    fn read_only(path: &Path) -> Result<History, Error> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // Nobody writes where nobody can: no lock and no shared memory are needed, which need a folder to write to.
        let escaped = path.display().to_string().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let address = format!("file:{escaped}?immutable=1");
        let connection =
            Connection::open_with_flags(address, flags).map_err(|source| failed(path, source))?;
        schema::check(&connection, path)?;
        Ok(History { connection, path: path.to_owned() })
    }

    fn prepared(mut connection: Connection, path: &Path) -> Result<History, Error> {
        connection.busy_timeout(PATIENCE).map_err(|source| failed(path, source))?;
        schema::prepare(&mut connection, path)?;
        Ok(History { connection, path: path.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn failed(&self, source: rusqlite::Error) -> Error {
        failed(&self.path, source)
    }
}

fn a_folder(path: &Path) -> Error {
    Error::NotAHistory { path: path.display().to_string(), reason: "found a folder".to_owned() }
}

fn is_read_only(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(error.sqlite_error_code(), Some(ReadOnly | CannotOpen | PermissionDenied))
}

fn failed(path: &Path, source: rusqlite::Error) -> Error {
    let path = path.display().to_string();
    match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => {
            Error::NotAHistory { path, reason: "found a file that is no SQLite database".to_owned() }
        }
        _ => Error::Database { path, source },
    }
}

#[cfg(test)]
mod tests;
