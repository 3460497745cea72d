//! One table as Parquet: integers, floats and texts as they are, null for what is not known. What the table and its
//! columns mean is in the file's own metadata, as JSON under `gpuscope`.

use std::io::{self, Write};
use std::sync::Arc;

use gpuscope_table::{Column, Table, Values};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::json;

/// Rows written together.
const GROUP: usize = 1 << 20;

pub fn write(table: &Table, mut out: impl Write) -> io::Result<()> {
    let bytes = encoded(table).map_err(io::Error::other)?;
    out.write_all(&bytes)
}

fn encoded(table: &Table) -> Result<Vec<u8>, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![KeyValue::new("gpuscope".to_owned(), meaning(table))]))
        .build();
    let fields = table.columns.iter().map(|column| field(column).map(Arc::new)).collect::<Result<_, _>>()?;
    let schema = Arc::new(Type::group_type_builder(table.name).with_fields(fields).build()?);
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    for first in (0..table.rows()).step_by(GROUP) {
        let rows = first..table.rows().min(first + GROUP);
        let mut group = file.next_row_group()?;
        for column in &table.columns {
            if let Some(writer) = group.next_column()? {
                write_column(writer, &column.values, rows.clone())?;
            }
        }
        group.close()?;
    }
    file.into_inner()
}

fn meaning(table: &Table) -> String {
    let column = |column: &Column| json!({"name": column.name, "unit": column.unit, "doc": column.doc});
    let columns: Vec<_> = table.columns.iter().map(column).collect();
    json!({"table": table.name, "title": table.title, "columns": columns}).to_string()
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.values {
        Values::Int(_) => (Physical::INT64, None),
        Values::Float(_) => (Physical::DOUBLE, None),
        Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    Type::primitive_type_builder(column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

fn write_column(
    mut writer: SerializedColumnWriter<'_>,
    values: &Values,
    rows: std::ops::Range<usize>,
) -> Result<(), ParquetError> {
    match values {
        Values::Int(values) => {
            let (known, levels) = split(&values[rows], |value| *value);
            writer.typed::<Int64Type>().write_batch(&known, Some(&levels), None)?;
        }
        Values::Float(values) => {
            let (known, levels) = split(&values[rows], |value| *value);
            writer.typed::<DoubleType>().write_batch(&known, Some(&levels), None)?;
        }
        Values::Text(values) => {
            let (known, levels) = split(&values[rows], |text| ByteArray::from(text.as_str()));
            writer.typed::<ByteArrayType>().write_batch(&known, Some(&levels), None)?;
        }
    }
    writer.close()
}

/// The values that are there, and for every row whether it has one.
fn split<V, T>(values: &[Option<V>], of: impl Fn(&V) -> T) -> (Vec<T>, Vec<i16>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (values.iter().flatten().map(of).collect(), levels)
}
