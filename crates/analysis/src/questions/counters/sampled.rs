//! Counters that were read again and again while the program ran, of a GPU or a network card: from which to which value.

use std::collections::BTreeMap;

use gpuscope_trace::{Class, Id, Ns, Row, StrId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampledRow {
    pub rank: u32,
    /// What it was read from: `GPU 0 metrics`.
    pub source: String,
    pub name: String,
    pub count: u64,
    pub min: f64,
    pub mean: f64,
    pub max: f64,
}

/// The counters of a trace, each with its source, and what was read when.
pub(crate) fn sampled(view: View<'_>) -> BTreeMap<(String, StrId), Vec<(Ns, f64)>> {
    let trace = view.trace;
    let wanted = |row: &Row| trace.class(*row) == Class::Counter && view.selection.has(*row);
    let mut by_track: FxHashMap<(Id, StrId), Vec<(Ns, f64)>> = FxHashMap::default();
    for reading in trace.readings.iter().filter(|reading| wanted(&reading.row)) {
        if let Some(time) = trace.start(reading.row) {
            let key = (trace.track(reading.row).key.pid, reading.name);
            by_track.entry(key).or_default().push((time, reading.value));
        }
    }
    let source = |id: Id| match id {
        Id::Text(text) => trace.strings.get(text).to_owned(),
        Id::Int(number) => format!("process {number}"),
        Id::Absent => String::new(),
    };
    let mut found: BTreeMap<(String, StrId), Vec<(Ns, f64)>> =
        by_track.into_iter().map(|((id, name), points)| ((source(id), name), points)).collect();
    for points in found.values_mut() {
        points.sort_by_key(|(time, _)| *time);
    }
    found
}

pub(super) fn rows(rank: u32, view: View<'_>) -> Vec<SampledRow> {
    let row = |((source, name), points): ((String, StrId), Vec<(Ns, f64)>)| {
        let values = || points.iter().map(|(_, value)| *value);
        SampledRow {
            rank,
            source,
            name: view.trace.strings.get(name).to_owned(),
            count: points.len() as u64,
            min: values().fold(f64::INFINITY, f64::min),
            mean: values().sum::<f64>() / points.len() as f64,
            max: values().fold(f64::NEG_INFINITY, f64::max),
        }
    };
    sampled(view).into_iter().map(row).collect()
}
