//! What changed from one run to another?
//!
//! Both runs are reduced to the count and the summed time of every event name, on the GPU and on the host
//! apart, over all ranks; the difference is B less A. Rows that only repeat other rows' time (GPU annotations,
//! synchronisation and profiler rows) are left out. Beside them stand the figures of `breakdown` and the period of
//! each step, of the median rank of each run. Instead of two runs, one rank of a run can be compared with another,
//! or with the median of the others.
//!
//! [`DiffAnswer::verdict`] says it in a sentence, [`Cause`] puts the change of GPU time down to operators. Names on the
//! host are compared twice: as they are (`rows`), and without what changes from run to run by itself, the lines of files
//! and addresses of objects (`host`).

mod causes;
mod figures;
mod recorded;
mod side;
mod table;
mod verdict;

use std::collections::BTreeMap;

use gpuscope_table::{Table, Tabular};
use gpuscope_trace::{Class, Ns, StrId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::Question;
use crate::shared::gate::{Metric, Verdict};

pub use causes::{Cause, CauseKind, Per};
pub use recorded::{Recorded, StepParts};
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
    /// Of the host, without what was called within.
    #[serde(skip)]
    pub own_ns: Ns,
}

impl Total {
    fn add(&mut self, other: Total) {
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.own_ns += other.own_ns;
    }
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

/// A name on the host on both sides, its own time being that without what was called within.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostRow {
    pub a_own_ns: Ns,
    pub b_own_ns: Ns,
    pub own_delta_ns: Ns,
    #[serde(flatten)]
    pub row: DiffRow,
}

/// The names of the GPUs of both sides; empty where a trace does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hardware {
    pub a: Vec<String>,
    pub b: Vec<String>,
}

/// A part of the median step on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PartRow {
    pub part: &'static str,
    pub a_ns: Ns,
    pub b_ns: Ns,
    pub delta_ns: Ns,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DiffAnswer {
    /// What changed, in one sentence.
    pub verdict: String,
    pub hardware: Hardware,
    pub summary: Compared,
    /// Empty unless both sides have steps.
    pub step_parts: Vec<PartRow>,
    pub steps: Vec<StepRow>,
    /// What the GPU times of causes are of.
    pub per: Per,
    /// Largest change first, either way.
    pub causes: Vec<Cause>,
    /// By name; largest change first, either way.
    pub rows: Vec<DiffRow>,
    /// Those of the host without lines of files and addresses of objects; largest change of own time first.
    pub host: Vec<HostRow>,
    /// What became of the condition, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Verdict>,
}

impl DiffAnswer {
    pub fn between(a: &Side, b: &Side) -> DiffAnswer {
        let per = Per::of(&a.recorded, &b.recorded);
        let causes = Cause::between(a, b, per);
        let rows = DiffAnswer::rows(&a.totals, &b.totals);
        let parts = recorded::parts(&a.recorded, &b.recorded);
        let host = side::host(a, b);
        let comparison =
            verdict::Comparison { a, b, rows: &rows, host: &host, parts: &parts, causes: &causes, per };
        let names = |side: &Side| side.recorded.hardware.iter().cloned().collect();
        DiffAnswer {
            verdict: comparison.sentence(),
            hardware: Hardware { a: names(a), b: names(b) },
            summary: Compared { a: a.summary.clone(), b: b.summary.clone() },
            step_parts: parts,
            steps: side::steps(a, b),
            per,
            causes,
            rows,
            host,
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

/// The ranks of one run, ready to be compared: see [`Side`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Diff;

#[derive(Clone, Debug, Default)]
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
    let mut add = |name: StrId, place: Place, sum_ns: Ns, own_ns: Ns| {
        sums.entry((name, place)).or_default().add(Total { count: 1, sum_ns, own_ns });
    };
    for event in view.gpu() {
        add(trace.name_id(event.row), Place::Gpu, event.dur(), Ns::ZERO);
    }
    let within = times_within(view);
    for row in trace.rows().filter(|row| view.selection.has(*row)) {
        let class = trace.class(row);
        let repeats = matches!(class, Class::ProfilerSpan | Class::GpuAnnotation | Class::Sync | Class::ProfilerRange)
                // Threads that serve nobody wait in calls of the system for as long as the process lives.
                || class == Class::OsRuntime;
        if let Some((start, end)) = trace.span(row).filter(|_| !class.is_gpu() && !repeats) {
            let own = Ns::ZERO.max(end - start - within[row as usize]);
            add(trace.name_id(row), Place::Cpu, end - start, own);
        }
    }
    sums.into_iter()
        .map(|((name, place), total)| ((trace.strings.get(name).to_owned(), place), total))
        .collect()
}

/// Per host row the time of what was called directly within.
fn times_within(view: View<'_>) -> Vec<Ns> {
    let trace = view.trace;
    let nesting = view.index.nesting(trace);
    let mut within = vec![Ns::ZERO; trace.len()];
    for row in trace.rows().filter(|row| trace.class(*row).is_host()) {
        if let (Some(outside), Some((start, end))) = (nesting.parent(row), trace.span(row)) {
            within[outside as usize] += end - start;
        }
    }
    within
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
        assert_eq!(
            median.totals[&("gemm".to_owned(), Place::Gpu)],
            Total { count: 1, sum_ns: Ns(20), own_ns: Ns(0) }
        );
        assert_eq!(median.summary.busy_ns, Some(Ns(20)));
        let answer = DiffAnswer::between(&median, &Side::rank(&ranks[3]));
        assert_eq!(answer.rows[0].delta_ns, Ns(880));
        assert_eq!(Side::run(&ranks).totals[&("gemm".to_owned(), Place::Gpu)].sum_ns, Ns(960));
    }
}
