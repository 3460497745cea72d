//! What does each operator launch, and how long does it take to get there?
//!
//! A GPU event belongs to the operator that `ops` counts it for ([`Calls`]). Calls of one operator with the same
//! sequence of GPU events, in order of their launches, are one row: how often it came, how
//! long from the operator's start to its first launch (`op_delay_ns`: dispatch and Python), and from each launch's
//! start to its GPU event's (`launch_delay_ns`: the launch itself and what was queued before). Every launching
//! call counts: of the CUDA and HIP runtimes, of the driver, and of graphs, whose kernels share one.

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Class, GpuEvent, Ns, StrId, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::Question;
use crate::ops::Calls;
use crate::patterns::runs;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorKernels {
    pub rank: u32,
    pub op: String,
    /// In order of their launches.
    pub kernels: Vec<String>,
    pub count: u64,
    pub mean_op_delay_ns: f64,
    pub mean_launch_delay_ns: f64,
    /// Summed time of the GPU events.
    pub gpu_ns: Ns,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpKernelsAnswer {
    pub rows: Vec<OperatorKernels>,
}

impl Tabular for OpKernelsAnswer {
    fn tables(&self) -> Vec<Table> {
        let rows = Table::of("rows", "Operators and what they launch", &self.rows)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
            .int("count", Unit::Count, "Calls", |r| r.count as i64)
            .float("mean_op_delay_ns", Unit::Ns, "Mean, from the operator's start to its first launch", |r| {
                r.mean_op_delay_ns
            })
            .float("mean_launch_delay_ns", Unit::Ns, "Mean, from a launch to its GPU event", |r| {
                r.mean_launch_delay_ns
            })
            .int("gpu_ns", Unit::Ns, "Summed time on the GPU", |r| r.gpu_ns.0)
            .text("op", "The operator", |r| r.op.clone())
            .text("kernels", "What it launches", |r| runs(&r.kernels).collect::<Vec<_>>().join(" → "))
            .build();
        vec![rows]
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct OpKernels;

impl Question for OpKernels {
    type Local = Vec<OperatorKernels>;
    type Answer = OpKernelsAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> Vec<OperatorKernels> {
        let mut found: FxHashMap<Box<[StrId]>, Totals> = FxHashMap::default();
        let mut sequence = Vec::new();
        let calls = Calls::of(view);
        let mut launched = Vec::new();
        for call in 0..calls.len() {
            let operator = calls.row(call);
            if view.trace.class(operator) != Class::Operator {
                continue;
            }
            launched.clear();
            launched.extend(calls.direct(call).iter().filter_map(|event| Launched::of(view, event)));
            // Stable: the kernels of one launch stay by start.
            launched.sort_by_key(|event| event.launch);
            let Some(first) = launched.first().map(|event| event.launch) else { continue };
            sequence.clear();
            sequence.push(view.trace.name_id(operator));
            sequence.extend(launched.iter().map(|event| event.name));
            let totals = match found.get_mut(sequence.as_slice()) {
                Some(totals) => totals,
                None => found.entry(sequence.as_slice().into()).or_default(),
            };
            totals.count += 1;
            let begun = view.trace.start(operator).unwrap_or(first);
            totals.op_delay += i128::from((first - begun).0);
            for event in &launched {
                totals.launch_delay += i128::from((event.start - event.launch).0);
                totals.gpu += event.dur;
            }
        }
        let row = |(sequence, totals): (Box<[StrId]>, Totals)| {
            let text = |id: StrId| view.trace.strings.get(id).to_owned();
            let kernels: Vec<String> = sequence[1..].iter().map(|name| text(*name)).collect();
            OperatorKernels {
                rank,
                op: text(sequence[0]),
                mean_op_delay_ns: totals.op_delay as f64 / totals.count as f64,
                mean_launch_delay_ns: totals.launch_delay as f64
                    / (totals.count as f64 * kernels.len() as f64),
                kernels,
                count: totals.count,
                gpu_ns: totals.gpu,
            }
        };
        let mut rows: Vec<OperatorKernels> = found.into_iter().map(row).collect();
        rows.sort_by(|a, b| {
            (b.count, b.gpu_ns, &a.op, &a.kernels).cmp(&(a.count, a.gpu_ns, &b.op, &b.kernels))
        });
        rows
    }

    fn merge(&self, locals: Vec<Vec<OperatorKernels>>) -> OpKernelsAnswer {
        OpKernelsAnswer { rows: locals.into_iter().flatten().collect() }
    }
}

#[derive(Default)]
struct Totals {
    count: u64,
    op_delay: i128,
    launch_delay: i128,
    gpu: Ns,
}

struct Launched {
    launch: Ns,
    start: Ns,
    dur: Ns,
    name: StrId,
}

impl Launched {
    fn of(view: View<'_>, event: &GpuEvent) -> Option<Launched> {
        let launch = view.trace.start(view.launch(event.row)?)?;
        Some(Launched { launch, start: event.start, dur: event.dur(), name: view.trace.name_id(event.row) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Loaded, trace};

    fn rows(loaded: &Loaded) -> Vec<(String, String, u64, f64, f64)> {
        let rows = loaded.ask(&OpKernels).rows;
        rows.into_iter()
            .map(|r| (r.op, r.kernels.join(","), r.count, r.mean_op_delay_ns, r.mean_launch_delay_ns))
            .collect()
    }

    #[test]
    fn delays_are_means_over_calls_with_the_same_sequence() {
        let loaded = trace()
            .host("cpu_op", "aten::linear", 0..100)
            .host("cpu_op", "aten::addmm", 10..80)
            .call(1, 20..25)
            .call(2, 30..35)
            .kernel("fill", 7, 40..45, 1)
            .kernel("gemm", 7, 50..60, 2)
            .host("cpu_op", "aten::addmm", 200..280)
            .call(3, 230..235)
            .call(4, 240..245)
            .kernel("fill", 7, 250..255, 3)
            .kernel("gemm", 7, 260..270, 4)
            // A graph: two kernels of one launch of the driver.
            .host("cpu_op", "replay", 300..400)
            .named_call("hipGraphLaunch", 5, 310..320)
            .kernel("x", 7, 330..335, 5)
            .kernel("y", 7, 340..345, 5)
            .kernel("unlaunched", 7, 400..410, None)
            .build();
        assert_eq!(
            rows(&loaded),
            [
                ("aten::addmm".to_owned(), "fill,gemm".to_owned(), 2, 20.0, 20.0),
                ("replay".to_owned(), "x,y".to_owned(), 1, 10.0, 25.0),
            ]
        );
    }

    #[test]
    fn an_operator_of_another_thread_has_no_part_in_a_launch() {
        let sample = trace().on_thread(1, "cpu_op", "aten::mm", 0..30, &[]).on_thread(
            2,
            "cpu_op",
            "aten::add",
            1..20,
            &[],
        );
        let loaded = sample.named_call("cuLaunchKernel", 1, 5..10).kernel("gemm", 7, 50..60, 1).build();
        assert_eq!(rows(&loaded), [("aten::mm".to_owned(), "gemm".to_owned(), 1, 5.0, 45.0)]);
    }

    #[test]
    fn a_frame_that_bleeds_over_the_end_of_an_operator_takes_nothing_from_it() {
        let loaded = trace()
            .host("cpu_op", "aten::mm", 0..30)
            .host("python_function", "frame", 10..40)
            .call(1, 15..20)
            .kernel("gemm", 7, 50..60, 1)
            .build();
        assert_eq!(rows(&loaded), [("aten::mm".to_owned(), "gemm".to_owned(), 1, 15.0, 35.0)]);
    }
}
