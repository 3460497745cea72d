//! Exports of Nsight Systems as folders of Parquet files: the same as the database with the same tables.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use gpuscope_formats::format::of_folder;
use gpuscope_formats::{Loaded, ReadError, ReadOptions, read_file};
use gpuscope_trace::{Code, Index, Trace};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::nsys::{Export, PROCESS, job};

/// One file for each table that has rows, some of whose numbers have 32 bits and no sign, as exports have them.
fn to_folder(connection: &Connection, folder: &Path) {
    let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for name in names {
        let mut statement = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([]).unwrap();
        let mut cells: Vec<Vec<Value>> = vec![Vec::new(); columns.len()];
        while let Some(row) = rows.next().unwrap() {
            for (i, column) in cells.iter_mut().enumerate() {
                column.push(row.get(i).unwrap());
            }
        }
        if cells[0].is_empty() {
            continue;
        }
        let kind =
            |(column, cells): (&String, &Vec<Value>)| match cells.iter().find(|cell| **cell != Value::Null) {
                Some(Value::Text(_)) => format!("optional binary {column} (UTF8);"),
                Some(Value::Blob(_)) => format!("optional binary {column};"),
                _ if column == "correlationId" => format!("optional int32 {column} (INTEGER(32, false));"),
                _ => format!("optional int64 {column};"),
            };
        let fields: String = columns.iter().zip(&cells).map(kind).collect();
        let schema = Arc::new(parse_message_type(&format!("message schema {{ {fields} }}")).unwrap());
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let file = File::create(folder.join(format!("{name}.parquet"))).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
        // Large tables come in several groups.
        for rows in (0..cells[0].len()).collect::<Vec<_>>().chunks(2) {
            let mut group = writer.next_row_group().unwrap();
            for (column, cells) in columns.iter().zip(&cells) {
                let is_bytes = cells.iter().any(|cell| matches!(cell, Value::Text(_) | Value::Blob(_)));
                let mut writer = group.next_column().unwrap().unwrap();
                let cells = || rows.iter().map(|row| &cells[*row]);
                let levels: Vec<i16> = cells().map(|cell| i16::from(*cell != Value::Null)).collect();
                let ints = || {
                    cells()
                        .filter_map(|cell| if let Value::Integer(value) = cell { Some(*value) } else { None })
                };
                let bytes = || {
                    cells().filter_map(|cell| match cell {
                        Value::Text(text) => Some(ByteArray::from(text.as_str())),
                        Value::Blob(bytes) => Some(ByteArray::from(bytes.clone())),
                        _ => None,
                    })
                };
                let bytes: Vec<ByteArray> = bytes().collect();
                if column == "correlationId" {
                    let values: Vec<i32> = ints().map(|value| value as i32).collect();
                    writer.typed::<Int32Type>().write_batch(&values, Some(&levels), None).unwrap();
                } else if is_bytes {
                    writer.typed::<ByteArrayType>().write_batch(&bytes, Some(&levels), None).unwrap();
                } else {
                    let values: Vec<i64> = ints().collect();
                    writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None).unwrap();
                }
                writer.close().unwrap();
            }
            group.close().unwrap();
        }
        writer.close().unwrap();
    }
}

fn read_folder(folder: &Path) -> Result<Loaded, ReadError> {
    let names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    read_file(folder, of_folder(&names).unwrap(), &|| true, ReadOptions::default()).unwrap()
}

/// What a trace says, row by row.
fn told(traces: &[Trace]) -> Vec<String> {
    let row = |trace: &Trace, row| {
        let call = Index::default().launches(trace).call(row).map(|call| trace.name(call).to_owned());
        format!("{} {:?} {call:?}", trace.name(row), trace.span(row))
    };
    traces.iter().flat_map(|trace| trace.rows().map(move |at| row(trace, at))).collect()
}

fn ranges(export: Export) -> Export {
    export.with(&format!(
        "INSERT INTO NVTX_EVENTS VALUES (90, 140, 59, 'ncclAllGather', NULL, {}, 1,
             x'ab000000000000000004000000000000'),
         (300, 320, 59, NULL, 2, {}, 0, NULL)",
        PROCESS | 7,
        PROCESS | 7
    ))
}

#[test]
fn a_folder_says_what_the_database_says() {
    let export = ranges(job());
    let folder = tempfile::tempdir().unwrap();
    to_folder(&export.connection, folder.path());
    let loaded = read_folder(folder.path()).unwrap();
    assert_eq!(loaded.format, "nsys");
    let (from_folder, from_database) = (told(&loaded.traces), told(&export.read().unwrap()));
    assert!(from_database.iter().any(|row| row.contains("ncclAllGather")), "{from_database:?}");
    assert_eq!(from_folder, from_database);
}

#[test]
fn a_folder_with_damaged_files_is_read_as_far_as_it_goes() {
    let export = ranges(job());
    let folder = tempfile::tempdir().unwrap();
    to_folder(&export.connection, folder.path());
    let file = folder.path().join("CUPTI_ACTIVITY_KIND_RUNTIME.parquet");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let loaded = read_folder(folder.path()).unwrap();
    assert_eq!(loaded.traces.len(), 2, "kernels are in files of their own");
    let quality = &loaded.traces[0].quality;
    let damage = quality.iter().find(|entry| entry.code == Code::Truncated).unwrap();
    assert!(damage.message.contains("CUPTI_ACTIVITY_KIND_RUNTIME.parquet"), "{}", damage.message);
    // Whatever is changed in a file, nothing panics.
    for step in 0..200 {
        let mut bytes = whole.clone();
        let at = step * 7919 % bytes.len();
        bytes[at] ^= 1 << (step % 8);
        std::fs::write(&file, &bytes).unwrap();
        let _ = read_folder(folder.path());
    }
}
