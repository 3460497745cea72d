//! Tables as Arrow: columns of their own type, each with its unit and meaning as metadata.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use gpuscope_table::{Column, Table, Unit, Values};

/// Keys of a column's metadata.
pub const UNIT: &str = "unit";
pub const DOC: &str = "doc";

pub fn batch(table: &Table) -> Result<RecordBatch, ArrowError> {
    let fields: Vec<Field> = table.columns.iter().map(field).collect();
    let arrays: Vec<ArrayRef> = table.columns.iter().map(|column| values(&column.values)).collect();
    batch_of(fields, arrays)
}

/// Of columns that may be none.
pub fn batch_of(fields: Vec<Field>, arrays: Vec<ArrayRef>) -> Result<RecordBatch, ArrowError> {
    let rows = arrays.first().map_or(0, |array| array.len());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
}

/// The table as a stream for other programs (Arrow IPC).
pub fn stream(table: &Table) -> Result<Vec<u8>, ArrowError> {
    let batch = batch(table)?;
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(&batch)?;
    writer.into_inner()
}

pub fn described(field: Field, unit: Unit, doc: &str) -> Field {
    let unit =
        serde_json::to_value(unit).ok().and_then(|unit| unit.as_str().map(str::to_owned)).unwrap_or_default();
    field.with_metadata(HashMap::from([(UNIT.to_owned(), unit), (DOC.to_owned(), doc.to_owned())]))
}

fn field(column: &Column) -> Field {
    let kind = match column.values {
        Values::Int(_) => DataType::Int64,
        Values::Float(_) => DataType::Float64,
        Values::Text(_) => DataType::Utf8,
    };
    described(Field::new(column.name, kind, true), column.unit, column.doc)
}

fn values(values: &Values) -> ArrayRef {
    match values {
        Values::Int(values) => Arc::new(values.iter().copied().collect::<Int64Array>()),
        Values::Float(values) => Arc::new(values.iter().copied().collect::<Float64Array>()),
        Values::Text(values) => Arc::new(values.iter().map(Option::as_deref).collect::<StringArray>()),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    use super::*;

    #[test]
    fn columns_keep_their_type_unit_and_meaning() {
        let rows = [("gemm", 3_i64), ("copy", 5)];
        let table = Table::of("kernels", "Kernels", &rows)
            .text("name", "The kernel's name", |row| row.0.to_owned())
            .int("sum_ns", Unit::Ns, "Time in all launches", |row| row.1)
            .build();
        let batch = batch(&table).unwrap();
        assert_eq!(batch.column(1).as_primitive::<Int64Type>().values(), &[3, 5]);
        assert_eq!(batch.column(0).as_string::<i32>().value(1), "copy");
        let schema = batch.schema();
        let metadata = schema.field(1).metadata();
        assert_eq!((metadata[UNIT].as_str(), metadata[DOC].as_str()), ("ns", "Time in all launches"));
        assert!(stream(&table).unwrap().starts_with(&[0xff; 4]), "a message of Arrow's stream");
    }
}
