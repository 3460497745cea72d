//! Tables as Arrow: built once, shared from then on without copying.

use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, DataType, Field};
use gpuscope_report::arrow::{self, DOC, UNIT};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Rows with what their columns mean.
#[pyclass(frozen, module = "gpuscope._native")]
#[derive(Debug)]
pub(crate) struct Table {
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    title: String,
    batch: RecordBatch,
}

impl Table {
    pub(crate) fn of(name: &str, table: &gpuscope_table::Table) -> Result<Table, ArrowError> {
        Ok(Table { name: name.to_owned(), title: table.title.clone(), batch: arrow::batch(table)? })
    }

    pub(crate) fn new(
        name: &str,
        title: &str,
        fields: Vec<Field>,
        arrays: Vec<ArrayRef>,
    ) -> Result<Table, ArrowError> {
        Ok(Table { name: name.to_owned(), title: title.to_owned(), batch: arrow::batch_of(fields, arrays)? })
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// Name, unit and meaning of each column.
    #[getter]
    fn columns(&self) -> Vec<(String, String, String)> {
        let schema = self.batch.schema();
        let of = |field: &Arc<Field>, key: &str| field.metadata().get(key).cloned().unwrap_or_default();
        schema.fields().iter().map(|field| (field.name().clone(), of(field, UNIT), of(field, DOC))).collect()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref()).map_err(unsound)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// One batch. What the consumer would rather have is a wish that the protocol lets us leave to it.
    #[pyo3(signature = (requested_schema=None))]
    #[expect(unused_variables, reason = "the protocol names the argument")]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// The values of each column, for those without an Arrow library.
    fn to_lists<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.batch.columns().iter().map(|array| list(py, array)).collect()
    }
}

pub(crate) fn unsound(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

fn list<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyAny>> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int32Type, Int64Type};
    let list = match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().iter().collect::<Vec<_>>().into_pyobject(py)?,
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().iter().collect::<Vec<_>>().into_pyobject(py)?
        }
        DataType::Utf8 => array.as_string::<i32>().iter().collect::<Vec<_>>().into_pyobject(py)?,
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_dictionary::<Int32Type>();
            let words = dictionary.values().as_string::<i32>();
            let word = |key: Option<i32>| key.map(|key| words.value(key as usize));
            dictionary.keys().iter().map(word).collect::<Vec<_>>().into_pyobject(py)?
        }
        other => return Err(pyo3::exceptions::PyTypeError::new_err(format!("no list of {other}"))),
    };
    Ok(list.into_any())
}
