//! What is kept from one start to the next, in one file: overviews, hashes of contents, answers as far as there is
//! room, and what people wrote. All but the last can be found out again.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use crate::asker::Overview;
use crate::build::build;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS overview(version TEXT, build TEXT, content TEXT, PRIMARY KEY(version, build)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS contents(version TEXT PRIMARY KEY, hash TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS written(run TEXT PRIMARY KEY, tags TEXT, note TEXT) WITHOUT ROWID;
";

/// Answers stand apart from what is said of them: bytes that nobody asks for are not walked over.
const ANSWERS: &str = "
DROP TABLE IF EXISTS answer;
CREATE TABLE IF NOT EXISTS kept(id INTEGER PRIMARY KEY, key TEXT, build TEXT, size INTEGER, used INTEGER, UNIQUE(key, build));
CREATE INDEX IF NOT EXISTS kept_used ON kept(used);
CREATE TABLE IF NOT EXISTS blob(id INTEGER PRIMARY KEY, bytes BLOB);
CREATE TABLE IF NOT EXISTS total(one INTEGER PRIMARY KEY CHECK(one = 1), bytes INTEGER);
INSERT OR IGNORE INTO total VALUES(1, 0);
";

/// What people say of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) tags: Vec<String>,
    pub(crate) note: String,
}

#[derive(Debug)]
pub(crate) struct Store {
    known: Mutex<Connection>,
    /// A connection of their own: while a large one is written, what is known of runs can be read.
    answers: Mutex<Connection>,
    /// Bytes that answers may take.
    room: i64,
}

impl Store {
    /// In memory, if there is no place for a file.
    pub(crate) fn open(file: Option<&Path>, room: i64) -> rusqlite::Result<Store> {
        let known = Mutex::new(connected(file, SCHEMA)?);
        Ok(Store { known, answers: Mutex::new(connected(file, ANSWERS)?), room })
    }

    /// What cannot be kept is found out again.
    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        work(&self.known.lock().unwrap_or_else(PoisonError::into_inner)).ok()
    }

    pub(crate) fn overview(&self, version: &str) -> Option<Overview> {
        let text: Option<String> = self.with(|database| {
            let words = "SELECT content FROM overview WHERE version = ?1 AND build = ?2";
            database.query_row(words, [version, build()], |row| row.get(0)).optional()
        })?;
        serde_json::from_str(&text?).ok()
    }

    pub(crate) fn keep_overview(&self, version: &str, overview: &Overview) {
        let Ok(text) = serde_json::to_string(overview) else { return };
        self.with(|database| {
            let words = "INSERT OR REPLACE INTO overview VALUES(?1, ?2, ?3)";
            database.execute(words, [version, build(), &text])
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
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let words = "SELECT id, bytes FROM kept JOIN blob USING(id) WHERE key = ?1 AND build = ?2";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?));
        let (id, bytes) = answers.query_row(words, [key, build()], read).optional().ok()??;
        // Where it cannot be said that it was asked for, it only goes sooner.
        let _ =
            answers.execute("UPDATE kept SET used = (SELECT MAX(used) + 1 FROM kept) WHERE id = ?1", [id]);
        Some(bytes)
    }

    /// What was asked for longest ago goes when there is no room.
    pub(crate) fn keep_answer(&self, key: &str, bytes: &[u8]) {
        let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        if size > self.room / 4 {
            return;
        }
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        // What cannot be kept is found out again.
        let _ = kept(&mut answers, key, bytes, size, self.room);
    }

    pub(crate) fn written(&self, run: &str) -> Written {
        let found = self.with(|database| {
            let words = "SELECT tags, note FROM written WHERE run = ?1";
            database
                .query_row(words, [run], |row| Ok(read_written(&row.get::<_, String>(0)?, row.get(1)?)))
                .optional()
        });
        found.flatten().unwrap_or_default()
    }

    /// By the ids of runs.
    pub(crate) fn all_written(&self) -> HashMap<String, Written> {
        let found = self.with(|database| {
            let mut words = database.prepare_cached("SELECT run, tags, note FROM written")?;
            let read = |row: &rusqlite::Row<'_>| {
                Ok((row.get(0)?, read_written(&row.get::<_, String>(1)?, row.get(2)?)))
            };
            words.query_map([], read)?.collect()
        });
        found.unwrap_or_default()
    }

    pub(crate) fn write(&self, run: &str, written: &Written) -> bool {
        let tags = written.tags.join(",");
        let words = "INSERT OR REPLACE INTO written VALUES(?1, ?2, ?3)";
        self.with(|database| database.execute(words, [run, &tags, &written.note])).is_some()
    }
}

fn connected(file: Option<&Path>, schema: &str) -> rusqlite::Result<Connection> {
    let database = match file {
        Some(file) => Connection::open(file)?,
        None => Connection::open_in_memory()?,
    };
    database.busy_timeout(Duration::from_secs(5))?;
    // Several servers may share a folder; a killed one leaves a whole file.
    database.pragma_update(None, "journal_mode", "wal")?;
    database.pragma_update(None, "synchronous", "normal")?;
    database.execute_batch(schema)?;
    Ok(database)
}

fn read_written(tags: &str, note: String) -> Written {
    Written { tags: tags.split(',').filter(|tag| !tag.is_empty()).map(str::to_owned).collect(), note }
}

/// In one transaction, so that the sum is always that of what is there.
fn kept(answers: &mut Connection, key: &str, bytes: &[u8], size: i64, room: i64) -> rusqlite::Result<()> {
    let change = answers.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let known = "SELECT id, size FROM kept WHERE key = ?1 AND build = ?2";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    if let Some((id, size)) = change.query_row(known, [key, build()], read).optional()? {
        dropped(&change, id, size)?;
    }
    let mut sum: i64 = change.query_row("SELECT bytes FROM total", [], |row| row.get(0))?;
    while sum + size > room {
        let oldest = "SELECT id, size FROM kept ORDER BY used LIMIT 1";
        let Some((id, size)) = change.query_row(oldest, [], read).optional()? else { break };
        sum -= size;
        dropped(&change, id, size)?;
    }
    let words = "INSERT INTO kept(key, build, size, used) VALUES(?1, ?2, ?3, (SELECT COALESCE(MAX(used), 0) + 1 FROM kept))";
    change.execute(words, params![key, build(), size])?;
    change.execute("INSERT INTO blob VALUES(?1, ?2)", params![change.last_insert_rowid(), bytes])?;
    change.execute("UPDATE total SET bytes = bytes + ?1", [size])?;
    change.commit()
}

fn dropped(change: &Connection, id: i64, size: i64) -> rusqlite::Result<()> {
    change.execute("DELETE FROM blob WHERE id = ?1", [id])?;
    change.execute("DELETE FROM kept WHERE id = ?1", [id])?;
    change.execute("UPDATE total SET bytes = bytes - ?1", [size])?;
    Ok(())
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

    fn sum(store: &Store) -> (i64, i64) {
        let answers = store.answers.lock().unwrap();
        let one = |words: &str| answers.query_row(words, [], |row| row.get(0)).unwrap();
        (one("SELECT bytes FROM total"), one("SELECT SUM(LENGTH(bytes)) FROM blob"))
    }

    #[test]
    fn the_answers_asked_for_longest_ago_make_room() {
        let store = Store::open(None, 1_000).unwrap();
        for key in ["a", "b", "c", "d", "e"] {
            store.keep_answer(key, &[0; 200]);
        }
        assert!(store.answer("a").is_some());
        store.keep_answer("f", &[0; 200]);
        let kept: Vec<_> = ["a", "b", "c", "d", "e", "f"].map(|key| store.answer(key).is_some()).into();
        assert_eq!(kept, [true, false, true, true, true, true]);
        store.keep_answer("large", &[0; 600]);
        assert!(store.answer("large").is_none(), "it would drive out all others");
        assert_eq!(sum(&store), (1_000, 1_000));
        store.keep_answer("f", &[0; 100]);
        assert_eq!(sum(&store), (900, 900), "what is kept anew is counted once");
    }

    #[test]
    fn a_full_store_keeps_and_drops_without_walking_over_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Some(&folder.path().join("x.db")), 20_000_000).unwrap();
        for key in 0..100 {
            store.keep_answer(&key.to_string(), &vec![7; 400_000]);
        }
        let plan = |words: &str| -> String {
            let answers = store.answers.lock().unwrap();
            answers.query_row(&format!("EXPLAIN QUERY PLAN {words}"), [], |row| row.get(3)).unwrap()
        };
        for words in ["SELECT id, size FROM kept ORDER BY used LIMIT 1", "DELETE FROM blob WHERE id = 3"] {
            let plan = plan(words);
            assert!(plan.contains("INDEX kept_used") || plan.contains("PRIMARY KEY"), "{plan}");
        }
        assert_eq!(sum(&store), (20_000_000, 20_000_000));
    }

    #[test]
    fn what_is_known_of_runs_is_read_while_answers_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(Some(&folder.path().join("x.db")), 1_000_000).unwrap();
        let written = Written { tags: vec!["a".to_owned()], note: String::new() };
        assert!(store.write("run", &written));
        let mut answers = store.answers.lock().unwrap();
        let change = answers.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
        change.execute("UPDATE total SET bytes = 1", []).unwrap();
        assert_eq!(store.all_written(), HashMap::from([("run".to_owned(), written)]));
    }
}
