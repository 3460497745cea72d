//! The events of one rank as a table: every row that a trace keeps, in file order.

use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, StringArray};
use arrow_schema::{ArrowError, DataType, Field};
use gpuscope_table::Unit;
use gpuscope_trace::{Arg, ArgType, Id, Kind, Row, StrId, Trace, View};

use gpuscope_report::arrow::described;

use crate::arrow::Table;

/// With `arguments`, every argument that occurs has a column of its own.
pub(crate) fn table(view: View<'_>, arguments: bool) -> Result<Table, ArrowError> {
    let trace = view.trace;
    let mut columns = Columns { trace, fields: Vec::new(), arrays: Vec::new() };
    let place = |row: Row| trace.track(row);
    columns.int("index", Unit::None, "Its place in the file's event array", |row| {
        Some(i64::from(trace.element(row)))
    });
    columns.words("name", "Its name", |row| Some(trace.name_id(row)));
    columns.words("cat", "Its category as written", |row| Some(trace.tag(row).category));
    columns.int("ts_ns", Unit::TimestampNs, "When it began", |row| Some(trace.start(row)?.0));
    columns.int("dur_ns", Unit::Ns, "How long it took; none for instants", |row| Some(trace.dur(row)?.0));
    columns.int("pid", Unit::None, "Process, where it is a number", |row| place(row).key.pid.int());
    columns.int("tid", Unit::None, "Thread, where it is a number", |row| place(row).key.tid.int());
    columns.words("process", "Name of the process", |row| process(trace, row));
    columns.words("thread", "Name of the thread", |row| thread(trace, row));
    let is_gpu = |row: Row| trace.class(row).is_gpu();
    columns.int("device", Unit::None, "Device of GPU events", |row| is_gpu(row).then(|| place(row).device));
    columns.int("stream", Unit::None, "Stream, where one is named", |row| place(row).stream);
    columns.int("correlation", Unit::None, "Number that a launch and its GPU work share", |row| {
        trace.args.int(row, Arg::Correlation)
    });
    columns.int("external_id", Unit::None, "Number of the operator behind it", |row| {
        trace.args.int(row, Arg::ExternalId)
    });
    columns.kinds(view);
    columns.int("launch", Unit::None, "Index of the call that launched it", |row| {
        Some(i64::from(trace.element(view.launch(row)?)))
    });
    let nesting = view.index.nesting(trace);
    columns.int("parent", Unit::None, "Index of the host event around it", |row| {
        Some(i64::from(trace.element(nesting.parent(row)?)))
    });
    if arguments {
        columns.arguments();
    }
    Table::new("events", "Events", columns.fields, columns.arrays)
}

fn process(trace: &Trace, row: Row) -> Option<StrId> {
    let pid = trace.track(row).key.pid;
    let label = trace.tracks.process_label(pid).map(|label| label.name);
    label.or(if let Id::Text(text) = pid { Some(text) } else { None })
}

fn thread(trace: &Trace, row: Row) -> Option<StrId> {
    let key = trace.track(row).key;
    let label = trace.tracks.thread_label(key.pid, key.tid).map(|label| label.name);
    label.or(if let Id::Text(text) = key.tid { Some(text) } else { None })
}

struct Columns<'t> {
    trace: &'t Trace,
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns<'_> {
    fn int(&mut self, name: &str, unit: Unit, doc: &str, value: impl Fn(Row) -> Option<i64>) {
        let array: Int64Array = self.trace.rows().map(value).collect();
        self.push(name, unit, doc, Arc::new(array));
    }

    /// Texts that occur again and again: each is held once.
    fn words(&mut self, name: &str, doc: &str, word: impl Fn(Row) -> Option<StrId>) {
        let mut places: Vec<i32> = Vec::new();
        let mut words: Vec<&str> = Vec::new();
        let mut place = |id: StrId| {
            let slot = id.0 as usize;
            if places.len() <= slot {
                places.resize(slot + 1, -1);
            }
            if places[slot] < 0 {
                places[slot] = words.len() as i32;
                words.push(self.trace.strings.get(id));
            }
            places[slot]
        };
        let keys: Int32Array = self.trace.rows().map(|row| word(row).map(&mut place)).collect();
        let values = Arc::new(StringArray::from(words));
        self.push(name, Unit::None, doc, Arc::new(DictionaryArray::new(keys, values)));
    }

    fn kinds(&mut self, view: View<'_>) {
        let kinds = [Kind::Computation, Kind::Communication, Kind::Memcpy, Kind::Memset];
        let mut keys: Vec<Option<i32>> = vec![None; self.trace.len()];
        for event in view.index.gpu(self.trace).iter() {
            keys[event.row as usize] = kinds.iter().position(|kind| *kind == event.kind).map(|i| i as i32);
        }
        let values = StringArray::from(vec!["computation", "communication", "memcpy", "memset"]);
        let array = DictionaryArray::new(Int32Array::from(keys), Arc::new(values));
        self.push("kind", Unit::None, "What kind of GPU work it is", Arc::new(array));
    }

    fn arguments(&mut self) {
        let args = &self.trace.args;
        for arg in Arg::ALL.iter().copied() {
            let has = match arg.arg_type() {
                ArgType::Text => args.texts(arg).next().is_some(),
                _ => args.iter(arg).next().is_some(),
            };
            let key = arg.keys()[0];
            let name = snake(key);
            if !has || self.fields.iter().any(|field| *field.name() == name) {
                continue;
            }
            match arg.arg_type() {
                ArgType::Text => self.words(&name, key, |row| args.text(row, arg)),
                ArgType::Float => {
                    let values = self.trace.rows().map(|row| args.float(row, arg).map(f64::from));
                    let array: Float64Array = values.collect();
                    self.push(&name, Unit::None, key, Arc::new(array));
                }
                ArgType::Int | ArgType::Id => self.int(&name, Unit::None, key, |row| args.int(row, arg)),
            }
        }
    }

    fn push(&mut self, name: &str, unit: Unit, doc: &str, array: ArrayRef) {
        let kind: DataType = array.data_type().clone();
        self.fields.push(described(Field::new(name, kind, true), unit, doc));
        self.arrays.push(array);
    }
}

/// `memory bandwidth (GB/s)` is `memory_bandwidth_gb_s`.
fn snake(key: &str) -> String {
    let words = key.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}
