//! What changed from one run to another?
//!
//! Both runs are reduced to the count and the summed time of every event name, on the GPU and on the host
//! apart, over all ranks; the difference is B less A. Rows that only repeat other rows' time (GPU annotations,
//! synchronisation and profiler rows) are left out. Beside them stand the figures of `breakdown` and the period of
//! each step, of the median rank of each run. Instead of two runs, one rank of a run can be compared with another,
//! or with the median of the others.

mod figures;
mod side;

use std::collections::BTreeMap;

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Class, Ns, StrId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::Question;
use crate::gate::{Measure, Metric, Verdict};

pub use side::{RankSide, Side, StepRow, Summary};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    Cpu,
    Gpu,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    pub count: u64,
    pub sum_ns: Ns,
}

/// Every name of a run with its total.
pub type Totals = BTreeMap<(String, Place), Total>;

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
    pub device: Place,
    pub a: Total,
    pub b: Total,
    pub delta_ns: Ns,
    pub change: Change,
}

/// The figures of both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Compared {
    pub a: Summary,
    pub b: Summary,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiffAnswer {
    pub summary: Compared,
    pub steps: Vec<StepRow>,
    /// Largest change first, either way.
    pub rows: Vec<DiffRow>,
    /// What became of the condition, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Verdict>,
}

impl DiffAnswer {
    pub fn between(a: &Side, b: &Side) -> DiffAnswer {
        DiffAnswer {
            summary: Compared { a: a.summary.clone(), b: b.summary.clone() },
            steps: side::steps(a, b),
            rows: DiffAnswer::rows(&a.totals, &b.totals),
            gate: None,
        }
    }

    /// What a condition can ask of.
    pub fn metrics(&self) -> Vec<Metric> {
        Summary::metrics(&self.summary.a, &self.summary.b)
    }

    fn rows(a: &Totals, b: &Totals) -> Vec<DiffRow> {
        let mut names: BTreeMap<&(String, Place), (Total, Total)> = BTreeMap::new();
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
        rows
    }
}

impl Tabular for DiffAnswer {
    fn tables(&self) -> Vec<Table> {
        let rows = Table::of("rows", "What changed, B less A", &self.rows)
            .int("delta_ns", Unit::Ns, "Summed time of B less that of A", |r| r.delta_ns.0)
            .text("change", "Added, removed, faster, slower or same", |r| r.change.label().to_owned())
            .text("device", "On the host or on the GPU", |r| {
                if r.device == Place::Gpu { "gpu" } else { "cpu" }.to_owned()
            })
            .int("a_ns", Unit::Ns, "Summed time in A", |r| r.a.sum_ns.0)
            .int("b_ns", Unit::Ns, "Summed time in B", |r| r.b.sum_ns.0)
            .int("a_count", Unit::Count, "How often in A", |r| r.a.count as i64)
            .int("b_count", Unit::Count, "How often in B", |r| r.b.count as i64)
            .text("name", "The event", |r| r.name.clone())
            .build();
        let metrics = self.metrics();
        let times: Vec<&Metric> = metrics.iter().filter(|metric| metric.measure == Measure::Ns).collect();
        let delta = |m: &&Metric| m.a.and_then(|a| Some(m.b?.saturating_sub(a)));
        let summary = Table::of("summary", "Figures of the median rank", &times)
            .text("metric", "The figure, as `breakdown` defines it", |m| m.name.to_owned())
            .int("a_ns", Unit::Ns, "In A", |m| m.a)
            .int("b_ns", Unit::Ns, "In B", |m| m.b)
            .int("delta_ns", Unit::Ns, "B less A", delta)
            .float("change_pct", Unit::Percent, "B less A, of A", |m| {
                m.a.filter(|a| *a != 0).and_then(|a| Some(Ns(delta(m)?).pct_of(Ns(a))))
            })
            .build();
        let mut tables = vec![summary, rows];
        if !self.steps.is_empty() {
            tables.insert(1, steps_table(&self.steps));
        }
        if let Some(gate) = &self.gate {
            tables.insert(0, gate_table(gate));
        }
        tables
    }
}

fn steps_table(steps: &[StepRow]) -> Table {
    let ns = |time: Option<Ns>| time.map(|time| time.0);
    Table::of("steps", "Time from step to step", steps)
        .int("a_step", Unit::None, "The step in A", |s| s.a_step)
        .int("b_step", Unit::None, "The step in B", |s| s.b_step)
        .int("a_period_ns", Unit::Ns, "Its period in A; none for the first", |s| ns(s.a_period_ns))
        .int("b_period_ns", Unit::Ns, "Its period in B", |s| ns(s.b_period_ns))
        .int("delta_ns", Unit::Ns, "B less A", |s| ns(s.delta_ns))
        .build()
}

fn gate_table(gate: &Verdict) -> Table {
    let title = format!("{}: {}", if gate.failed { "Failed" } else { "Passed" }, gate.condition);
    Table::of("gate", title, &gate.clauses)
        .text("holds", "Whether the clause holds", |c| if c.holds { "yes" } else { "no" }.to_owned())
        .text("clause", "A part of the condition", |c| c.clause.clone())
        .text("message", "What the figure did", |c| c.message.clone())
        .build()
}

/// The ranks of one run, ready to be compared: see [`Side`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Diff;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSide(pub Vec<RankSide>);

impl Serialize for RunSide {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DiffAnswer::between(&Side::default(), &Side::run(&self.0)).serialize(serializer)
    }
}

impl Tabular for RunSide {
    fn tables(&self) -> Vec<Table> {
        DiffAnswer::between(&Side::default(), &Side::run(&self.0)).tables()
    }
}

impl Question for Diff {
    type Local = RankSide;
    type Answer = RunSide;

    fn local(&self, rank: u32, view: View<'_>) -> RankSide {
        RankSide::of(rank, view)
    }

    fn merge(&self, locals: Vec<RankSide>) -> RunSide {
        RunSide(locals)
    }
}

/// Every name of a rank with its total.
fn totals(view: View<'_>) -> Totals {
    let trace = view.trace;
    let mut sums: FxHashMap<(StrId, Place), Total> = FxHashMap::default();
    let mut add = |name: StrId, place: Place, time: Ns| {
        let total = sums.entry((name, place)).or_default();
        total.count += 1;
        total.sum_ns += time;
    };
    for event in view.gpu() {
        add(trace.name_id(event.row), Place::Gpu, event.dur());
    }
    for row in trace.rows().filter(|row| view.selection.has(*row)) {
        let class = trace.class(row);
        let repeats =
            matches!(class, Class::ProfilerSpan | Class::GpuAnnotation | Class::Sync | Class::ProfilerRange);
        if let Some((start, end)) = trace.span(row).filter(|_| !class.is_gpu() && !repeats) {
            add(trace.name_id(row), Place::Cpu, end - start);
        }
    }
    sums.into_iter()
        .map(|((name, place), total)| ((trace.strings.get(name).to_owned(), place), total))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Loaded, trace};

    fn side(loaded: &Loaded) -> Side {
        Side::run(&loaded.ask(&Diff).0)
    }

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
        let answer = DiffAnswer::between(&side(&a), &side(&b));
        let rows: Vec<_> =
            answer.rows.iter().map(|r| (r.name.as_str(), r.device, r.delta_ns.0, r.change)).collect();
        assert_eq!(
            rows,
            [
                ("gemm", Place::Gpu, -60, Change::Faster),
                ("aten::mm", Place::Cpu, 20, Change::Slower),
                ("new", Place::Gpu, 10, Change::Added),
                ("gone", Place::Gpu, -5, Change::Removed),
                ("same", Place::Gpu, 0, Change::Same),
            ]
        );
        let itself = DiffAnswer::between(&side(&a), &side(&a));
        assert!(itself.rows.iter().all(|row| row.change == Change::Same && row.delta_ns == Ns::ZERO));
    }

    fn steps(first: i64, ends: [i64; 3]) -> Loaded {
        let mut sample = trace();
        let mut start = 0;
        for (number, end) in (first..).zip(ends) {
            let corr = number + 1;
            sample = sample.step(number, start..end - 10).call(corr, start + 1..start + 2);
            sample = sample.kernel("gemm", 7, end - 20..end, corr);
            start = end - 5;
        }
        sample.build()
    }

    #[test]
    fn steps_are_paired_by_number_or_in_their_order() {
        let answer =
            DiffAnswer::between(&side(&steps(4, [100, 200, 300])), &side(&steps(4, [100, 210, 330])));
        let rows: Vec<_> = answer.steps.iter().map(|s| (s.a_step, s.b_step, s.delta_ns)).collect();
        assert_eq!(
            rows,
            [(Some(4), Some(4), None), (Some(5), Some(5), Some(Ns(10))), (Some(6), Some(6), Some(Ns(20)))]
        );
        let metrics = answer.metrics();
        assert_eq!((metrics[0].name, metrics[0].a, metrics[0].b), ("step_time", Some(100), Some(115)));
        let elsewhere =
            DiffAnswer::between(&side(&steps(4, [100, 200, 300])), &side(&steps(90, [100, 200, 300])));
        assert_eq!((elsewhere.steps[1].a_step, elsewhere.steps[1].b_step), (Some(5), Some(91)));
        assert_eq!(elsewhere.steps[1].delta_ns, Some(Ns(0)));
    }

    #[test]
    fn a_rank_is_compared_with_the_median_of_the_others() {
        let rank = |rank: u32, time: i64| {
            let part = trace().kernel("gemm", 7, 0..time, None).build().ask(&Diff).0.remove(0);
            RankSide { rank, ..part }
        };
        let ranks = [rank(0, 10), rank(1, 30), rank(2, 20), rank(3, 900)];
        let median = Side::median_rank(&ranks, 3);
        assert_eq!(median.totals[&("gemm".to_owned(), Place::Gpu)], Total { count: 1, sum_ns: Ns(20) });
        assert_eq!(median.summary.busy_ns, Some(Ns(20)));
        let answer = DiffAnswer::between(&median, &Side::rank(&ranks[3]));
        assert_eq!(answer.rows[0].delta_ns, Ns(880));
        assert_eq!(Side::run(&ranks).totals[&("gemm".to_owned(), Place::Gpu)].sum_ns, Ns(960));
    }
}
