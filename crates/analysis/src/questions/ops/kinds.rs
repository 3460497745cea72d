//! Calls of one operator with the same arguments: one kind of call.

use gpuscope_trace::{Arg, Group, Row, StrId, View};
use gpuscope_work::{Call, Models, Work};
use rustc_hash::FxHashMap;

use super::calls::Calls;

/// Dims, types, strides and concrete values, each as the trace wrote it.
pub(crate) type Texts = [Option<StrId>; 4];

const ARGUMENTS: [Arg; 4] = [Arg::InputDims, Arg::InputTypes, Arg::InputStrides, Arg::ConcreteInputs];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    pub(crate) name: StrId,
    pub(crate) arguments: Texts,
}

impl Kind {
    /// Of one call.
    pub(crate) fn of(view: View<'_>, row: Row) -> Kind {
        let trace = view.trace;
        let place = trace.args.table(Group::Inputs).find(row);
        let text = |arg| Some(StrId(trace.args.column(arg).get(place?)? as u32));
        Kind { name: trace.name_id(row), arguments: ARGUMENTS.map(text) }
    }

    /// What it must do, if there is a model and the arguments tell.
    pub(crate) fn work(&self, view: View<'_>, models: &Models) -> Option<Work> {
        let strings = &view.trace.strings;
        let text = |id: Option<StrId>| id.map_or("", |id| strings.get(id));
        let [dims, types, strides, concrete] = self.arguments.map(text);
        let name = strings.get(self.name);
        models.find(name)?.work(&Call { name, dims, types, strides, concrete })
    }
}

#[derive(Debug)]
pub(crate) struct Kinds {
    pub(crate) list: Vec<Kind>,
    /// Per call the number of its kind.
    pub(crate) of: Vec<u32>,
}

impl Kinds {
    pub(crate) fn of(view: View<'_>, calls: &Calls) -> Kinds {
        let trace = view.trace;
        let table = trace.args.table(Group::Inputs);
        let columns = ARGUMENTS.map(|arg| trace.args.column(arg));
        let mut known: FxHashMap<Kind, u32> = FxHashMap::default();
        let mut kinds = Kinds { list: Vec::new(), of: Vec::with_capacity(calls.len()) };
        for call in 0..calls.len() {
            let row = calls.row(call);
            let arguments = match table.find(row) {
                Some(place) => columns.map(|column| column.get(place).map(|text| StrId(text as u32))),
                None => [None; 4],
            };
            let kind = Kind { name: trace.name_id(row), arguments };
            let number = *known.entry(kind).or_insert_with(|| {
                kinds.list.push(kind);
                kinds.list.len() as u32 - 1
            });
            kinds.of.push(number);
        }
        kinds
    }
}
