//! A folder of Parquet files, one for each table, as `nsys export --type parquetdir` writes it. Read by columns, some
//! thousand rows at a time; a column that is a list or a record is null in every row.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

const ENDING: &str = "parquet";

/// So many rows of the wanted columns are in memory at a time.
const ROWS_AT_A_TIME: usize = 1 << 14;

/// The tables of a folder.
pub(crate) struct Folder {
    files: BTreeMap<String, PathBuf>,
}

/// Some rows of one column.
pub(crate) enum Column {
    Null,
    Ints(Vec<Option<i64>>),
    Reals(Vec<Option<f64>>),
    /// Texts, or whatever else: files do not always say which.
    Bytes(Vec<Option<ByteArray>>),
}

/// The table that a file holds, if it may hold one.
pub(crate) fn table_of(file: &str) -> Option<&str> {
    file.strip_suffix(ENDING)?.strip_suffix('.')
}

impl Folder {
    pub(crate) fn open(path: &Path) -> io::Result<Folder> {
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(path)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).and_then(table_of);
            // A pipe would be waited for.
            if let Some(name) = name.filter(|_| path.is_file()) {
                files.insert(name.to_owned(), path.clone());
            }
        }
        Ok(Folder { files })
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    pub(crate) fn columns(&self, table: &str) -> Result<BTreeSet<String>> {
        survive(|| {
            let file = self.file(table)?;
            let fields = file.metadata().file_metadata().schema_descr().root_schema().get_fields();
            Ok(fields.iter().map(|field| field.name().to_owned()).collect())
        })
    }

    fn file(&self, table: &str) -> Result<SerializedFileReader<File>> {
        let path =
            self.files.get(table).ok_or_else(|| ParquetError::General("there is no such file".to_owned()))?;
        SerializedFileReader::new(File::open(path)?)
    }

    /// Hands over the wanted columns in the order of the rows, until it is told to stop.
    pub(crate) fn each(
        &self,
        table: &str,
        wanted: &[&str],
        mut take: impl FnMut(usize, &[Column]) -> bool,
    ) -> Result<()> {
        let file = survive(|| self.file(table))?;
        for group in 0..file.num_row_groups() {
            let group = survive(|| file.get_row_group(group))?;
            let mut columns: Vec<Option<Source>> =
                survive(|| wanted.iter().map(|name| Source::of(&*group, name)).collect())?;
            // How many rows there are is what the file says of itself: without a column nothing bounds it.
            if columns.iter().all(Option::is_none) {
                continue;
            }
            let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            while left > 0 {
                let rows = left.min(ROWS_AT_A_TIME);
                let read = |column: &mut Option<Source>| match column {
                    Some(source) => source.next(rows),
                    None => Ok(Column::Null),
                };
                let batch: Vec<Column> = survive(|| columns.iter_mut().map(read).collect())?;
                if !take(rows, &batch) {
                    return Ok(());
                }
                left -= rows;
            }
        }
        Ok(())
    }
}

/// The library panics on some files that are damaged in ways that no writer damages them; its line on standard error stays.
fn survive<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(ParquetError::General("it is damaged".to_owned())))
}

/// Where the values of one column come from.
struct Source {
    reader: ColumnReader,
    /// What says that a value is there; none says that every one is.
    present: Option<i16>,
    is_unsigned: bool,
}

impl Source {
    fn of(group: &dyn RowGroupReader, name: &str) -> Result<Option<Source>> {
        let columns = group.metadata().columns();
        let is_it =
            |column: &ColumnDescriptor| column.path().parts() == [name] && column.max_rep_level() == 0;
        let Some(place) = columns.iter().position(|column| is_it(column.column_descr())) else {
            return Ok(None);
        };
        let column = columns[place].column_descr();
        let logical = column.logical_type_ref();
        Ok(Some(Source {
            reader: group.get_column_reader(place)?,
            present: (column.max_def_level() > 0).then(|| column.max_def_level()),
            is_unsigned: matches!(logical, Some(LogicalType::Integer(of)) if !of.is_signed)
                || matches!(
                    column.converted_type(),
                    ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32
                ),
        }))
    }

    fn next(&mut self, rows: usize) -> Result<Column> {
        let (present, is_unsigned) = (self.present, self.is_unsigned);
        Ok(match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => Column::Ints(values(reader, present, rows, i64::from)?),
            ColumnReader::Int32ColumnReader(reader) if is_unsigned => {
                Column::Ints(values(reader, present, rows, |value| i64::from(value.cast_unsigned()))?)
            }
            ColumnReader::Int32ColumnReader(reader) => {
                Column::Ints(values(reader, present, rows, i64::from)?)
            }
            ColumnReader::Int64ColumnReader(reader) => {
                Column::Ints(values(reader, present, rows, |value| value)?)
            }
            ColumnReader::FloatColumnReader(reader) => {
                Column::Reals(values(reader, present, rows, f64::from)?)
            }
            ColumnReader::DoubleColumnReader(reader) => {
                Column::Reals(values(reader, present, rows, |value| value)?)
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                Column::Bytes(values(reader, present, rows, |value| value)?)
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                Column::Bytes(values(reader, present, rows, |value| ByteArray::from(value.data().to_vec()))?)
            }
            ColumnReader::Int96ColumnReader(_) => Column::Null,
        })
    }
}

/// The next values of a column, one for each row.
fn values<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    present: Option<i16>,
    rows: usize,
    value: impl Fn(T::T) -> V,
) -> Result<Vec<Option<V>>> {
    let (mut read, mut levels) = (Vec::with_capacity(rows), Vec::new());
    let mut done = 0;
    // A page may end in between.
    while done < rows {
        let (records, _, _) =
            reader.read_records(rows - done, present.is_some().then_some(&mut levels), None, &mut read)?;
        if records == 0 {
            return Err(ParquetError::EOF("a column ends before its rows do".to_owned()));
        }
        done += records;
    }
    let mut read = read.into_iter().map(value);
    Ok(match present {
        None => read.map(Some).collect(),
        Some(present) => {
            levels.into_iter().map(|level| if level == present { read.next() } else { None }).collect()
        }
    })
}

impl Column {
    pub(crate) fn int(&self, row: usize) -> Option<i64> {
        match self {
            Column::Ints(values) => *values.get(row)?,
            _ => None,
        }
    }

    pub(crate) fn real(&self, row: usize) -> Option<f64> {
        match self {
            Column::Reals(values) => *values.get(row)?,
            _ => None,
        }
    }

    pub(crate) fn bytes(&self, row: usize) -> Option<&[u8]> {
        match self {
            Column::Bytes(values) => values.get(row)?.as_ref().map(ByteArray::data),
            _ => None,
        }
    }
}
