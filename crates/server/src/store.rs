//! What is kept from one start to the next, in one file: overviews, hashes of contents, answers as far as there is
//! room, and what people wrote. All but the last can be found out again.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, params};

use crate::asker::Overview;

/// Another build may answer otherwise.
const BUILD: &str = env!("CARGO_PKG_VERSION");

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS overview(version TEXT, build TEXT, content TEXT, PRIMARY KEY(version, build)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS contents(version TEXT PRIMARY KEY, hash TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answer(key TEXT, build TEXT, bytes BLOB, size INTEGER, used INTEGER, PRIMARY KEY(key, build)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS answer_used ON answer(used);
CREATE TABLE IF NOT EXISTS written(run TEXT PRIMARY KEY, tags TEXT, note TEXT) WITHOUT ROWID;
";

/// What people say of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) tags: Vec<String>,
    pub(crate) note: String,
}

#[derive(Debug)]
pub(crate) struct Store {
    database: Mutex<Connection>,
    /// Bytes that answers may take.
    room: i64,
}

impl Store {
    /// In memory, if there is no place for a file.
    pub(crate) fn open(file: Option<&Path>, room: i64) -> rusqlite::Result<Store> {
        let database = match file {
            Some(file) => Connection::open(file)?,
            None => Connection::open_in_memory()?,
        };
        // Several servers may share a folder; a killed one leaves a whole file.
        database.pragma_update(None, "journal_mode", "wal")?;
        database.pragma_update(None, "synchronous", "normal")?;
        database.busy_timeout(std::time::Duration::from_secs(5))?;
        database.execute_batch(SCHEMA)?;
        Ok(Store { database: Mutex::new(database), room })
    }

    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        let database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        // What cannot be kept is found out again.
        work(&database).ok()
    }

    pub(crate) fn overview(&self, version: &str) -> Option<Overview> {
        let text: Option<String> = self.with(|database| {
            let words = "SELECT content FROM overview WHERE version = ?1 AND build = ?2";
            database.query_row(words, [version, BUILD], |row| row.get(0)).optional()
        })?;
        serde_json::from_str(&text?).ok()
    }

    pub(crate) fn keep_overview(&self, version: &str, overview: &Overview) {
        let Ok(text) = serde_json::to_string(overview) else { return };
        self.with(|database| {
            let words = "INSERT OR REPLACE INTO overview VALUES(?1, ?2, ?3)";
            database.execute(words, [version, BUILD, &text])
        });
    }

    pub(crate) fn hash(&self, version: &str) -> Option<String> {
        self.with(|database| {
            let words = "SELECT hash FROM contents WHERE version = ?1";
            database.query_row(words, [version], |row| row.get(0)).optional()
        })?
    }

    pub(crate) fn keep_hash(&self, version: &str, hash: &str) {
        self.with(|database| {
            database.execute("INSERT OR REPLACE INTO contents VALUES(?1, ?2)", [version, hash])
        });
    }

    pub(crate) fn answer(&self, key: &str) -> Option<Vec<u8>> {
        self.with(|database| {
            let words = "SELECT bytes FROM answer WHERE key = ?1 AND build = ?2";
            database.query_row(words, [key, BUILD], |row| row.get(0)).optional()
        })?
    }

    /// What was kept longest ago goes when there is no room.
    pub(crate) fn keep_answer(&self, key: &str, bytes: &[u8]) {
        let size = bytes.len() as i64;
        if size > self.room / 4 {
            return;
        }
        self.with(|database| {
            let words = "INSERT OR REPLACE INTO answer VALUES(?1, ?2, ?3, ?4, (SELECT COALESCE(MAX(used), 0) + 1 FROM answer))";
            database.execute(words, params![key, BUILD, bytes, size])?;
            database.execute(
                "DELETE FROM answer WHERE used <= (SELECT used FROM
                   (SELECT used, SUM(size) OVER (ORDER BY used DESC) AS sum FROM answer)
                 WHERE sum > ?1 ORDER BY used DESC LIMIT 1)",
                [self.room],
            )
        });
    }

    pub(crate) fn written(&self, run: &str) -> Written {
        let found = self.with(|database| {
            let words = "SELECT tags, note FROM written WHERE run = ?1";
            let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
            database.query_row(words, [run], read).optional()
        });
        let Some(Some((tags, note))) = found else { return Written::default() };
        Written { tags: tags.split(',').filter(|tag| !tag.is_empty()).map(str::to_owned).collect(), note }
    }

    pub(crate) fn write(&self, run: &str, written: &Written) -> bool {
        let tags = written.tags.join(",");
        let words = "INSERT OR REPLACE INTO written VALUES(?1, ?2, ?3)";
        self.with(|database| database.execute(words, [run, &tags, &written.note])).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.db");
        let overview = Overview { verdict: "fine".to_owned(), ..Overview::default() };
        let written = Written { tags: vec!["a".to_owned(), "b".to_owned()], note: "n".to_owned() };
        let store = Store::open(Some(&file), 1_000).unwrap();
        store.keep_overview("v", &overview);
        assert!(store.write("run", &written));
        drop(store);
        let store = Store::open(Some(&file), 1_000).unwrap();
        assert_eq!(store.overview("v"), Some(overview));
        assert_eq!(store.overview("w"), None);
        assert_eq!(store.written("run"), written);
        assert_eq!(store.written("other"), Written::default());
    }

    #[test]
    fn the_oldest_answers_make_room() {
        let store = Store::open(None, 1_000).unwrap();
        for key in ["a", "b", "c", "d", "e", "f"] {
            store.keep_answer(key, &[0; 200]);
        }
        let kept: Vec<_> = ["a", "b", "c", "d", "e", "f"].map(|key| store.answer(key).is_some()).into();
        assert_eq!(kept, [false, true, true, true, true, true]);
        store.keep_answer("large", &[0; 600]);
        assert!(store.answer("large").is_none(), "it would drive out all others");
    }
}
