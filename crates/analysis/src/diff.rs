//! What changed from one run to another?
//!
//! Both runs are reduced to the count and the summed time of every event name, on the GPU and on the host
//! apart, over all ranks; the difference is B less A. Rows that only repeat other rows' time (GPU annotations,
//! synchronisation and profiler rows) are left out.

use std::collections::BTreeMap;

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Class, Ns, StrId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::Question;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    Cpu,
    Gpu,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    pub count: u64,
    pub sum_ns: Ns,
}

/// Every name of a run with its total.
pub type Totals = BTreeMap<(String, Side), Total>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    Added,
    Removed,
    Faster,
    Slower,
    Same,
}

impl Change {
    fn label(self) -> &'static str {
        match self {
            Change::Added => "added",
            Change::Removed => "removed",
            Change::Faster => "faster",
            Change::Slower => "slower",
            Change::Same => "same",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffRow {
    pub name: String,
    pub device: Side,
    pub a: Total,
    pub b: Total,
    pub delta_ns: Ns,
    pub change: Change,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiffAnswer {
    /// Largest change first, either way.
    pub rows: Vec<DiffRow>,
}

impl DiffAnswer {
    pub fn between(a: &Totals, b: &Totals) -> DiffAnswer {
        let mut names: BTreeMap<&(String, Side), (Total, Total)> = BTreeMap::new();
        for (key, total) in a {
            names.entry(key).or_default().0 = *total;
        }
        for (key, total) in b {
            names.entry(key).or_default().1 = *total;
        }
        let mut rows: Vec<DiffRow> = names
            .into_iter()
            .map(|((name, device), (a, b))| {
                let delta = b.sum_ns - a.sum_ns;
                let change = match delta {
                    _ if a.count == 0 => Change::Added,
                    _ if b.count == 0 => Change::Removed,
                    Ns(0) => Change::Same,
                    Ns(..0) => Change::Faster,
                    _ => Change::Slower,
                };
                DiffRow { name: name.clone(), device: *device, a, b, delta_ns: delta, change }
            })
            .collect();
        // Stable, so that equal ones stay by name.
        rows.sort_by_key(|row| std::cmp::Reverse(row.delta_ns.0.unsigned_abs()));
        DiffAnswer { rows }
    }
}

impl Tabular for DiffAnswer {
    fn tables(&self) -> Vec<Table> {
        let rows = Table::of("rows", "What changed, B less A", &self.rows)
            .int("delta_ns", Unit::Ns, "Summed time of B less that of A", |r| r.delta_ns.0)
            .text("change", "Added, removed, faster, slower or same", |r| r.change.label().to_owned())
            .text("device", "On the host or on the GPU", |r| {
                if r.device == Side::Gpu { "gpu" } else { "cpu" }.to_owned()
            })
            .int("a_ns", Unit::Ns, "Summed time in A", |r| r.a.sum_ns.0)
            .int("b_ns", Unit::Ns, "Summed time in B", |r| r.b.sum_ns.0)
            .int("a_count", Unit::Count, "How often in A", |r| r.a.count as i64)
            .int("b_count", Unit::Count, "How often in B", |r| r.b.count as i64)
            .text("name", "The event", |r| r.name.clone())
            .build();
        vec![rows]
    }
}

/// The totals of one run: what [`DiffAnswer::between`] compares.
#[derive(Clone, Copy, Debug, Default)]
pub struct Diff;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TotalsAnswer(pub Totals);

impl Serialize for TotalsAnswer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DiffAnswer::between(&Totals::new(), &self.0).serialize(serializer)
    }
}

impl Tabular for TotalsAnswer {
    fn tables(&self) -> Vec<Table> {
        DiffAnswer::between(&Totals::new(), &self.0).tables()
    }
}

impl Question for Diff {
    type Local = Totals;
    type Answer = TotalsAnswer;

    fn local(&self, _rank: u32, view: View<'_>) -> Totals {
        let trace = view.trace;
        let mut sums: FxHashMap<(StrId, Side), Total> = FxHashMap::default();
        let mut add = |name: StrId, side: Side, time: Ns| {
            let total = sums.entry((name, side)).or_default();
            total.count += 1;
            total.sum_ns += time;
        };
        for event in view.gpu() {
            add(trace.name_id(event.row), Side::Gpu, event.dur());
        }
        for row in trace.rows().filter(|row| view.selection.has(*row)) {
            let class = trace.class(row);
            let repeats = matches!(
                class,
                Class::ProfilerSpan | Class::GpuAnnotation | Class::Sync | Class::ProfilerRange
            );
            if let Some((start, end)) = trace.span(row).filter(|_| !class.is_gpu() && !repeats) {
                add(trace.name_id(row), Side::Cpu, end - start);
            }
        }
        sums.into_iter()
            .map(|((name, side), total)| ((trace.strings.get(name).to_owned(), side), total))
            .collect()
    }

    fn merge(&self, locals: Vec<Totals>) -> TotalsAnswer {
        let mut all = Totals::new();
        for (key, total) in locals.into_iter().flatten() {
            let sum = all.entry(key).or_default();
            sum.count += total.count;
            sum.sum_ns += total.sum_ns;
        }
        TotalsAnswer(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::trace;

    #[test]
    fn changes_are_named_and_the_largest_comes_first() {
        let a = trace()
            .kernel("gemm", 7, 0..100, None)
            .kernel("gone", 7, 100..105, None)
            .kernel("same", 7, 105..115, None)
            .host("cpu_op", "aten::mm", 0..50)
            .host("gpu_user_annotation", "forward", 0..500)
            .build();
        let b = trace()
            .kernel("gemm", 7, 0..40, None)
            .kernel("same", 7, 105..115, None)
            .kernel("new", 7, 120..130, None)
            .host("cpu_op", "aten::mm", 0..70)
            .build();
        let answer = DiffAnswer::between(&a.ask(&Diff).0, &b.ask(&Diff).0);
        let rows: Vec<_> =
            answer.rows.iter().map(|r| (r.name.as_str(), r.device, r.delta_ns.0, r.change)).collect();
        assert_eq!(
            rows,
            [
                ("gemm", Side::Gpu, -60, Change::Faster),
                ("aten::mm", Side::Cpu, 20, Change::Slower),
                ("new", Side::Gpu, 10, Change::Added),
                ("gone", Side::Gpu, -5, Change::Removed),
                ("same", Side::Gpu, 0, Change::Same),
            ]
        );
        let itself = DiffAnswer::between(&a.ask(&Diff).0, &a.ask(&Diff).0);
        assert!(itself.rows.iter().all(|row| row.change == Change::Same && row.delta_ns == Ns::ZERO));
    }
}
