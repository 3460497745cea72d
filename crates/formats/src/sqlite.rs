//! Databases that profilers export, in `SQLite` or as a folder of Parquet files: opened to be read and nothing else, their
//! tables looked up rather than expected.
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
use crate::parquet_folder::{Column, Folder};

const MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether somebody still wants what is read is asked after so many rows.
const ROWS_AT_A_TIME: u64 = 1 << 14;

pub(crate) fn is_one(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

enum Store {
    Sqlite(Connection),
    Parquet(Folder),
}

/// An open database.
pub(crate) struct Database<'w> {
    store: Store,
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
        let tables = described(&connection).map_err(|error| broken(&error))?;
        let mut database = Database::of(Store::Sqlite(connection), tables, goes_on);
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

    /// A folder of Parquet files, one for each table.
    pub(crate) fn open_folder(path: &Path, goes_on: &'w dyn Fn() -> bool) -> Result<Database<'w>, ReadError> {
        let folder = Folder::open(path)?;
        let (mut tables, mut damage) = (BTreeMap::new(), Vec::new());
        for table in folder.tables() {
            match folder.columns(table) {
                Ok(columns) => drop(tables.insert(table.to_owned(), columns)),
                Err(error) => damage.push(format!("{table}.parquet cannot be read ({error})")),
            }
        }
        Ok(Database { damage, ..Database::of(Store::Parquet(folder), tables, goes_on) })
    }

    fn of(
        store: Store,
        tables: BTreeMap<String, BTreeSet<String>>,
        goes_on: &'w dyn Fn() -> bool,
    ) -> Database<'w> {
        Database { store, tables, damage: Vec::new(), goes_on, bare: false, rows: 0 }
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
        let (bare, goes_on) = (self.bare, self.goes_on);
        let (mut count, mut stopped) = (0, false);
        let mut row = |cells: Cells<'_>| {
            count += 1;
            if bare {
                for column in 0..wanted.len() {
                    std::hint::black_box(cells.int(column));
                }
            } else {
                take(cells);
            }
            stopped = count % ROWS_AT_A_TIME == 0 && !goes_on();
            !stopped
        };
        let ended = match &self.store {
            Store::Sqlite(connection) => {
                rows_of(connection, &select(table, columns, wanted), &mut row).map_err(|error| plain(&error))
            }
            Store::Parquet(folder) => folder
                .each(table, wanted, |rows, columns| (0..rows).all(|at| row(Cells::Columns(columns, at))))
                .map_err(|error| error.to_string()),
        };
        self.rows += count;
        if let Err(why) = ended {
            self.damage.push(format!("table {table} breaks off after {count} rows ({why})"));
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

fn described(connection: &Connection) -> rusqlite::Result<BTreeMap<String, BTreeSet<String>>> {
    let mut names = connection.prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND upper(sql) NOT LIKE 'CREATE VIRTUAL%'",
    )?;
    let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?)")?;
    let mut tables = BTreeMap::new();
    let mut rows = names.query([])?;
    while let Some(row) = rows.next()? {
        let Some(name) = Cells::Row(row).text(0).and_then(|name| std::str::from_utf8(name).ok()) else {
            continue;
        };
        let all = columns.query_map([name], |row| row.get::<_, String>(0))?;
        tables.insert(name.to_owned(), all.filter_map(Result::ok).collect());
    }
    Ok(tables)
}

/// Of the wanted columns those that there are, the others null.
fn select(table: &str, columns: &BTreeSet<String>, wanted: &[&str]) -> String {
    let column = |name: &&str| if columns.contains(*name) { quoted(name) } else { "NULL".to_owned() };
    let wanted: Vec<String> = wanted.iter().map(column).collect();
    format!("SELECT {} FROM {}", wanted.join(", "), quoted(table))
}

/// Hands over one row after the other until it is told to stop.
fn rows_of(
    connection: &Connection,
    words: &str,
    take: &mut impl FnMut(Cells<'_>) -> bool,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(words)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if !take(Cells::Row(row)) {
            break;
        }
    }
    Ok(())
}

/// One row.
#[derive(Clone, Copy)]
pub(crate) enum Cells<'r> {
    Row(&'r Row<'r>),
    Columns(&'r [Column], usize),
}

impl<'r> Cells<'r> {
    /// None for null, and for what is no whole number.
    #[inline]
    pub(crate) fn int(self, column: usize) -> Option<i64> {
        match self {
            Cells::Row(row) => match row.get_ref(column) {
                Ok(ValueRef::Integer(value)) => Some(value),
                Ok(ValueRef::Real(value)) => whole(value),
                _ => None,
            },
            Cells::Columns(columns, row) => {
                let column = columns.get(column)?;
                column.int(row).or_else(|| whole(column.real(row)?))
            }
        }
    }

    pub(crate) fn number(self, column: usize) -> Option<f64> {
        match self {
            Cells::Row(row) => match row.get_ref(column) {
                Ok(ValueRef::Integer(value)) => Some(value as f64),
                Ok(ValueRef::Real(value)) => Some(value),
                _ => None,
            },
            Cells::Columns(columns, row) => {
                let column = columns.get(column)?;
                column.int(row).map(|value| value as f64).or_else(|| column.real(row))
            }
        }
    }

    /// As bytes: not every text is UTF-8.
    #[inline]
    pub(crate) fn text(self, column: usize) -> Option<&'r [u8]> {
        match self {
            Cells::Row(row) => match row.get_ref(column) {
                Ok(ValueRef::Text(text)) => Some(text),
                _ => None,
            },
            Cells::Columns(columns, row) => columns.get(column)?.bytes(row),
        }
    }

    pub(crate) fn blob(self, column: usize) -> Option<&'r [u8]> {
        match self {
            Cells::Row(row) => match row.get_ref(column) {
                Ok(ValueRef::Blob(bytes)) => Some(bytes),
                _ => None,
            },
            Cells::Columns(columns, row) => columns.get(column)?.bytes(row),
        }
    }
}

/// An integer that was written as a float, as some tools that copy tables do.
fn whole(value: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (value.fract() == 0.0 && value.abs() <= EXACT).then_some(value as i64)
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
