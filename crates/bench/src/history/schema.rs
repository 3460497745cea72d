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
        id INTEGER PRIMARY KEY,
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

pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let at = |source| failed(path, source);
    // Readers and a writer do not hinder each other; a commit is on the disk before it is said to be done.
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(at)?;
    if mode != "wal" {
        // Some network file systems cannot share memory: then the ordinary journal serves, and writers wait.
        connection.pragma_update(None, "journal_mode", "DELETE").map_err(at)?;
    }
    connection.pragma_update(None, "synchronous", "FULL").map_err(at)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(at)?;
    let known = MIGRATIONS.len() as i64;
    if version(connection).map_err(at)? == known {
        return owner(connection, path);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(at)?;
    // Another process may have been quicker.
    let found = version(&transaction).map_err(at)?;
    if found > known {
        return Err(Error::Newer { path: path.display().to_string(), found, known });
    }
    if found == 0 {
        let tables: i64 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(at)?;
        if tables > 0 {
            let reason = "found a database of another program".to_owned();
            return Err(Error::NotAHistory { path: path.display().to_string(), reason });
        }
    }
    for (done, migration) in (0..).zip(MIGRATIONS).skip(found as usize) {
        transaction.execute_batch(migration).map_err(at)?;
        transaction.pragma_update(None, "user_version", done + 1).map_err(at)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION).map_err(at)?;
    transaction.commit().map_err(at)
}

fn owner(connection: &Connection, path: &Path) -> Result<(), Error> {
    let owner: i64 = connection
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(|source| failed(path, source))?;
    if owner == APPLICATION {
        return Ok(());
    }
    let reason = "found a database of another program".to_owned();
    Err(Error::NotAHistory { path: path.display().to_string(), reason })
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
