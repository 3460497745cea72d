//! Calls of one operator with the same arguments: one kind of call.

use gpuscope_trace::{Arg, Group, StrId, View};
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
