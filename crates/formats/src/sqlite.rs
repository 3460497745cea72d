//! Databases that profilers export: opened to be read and nothing else, their tables looked up rather than expected.
//!
//! Which tables and columns there are depends on the version of the profiler and on what was recorded. A column that is
//! not there is null in every row, a table that is not there has none. A file may be damaged or hostile: whatever of a
//! table can be read counts, virtual tables and views are passed over, and nothing is written beside the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use gpuscope_trace::{Code, Quality};
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use crate::ReadError;

const MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether somebody still wants what is read is asked after so many rows.
const ROWS_AT_A_TIME: u64 = 1 << 14;

pub(crate) fn is_one(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// An open database.
pub(crate) struct Database<'w> {
    connection: Connection,
    /// The columns of each table.
    tables: BTreeMap<String, BTreeSet<String>>,
    /// What kept a table from being read to its end.
    damage: Vec<String>,
    goes_on: &'w dyn Fn() -> bool,
    /// Nothing is done with what is read: the least that reading can cost.
    bare: bool,
    rows: u64,
}

impl<'w> Database<'w> {
    pub(crate) fn open(path: &Path, goes_on: &'w dyn Fn() -> bool) -> Result<Database<'w>, ReadError> {
        // Immutable: no lock, no journal and no shared memory beside the file, and one that others lock can be read.
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(uri(path), flags).map_err(|error| broken(&error))?;
        let secured = connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)
            .and_then(|_| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false))
            .and_then(|_| {
                connection.execute_batch("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 268435456;")
            });
        secured.map_err(|error| broken(&error))?;
        let mut database = Database {
            connection,
            tables: BTreeMap::new(),
            damage: Vec::new(),
            goes_on,
            bare: false,
            rows: 0,
        };
        database.tables = database.describe().map_err(|error| broken(&error))?;
        if let Some((whole, is)) = cut_off(path) {
            database.damage.push(format!("it breaks off after {is} of {whole} bytes"));
        }
        if unread_journal(path) {
            database.damage.push(
                "what its -wal file holds was not read: export it again, or close the program that writes to it"
                    .to_owned(),
            );
        }
        Ok(database)
    }

    fn describe(&self) -> rusqlite::Result<BTreeMap<String, BTreeSet<String>>> {
        let mut names = self.connection.prepare(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND upper(sql) NOT LIKE 'CREATE VIRTUAL%'",
        )?;
        let mut columns = self.connection.prepare("SELECT name FROM pragma_table_info(?)")?;
        let mut tables = BTreeMap::new();
        let mut rows = names.query([])?;
        while let Some(row) = rows.next()? {
            let Some(name) = Cells(row).text(0).and_then(|name| std::str::from_utf8(name).ok()) else {
                continue;
            };
            let all = columns.query_map([name], |row| row.get::<_, String>(0))?;
            tables.insert(name.to_owned(), all.filter_map(Result::ok).collect());
        }
        Ok(tables)
    }

    pub(crate) fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// The names of all tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }

    /// Reads a table in the order of its rows: of the wanted columns those that it has, the others null. A table that
    /// breaks off is read as far as it goes.
    pub(crate) fn each(
        &mut self,
        table: &str,
        wanted: &[&str],
        mut take: impl FnMut(Cells<'_>),
    ) -> Result<(), ReadError> {
        let Some(columns) = self.tables.get(table) else { return Ok(()) };
        let mut words = String::from("SELECT ");
        for (i, column) in wanted.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            let _ = if columns.contains(*column) {
                write!(words, "{comma}{}", quoted(column))
            } else {
                write!(words, "{comma}NULL")
            };
        }
        let _ = write!(words, " FROM {}", quoted(table));
        let mut count = 0;
        let mut stopped = false;
        let mut read = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare(&words)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                count += 1;
                if count % ROWS_AT_A_TIME == 0 && !(self.goes_on)() {
                    stopped = true;
                    return Ok(());
                }
                if self.bare {
                    (0..wanted.len()).for_each(|column| drop(std::hint::black_box(row.get_ref(column))));
                } else {
                    take(Cells(row));
                }
            }
            Ok(())
        };
        let ended = read();
        self.rows += count;
        if let Err(error) = ended {
            self.damage.push(format!("table {table} breaks off after {count} rows ({})", plain(&error)));
        }
        if stopped { Err(ReadError::Io(std::io::Error::other("stopped"))) } else { Ok(()) }
    }

    /// Reads and does nothing with it, from here on.
    pub(crate) fn bare(self) -> Database<'w> {
        Database { bare: true, ..self }
    }

    /// Rows read so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// What kept it from being read whole.
    pub(crate) fn damage(&mut self) -> Option<Quality> {
        let damage = std::mem::take(&mut self.damage);
        let message = format!("the database is damaged: {}", damage.join("; "));
        (!damage.is_empty()).then(|| Quality::new(Code::Truncated, damage.len() as u64, message))
    }
}

/// One row.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'r>(&'r Row<'r>);

impl<'r> Cells<'r> {
    /// None for null, and for what is no integer.
    #[inline]
    pub(crate) fn int(self, column: usize) -> Option<i64> {
        match self.0.get_ref(column) {
            Ok(ValueRef::Integer(value)) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn number(self, column: usize) -> Option<f64> {
        match self.0.get_ref(column) {
            Ok(ValueRef::Integer(value)) => Some(value as f64),
            Ok(ValueRef::Real(value)) => Some(value),
            _ => None,
        }
    }

    /// As bytes: not every text is UTF-8.
    #[inline]
    pub(crate) fn text(self, column: usize) -> Option<&'r [u8]> {
        match self.0.get_ref(column) {
            Ok(ValueRef::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn blob(self, column: usize) -> Option<&'r [u8]> {
        match self.0.get_ref(column) {
            Ok(ValueRef::Blob(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

fn broken(error: &rusqlite::Error) -> ReadError {
    ReadError::Damaged { what: "a whole SQLite database", why: plain(error) }
}

/// The words without the number of the code.
fn plain(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// How long a database should be and how long it is, if that is less: its header tells, unless an old program changed it.
fn cut_off(path: &Path) -> Option<(u64, u64)> {
    let mut header = [0; 100];
    let mut file = std::fs::File::open(path).ok()?;
    file.read_exact(&mut header).ok()?;
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    let (whole, is) = (page * u64::from(word(28)), file.metadata().ok()?.len());
    (word(24) == word(92) && is < whole).then_some((whole, is))
}

/// Whether changes lie beside the file that are not in it yet.
fn unread_journal(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    std::fs::metadata(PathBuf::from(name)).is_ok_and(|metadata| metadata.len() > 0)
}

/// `file:` with what has a meaning there written out.
fn uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    uri
}
