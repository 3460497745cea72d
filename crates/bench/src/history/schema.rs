//! The tables, and how older files become newer ones.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::failed;
use crate::error::Error;

/// Marks a file as ours, as `SQLite` lets programs do: "GSCP".
const APPLICATION: i64 = 0x4753_4350;

/// Each makes the next version out of the one before; what has been released never changes.
const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE runs (
        -- Never used again: a number means one run.
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run_id TEXT NOT NULL UNIQUE,
        -- Microseconds since 1970, UTC.
        at INTEGER NOT NULL,
        project TEXT NOT NULL,
        label TEXT,
        source TEXT NOT NULL,
        device TEXT NOT NULL,
        revision TEXT,
        metadata TEXT NOT NULL
    ) STRICT;
    CREATE INDEX runs_by_time ON runs (project, at);
    CREATE TABLE measurements (
        run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        benchmark TEXT NOT NULL,
        -- 0 where it means nothing.
        batch INTEGER NOT NULL,
        seq_len INTEGER NOT NULL,
        metric TEXT NOT NULL,
        unit TEXT NOT NULL,
        better TEXT NOT NULL,
        value REAL NOT NULL,
        low REAL,
        high REAL,
        -- Doubles, little end first.
        samples BLOB,
        config TEXT,
        PRIMARY KEY (run, benchmark, batch, seq_len, metric)
    ) STRICT, WITHOUT ROWID;
"];

/// What a file is, found out without writing to it.
enum Found {
    Empty,
    /// Of this version.
    Ours(i64),
    Foreign,
}

/// All from one snapshot: another process may be making the tables.
fn found(connection: &Connection) -> rusqlite::Result<Found> {
    if !connection.is_autocommit() {
        return found_now(connection);
    }
    let snapshot = connection.unchecked_transaction()?;
    let found = found_now(&snapshot)?;
    snapshot.finish()?;
    Ok(found)
}

fn found_now(connection: &Connection) -> rusqlite::Result<Found> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (version, application) = (number("user_version")?, number("application_id")?);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (application, version) {
        (APPLICATION, version) if version > 0 => Found::Ours(version),
        (0, 0) if tables == 0 => Found::Empty,
        _ => Found::Foreign,
    })
}

/// The version to go on from; files of others are refused and left as they are.
fn version(connection: &Connection, path: &Path) -> Result<i64, Error> {
    let known = MIGRATIONS.len() as i64;
    let path_name = || path.display().to_string();
    match found(connection).map_err(|source| failed(path, source))? {
        Found::Empty => Ok(0),
        Found::Ours(found) if found > known => Err(Error::Newer { path: path_name(), found, known }),
        Found::Ours(found) => Ok(found),
        Found::Foreign => {
            let reason = "found a database of another program".to_owned();
            Err(Error::NotAHistory { path: path_name(), reason })
        }
    }
}

/// For one that is only read.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), Error> {
    if version(connection, path)? == MIGRATIONS.len() as i64 {
        return Ok(());
    }
    let reason = "found one of an older version that cannot be written to".to_owned();
    Err(Error::NotAHistory { path: path.display().to_string(), reason })
}

pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let at = |source| failed(path, source);
    let before = version(connection, path)?;
    // Readers and a writer do not hinder each other; a commit is on the disk before it is said to be done.
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(at)?;
    if mode != "wal" {
        // Some network file systems cannot share memory: then the ordinary journal serves, and writers wait.
        connection.pragma_update(None, "journal_mode", "DELETE").map_err(at)?;
    }
    connection.pragma_update(None, "synchronous", "FULL").map_err(at)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(at)?;
    if before == MIGRATIONS.len() as i64 {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(at)?;
    // Another process may have been quicker.
    let done_before = version(&transaction, path)?;
    for (done, migration) in (0..).zip(MIGRATIONS).skip(done_before as usize) {
        transaction.execute_batch(migration).map_err(at)?;
        transaction.pragma_update(None, "user_version", done + 1).map_err(at)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(at)?;
    transaction.commit().map_err(at)
}
