//! The readings of one range, or of several together.

use std::collections::BTreeMap;

use gpuscope_trace::{Row, Trace};
use rustc_hash::FxHashMap;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// Values by the counter's name; in JSON a field for each, whole numbers written as such.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings(pub BTreeMap<String, f64>);

/// Instructions that count as one floating-point operation each, or as two: multiply and add.
const FLOPS: [(&str, f64); 9] = [
    ("ffma", 2.0),
    ("fmul", 1.0),
    ("fadd", 1.0),
    ("hfma", 2.0),
    ("hmul", 1.0),
    ("hadd", 1.0),
    ("dfma", 2.0),
    ("dmul", 1.0),
    ("dadd", 1.0),
];

impl Readings {
    pub(super) fn by_row(trace: &Trace) -> FxHashMap<Row, Readings> {
        let mut by_row: FxHashMap<Row, Readings> = FxHashMap::default();
        for reading in &trace.readings {
            let name = trace.strings.get(reading.name).to_owned();
            by_row.entry(reading.row).or_default().0.insert(name, reading.value);
        }
        by_row
    }

    /// What several ranges make together.
    pub(super) fn over(ranges: &[&Readings]) -> Readings {
        let mut values: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
        for (name, value) in ranges.iter().flat_map(|readings| &readings.0) {
            values.entry(name).or_default().push(*value);
        }
        let together = |(name, values): (&String, Vec<f64>)| {
            let sum: f64 = values.iter().sum();
            let value = match name.rsplit('.').next() {
                _ if is_mean(name) => sum / values.len() as f64,
                Some("max") => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
                Some("min") => values.into_iter().fold(f64::INFINITY, f64::min),
                _ => sum,
            };
            (name.clone(), value)
        };
        Readings(values.into_iter().map(together).collect())
    }

    pub(super) fn flops(&self) -> Option<i64> {
        let executed = |op: &str| self.0.get(&format!("smsp__sass_thread_inst_executed_op_{op}_pred_on.sum"));
        let counted = FLOPS.iter().filter_map(|(op, weight)| Some(executed(op)? * weight));
        counted.reduce(|a, b| a + b).map(|flops| flops as i64)
    }
}

fn is_mean(name: &str) -> bool {
    [".avg", ".pct", ".ratio", "per_second"].iter().any(|part| name.contains(part))
}

impl Serialize for Readings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            // Every whole number up to here is held exactly.
            if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
                map.serialize_entry(name, &(*value as i64))?;
            } else {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}
