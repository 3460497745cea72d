//! What did hardware counters measure, operator by operator?
//!
//! A profiler with counters (`cuda_profiler_range`) replays kernels one by one and gives each a range with its
//! readings, but no time of its own and no link. Ranges come in the order of the launches: if there are as many of
//! one as of the other, the n-th range is the n-th launch, and belongs to the operators around that call on its
//! thread. If not, ranges have no operator, and `linked` says so.
//!
//! Counters that a profiler read at a steady pace while the program ran (`sampled`: of a GPU, of a network card) belong to no
//! kernel.
//!
//! Over several ranges counters are added up, but for means and shares (`.avg`, `.pct`, `.ratio`, `per_second`),
//! of which the mean is taken, and `.max` and `.min`.

mod measured;
mod reading;
mod sampled;
mod speed;
mod table;

use std::collections::BTreeMap;

use gpuscope_trace::{Class, Holds, Metrics, Ns, Payload, Row, View};
use serde::Serialize;

use crate::Question;

pub use measured::{JoinedRow, MetricRow, RuleRow};
pub use reading::Readings;
pub use sampled::SampledRow;
pub(crate) use sampled::sampled;
pub use speed::LaunchRow;
pub(crate) use table::joined;

use measured::Launched;

/// One range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Range {
    pub rank: u32,
    pub kernel: String,
    /// The operators around the launch, the outermost first.
    pub op_stack: Vec<String>,
    /// The launching call's start.
    pub launch_ns: Option<Ns>,
    #[serde(flatten)]
    pub readings: Readings,
}

/// All ranges below one operator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorCounters {
    pub rank: u32,
    /// The innermost operator; none for ranges without one.
    pub name: Option<String>,
    pub count: u64,
    /// Floating-point operations, where the counters that tell them were recorded.
    pub flops: Option<i64>,
    #[serde(flatten)]
    pub readings: Readings,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RankCounters {
    pub rank: u32,
    pub ranges: u64,
    pub launches: u64,
    /// Whether ranges and launches could be joined.
    pub linked: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CountersAnswer {
    pub ranks: Vec<RankCounters>,
    pub ops: Vec<OperatorCounters>,
    pub ranges: Vec<Range>,
    /// What Nsight Compute measured, launch by launch and metric by metric, and what its rules say.
    pub launches: Vec<LaunchRow>,
    pub metrics: Vec<MetricRow>,
    pub rules: Vec<RuleRow>,
    /// The same beside a trace.
    pub joined: Vec<JoinedRow>,
    /// What was read again and again while the program ran.
    pub sampled: Vec<SampledRow>,
}

/// What one rank contributes, or one page of Nsight Compute.
#[derive(Debug, Default)]
pub struct LocalCounters {
    answer: CountersAnswer,
    measured: Option<Metrics>,
    launched: Option<Launched>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Counters;

impl Question for Counters {
    type Local = LocalCounters;
    type Answer = CountersAnswer;

    fn reads(&self) -> &'static [Holds] {
        &[Holds::Events, Holds::Metrics]
    }

    fn local(&self, rank: u32, view: View<'_>) -> LocalCounters {
        if let Some(Payload::Metrics(metrics)) = &view.trace.payload {
            return LocalCounters { measured: Some(metrics.clone()), ..LocalCounters::default() };
        }
        let launched = Some(Launched::of(rank, view));
        let answer = CountersAnswer { sampled: sampled::rows(rank, view), ..ranges(rank, view) };
        LocalCounters { answer, measured: None, launched }
    }

    fn merge(&self, locals: Vec<LocalCounters>) -> CountersAnswer {
        let mut all = CountersAnswer::default();
        let (mut measured, mut launched) = (Vec::new(), Vec::new());
        for local in locals {
            all.ranks.extend(local.answer.ranks);
            all.ops.extend(local.answer.ops);
            all.ranges.extend(local.answer.ranges);
            all.sampled.extend(local.answer.sampled);
            measured.extend(local.measured);
            launched.extend(local.launched);
        }
        for metrics in &measured {
            all.launches.extend(speed::rows(metrics));
            let (metrics, rules) = measured::rows(metrics);
            all.metrics.extend(metrics);
            all.rules.extend(rules);
        }
        all.joined = measured::joined(&measured, &launched);
        all
    }
}

/// What torch.profiler read of a rank's kernels.
fn ranges(rank: u32, view: View<'_>) -> CountersAnswer {
    let trace = view.trace;
    let ranges = by_start(view, |row| trace.class(row) == Class::ProfilerRange);
    if ranges.is_empty() {
        return CountersAnswer::default();
    }
    let launches = by_start(view, |row| is_kernel_launch(view, row));
    let linked = ranges.len() == launches.len();
    let mut readings = Readings::by_row(trace);
    let range = |(i, row): (usize, &Row)| {
        let launch = launches.get(i).copied().filter(|_| linked);
        Range {
            rank,
            kernel: trace.name(*row).to_owned(),
            op_stack: launch.map(|call| op_stack(view, call)).unwrap_or_default(),
            launch_ns: launch.and_then(|call| trace.start(call)),
            readings: readings.remove(row).unwrap_or_default(),
        }
    };
    let selected = ranges.iter().enumerate().filter(|(_, row)| view.selection.has(**row));
    let joined: Vec<Range> = selected.map(range).collect();
    let of_rank = RankCounters { rank, ranges: ranges.len() as u64, launches: launches.len() as u64, linked };
    let ops = by_operator(rank, &joined);
    CountersAnswer { ranks: vec![of_rank], ops, ranges: joined, ..CountersAnswer::default() }
}

/// Duration events of a sort by start, then in file order.
fn by_start(view: View<'_>, is_wanted: impl Fn(Row) -> bool) -> Vec<Row> {
    let trace = view.trace;
    let mut rows: Vec<Row> =
        trace.rows().filter(|row| trace.dur(*row).is_some() && is_wanted(*row)).collect();
    rows.sort_by_key(|row| trace.start(*row));
    rows
}

/// `cudaLaunchKernel`, `cudaLaunchCooperativeKernel`, `cuLaunchKernelEx`, `hipExtModuleLaunchKernel`, …
fn is_kernel_launch(view: View<'_>, row: Row) -> bool {
    let name = view.trace.name(row);
    view.trace.class(row).is_call() && name.contains("Launch") && name.contains("Kernel")
}

fn op_stack(view: View<'_>, call: Row) -> Vec<String> {
    let around = view.index.nesting(view.trace).ancestors(call);
    let operators = around.filter(|row| view.trace.class(*row) == Class::Operator);
    let mut stack: Vec<String> = operators.map(|row| view.trace.name(row).to_owned()).collect();
    stack.reverse();
    stack
}

fn by_operator(rank: u32, ranges: &[Range]) -> Vec<OperatorCounters> {
    let mut groups: BTreeMap<Option<&String>, Vec<&Readings>> = BTreeMap::new();
    for range in ranges {
        groups.entry(range.op_stack.last()).or_default().push(&range.readings);
    }
    let operator = |(name, group): (Option<&String>, Vec<&Readings>)| {
        let readings = Readings::over(&group);
        let count = group.len() as u64;
        OperatorCounters { rank, name: name.cloned(), count, flops: readings.flops(), readings }
    };
    let mut operators: Vec<OperatorCounters> = groups.into_iter().map(operator).collect();
    // Stable: equal ones stay by name.
    operators.sort_by_key(|op| std::cmp::Reverse((op.flops, op.count)));
    operators
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::{Phase, StrId};

    use super::*;
    use crate::testing::{Sample, json, trace};

    const FMA: &str = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
    const ADD: &str = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum";
    const OCCUPANCY: &str = "sm__warps_active.avg.pct_of_peak_sustained_active";

    fn range(sample: Sample, start: i64, kernel: &str, counters: [(&str, f64); 3]) -> Sample {
        let mut names = [StrId::EMPTY; 3];
        let sample =
            sample.texts(|strings| names = counters.map(|(name, _)| strings.intern(name.as_bytes())));
        sample.event(Phase::Complete, "cuda_profiler_range", kernel, Some(start), Some(5), |record| {
            record.readings.extend(names.into_iter().zip(counters.map(|(_, value)| value)));
        })
    }

    fn measured() -> Sample {
        let sample = trace()
            .host("cpu_op", "aten::linear", 0..100)
            .host("cpu_op", "aten::addmm", 10..90)
            .call(2, 40..45)
            .call(1, 20..25)
            .host("cpu_op", "aten::relu", 200..300)
            .named_call("cuLaunchKernel", 3, 210..215)
            .named_call("cudaMemcpyAsync", 4, 220..225);
        let sample = range(sample, 7, "bias", [(FMA, 0.0), (ADD, 5.0), (OCCUPANCY, 50.0)]);
        let sample = range(sample, 1, "gemm", [(FMA, 1e10), (ADD, 1.0), (OCCUPANCY, 25.0)]);
        range(sample, 9, "relu", [(FMA, 0.0), (ADD, 0.0), (OCCUPANCY, 90.0)])
    }

    #[test]
    fn the_nth_range_is_the_nth_launch() {
        let answer = measured().build().ask(&Counters);
        let stacks: Vec<_> =
            answer.ranges.iter().map(|r| (r.kernel.as_str(), r.op_stack.join("/"))).collect();
        assert_eq!(
            stacks,
            [
                ("gemm", "aten::linear/aten::addmm".to_owned()),
                ("bias", "aten::linear/aten::addmm".to_owned()),
                ("relu", "aten::relu".to_owned()),
            ]
        );
        let json = json(&answer);
        assert_eq!(json["ops"][0]["name"], "aten::addmm");
        assert_eq!(json["ops"][0]["count"], 2);
        assert_eq!(json["ops"][0]["flops"], 20_000_000_006_i64);
        assert_eq!(json["ops"][0][FMA], 10_000_000_000_i64);
        assert_eq!(json["ops"][0][OCCUPANCY], 37.5);
    }

    #[test]
    fn ranges_that_cannot_be_joined_are_given_to_nobody() {
        let answer = measured().call(9, 400..401).build().ask(&Counters);
        assert!(!answer.ranks[0].linked);
        assert_eq!(answer.ops.len(), 1);
        assert_eq!((answer.ops[0].name.as_deref(), answer.ops[0].count), (None, 3));
        assert_eq!(trace().call(1, 0..5).build().ask(&Counters), CountersAnswer::default());
    }
}
