//! Operators on small traces worked out by hand, and on random ones against the definition taken at its word.

use std::collections::BTreeMap;
use std::ops::Range;

use gpuscope_trace::metadata::Device;
use gpuscope_trace::{Arg, Id, Interval, Phase, Selection, TimeSet};
use gpuscope_work::gpus::Peaks;
use proptest::prelude::*;

use super::*;
use crate::testing::{Loaded, RANK, Sample, json, trace};

fn op(sample: Sample, name: &str, shapes: &str, time: Range<i64>) -> Sample {
    sample.op_on(name, shapes, time)
}

fn rows(answer: &OpsAnswer) -> Vec<(&str, u64, i64, i64)> {
    let row = |row: &OpRow| (row.count, row.direct_kernel_ns.0, row.subtree_kernel_ns.0);
    answer.ops.iter().map(|op| (op.name.as_str(), row(op).0, row(op).1, row(op).2)).collect()
}

/// A matrix product inside of a linear layer, a graph, and a kernel without a launch.
fn sample() -> Loaded {
    let sample = op(trace(), "vllm::rocm_unquantized_gemm", "[[2, 3], [4, 3]]", 0..100);
    op(sample, "aten::mm", "[[2, 3], [3, 4]]", 10..80)
        .call(1, 20..25)
        .call(2, 30..35)
        .kernel("gemm", 7, 40..50, 1)
        .kernel("reduce", 8, 45..60, 2)
        .call(3, 85..90)
        .kernel("add", 7, 58..70, 3)
        .host("cpu_op", "execute", 300..400)
        .named_call("hipGraphLaunch", 5, 310..320)
        .kernel("x", 7, 330..335, 5)
        .kernel("y", 7, 340..345, 5)
        .kernel("unlaunched", 7, 400..410, None)
        .build()
}

#[test]
fn time_is_united_per_call_and_a_graph_is_a_row() {
    let answer = sample().ask(&Ops::default());
    assert_eq!(
        rows(&answer),
        [("aten::mm", 1, 20, 20), ("vllm::rocm_unquantized_gemm", 1, 12, 30), ("hipGraphLaunch", 1, 10, 10)]
    );
    let about = &answer.ranks[0];
    assert_eq!((about.calls, about.direct_kernel_ns), (3, Ns(42)));
    assert_eq!((about.unlinked_kernels, about.unlinked_kernel_ns), (1, Ns(10)));
    assert!((about.unlinked_pct - 100.0 * 10.0 / 57.0).abs() < 1e-12);
    assert!((answer.ops[0].pct - 100.0 * 20.0 / 42.0).abs() < 1e-12);
    let direct: Ns = answer.categories.iter().map(|row| row.direct_kernel_ns).sum();
    assert_eq!(direct, Ns(42));
}

#[test]
fn top_keeps_the_largest_and_says_what_it_left_out() {
    let answer = sample().ask(&Ops { top: Some(1), ..Ops::default() });
    assert_eq!(rows(&answer), [("aten::mm", 1, 20, 20)]);
    assert_eq!((answer.ranks[0].rows_left_out, answer.ranks[0].left_out_kernel_ns), (2, Ns(22)));
}

#[test]
fn by_arguments_an_operator_with_a_model_has_a_row_although_others_launch_for_it() {
    let sample = op(trace(), "vllm::rocm_unquantized_gemm", "[[2, 3], [4, 3]]", 0..100);
    let sample = op(sample, "aten::mm", "[[2, 3], [3, 4]]", 10..80);
    let sample = sample.call(1, 20..25).kernel("gemm", 7, 40..48, 1);
    let sample = op(sample, "aten::mm", "[[2, 3], [3, 5]]", 110..180);
    let loaded = sample.call(2, 120..125).kernel("gemm", 7, 140..150, 2).build();
    let answer = loaded.ask(&Ops { by: By::Arguments, ..Ops::default() });
    assert_eq!(
        rows(&answer),
        [("aten::mm", 1, 10, 10), ("aten::mm", 1, 8, 8), ("vllm::rocm_unquantized_gemm", 1, 0, 8)]
    );
    let json = json(&answer);
    assert_eq!(json["ops"][0]["input_dims"], serde_json::json!([[2, 3], [3, 5]]));
    assert_eq!(json["ops"][0]["concrete_inputs"], serde_json::Value::Null);
    assert_eq!(json["ops"][0]["gflops"], 60e-9);
    assert_eq!(json["ops"][0]["data_moved_bytes"], 2 * (6 + 15 + 10));
    assert_eq!(json["ops"][0]["bound"], serde_json::Value::Null);
    // 60 operations in 10 ns.
    assert_eq!(json["ops"][0]["tflops_per_s"], 0.006);
    assert_eq!(loaded.ask(&Ops::default()).ops.len(), 1);
}

/// Half an operation per nanosecond, and two bytes.
fn slow_gpu() -> Limits {
    limits("bf16=0.0005,memory=2")
}

fn limits(peaks: &str) -> Limits {
    Limits { peaks: Peaks::parse(peaks).unwrap(), ..Limits::default() }
}

#[test]
fn the_roofline_is_the_longer_of_computing_and_moving() {
    let sample = op(trace(), "aten::mm", "[[2, 3], [3, 5]]", 0..100);
    let loaded = sample.call(1, 20..25).kernel("gemm", 7, 40..280, 1).build();
    let ask = |limits| loaded.ask(&Ops { by: By::Arguments, limits, ..Ops::default() });
    // 60 operations take 120 ns, 62 bytes 31.
    let work = ask(slow_gpu()).ops[0].work.clone().unwrap();
    assert_eq!((work.bound, work.pct_roofline), (Some(Bound::Compute), Some(50.0)));
    let work = ask(limits("bf16=0.0005,memory=0.5")).ops[0].work.clone().unwrap();
    assert_eq!((work.bound, work.pct_roofline), (Some(Bound::Memory), Some(100.0 * 124.0 / 240.0)));
    assert_eq!(ask(limits("memory=2")).ops[0].work.clone().unwrap().bound, None);
    let unknown = ask(Limits::default());
    assert_eq!(unknown.ops[0].work.clone().unwrap().bound, None);
    let trouble = Ops::default().quality(&unknown);
    assert_eq!((trouble[0].code, trouble[0].rank), (Code::UnknownGpu, Some(RANK)));
}

#[test]
fn products_of_float_count_as_tf32_where_a_kernel_rounds_to_it() {
    let mm = |kernel: &str| {
        let shapes = [(Arg::InputDims, "[[2, 3], [3, 5]]"), (Arg::InputTypes, r#"["float", "float"]"#)];
        let loaded = trace().op_with(&shapes, 0..100).call(1, 20..25).kernel(kernel, 7, 40..280, 1).build();
        let asked =
            Ops { by: By::Arguments, limits: limits("fp32=0.0005,tf32=0.001,memory=2"), ..Ops::default() };
        let answer = loaded.ask(&asked);
        let work = answer.ops[0].work.clone().unwrap();
        (work.precision, work.pct_roofline, answer.mfu.by_precision[0].peak_tflops_per_s)
    };
    // 60 operations take 120 ns in fp32 and 60 in TF32, 124 bytes 62.
    assert_eq!(mm("ampere_sgemm_32x32_tn"), (Some("fp32"), Some(50.0), Some(0.0005)));
    assert_eq!(mm("gemm"), (Some("fp32"), Some(50.0), Some(0.0005)), "a name that says nothing");
    let tf32 = mm("cutlass_80_tensorop_s1688gemm_256x64_16x4_nn_align4");
    assert_eq!(tf32, (Some("tf32"), Some(100.0 * 62.0 / 240.0), Some(0.001)));
}

#[test]
fn by_name_rates_are_those_of_all_calls_whose_work_is_known() {
    let product = |sample, shapes: &str, start: i64, correlation: i64, ns: i64| {
        op(sample, "aten::mm", shapes, start..start + 50).call(correlation, start + 1..start + 2).kernel(
            "gemm",
            7,
            1000 + start..1000 + start + ns,
            correlation,
        )
    };
    let mut sample = product(trace(), "[[10, 20], [20, 30]]", 0, 1, 40);
    sample = product(sample, "[[10, 20], [20, 30]]", 100, 2, 60);
    sample = product(sample, "[[1, 500], [500, 1]]", 200, 3, 80);
    sample = product(sample, "[]", 300, 4, 1_000);
    let loaded = sample.build();
    let asked = |by| loaded.ask(&Ops { by, limits: slow_gpu(), ..Ops::default() }).ops;
    let parts: Vec<OpRow> = asked(By::Arguments);
    let known = || parts.iter().filter(|row| row.work.as_ref().unwrap().pct_roofline.is_some());
    let mean = |of: fn(&WorkOfOp) -> Option<f64>| {
        let time: i64 = known().map(|row| row.subtree_kernel_ns.0).sum();
        let part = |row: &OpRow| of(row.work.as_ref().unwrap()).unwrap() * row.subtree_kernel_ns.as_f64();
        known().map(part).sum::<f64>() / time as f64
    };
    assert_eq!((known().count(), parts.len()), (2, 3));
    let [all] = &asked(By::Name)[..] else { panic!("one operator") };
    let work = all.work.clone().unwrap();
    assert_eq!((all.count, work.gflops, work.bound), (4, None, Some(Bound::Compute)));
    for of in [
        |work: &WorkOfOp| work.pct_roofline,
        |work: &WorkOfOp| work.tflops_per_s,
        |work: &WorkOfOp| work.tb_per_s,
    ] {
        assert!((of(&work).unwrap() / mean(of) - 1.0).abs() < 1e-12, "{work:?}");
    }
}

#[test]
fn the_gpu_is_the_one_the_trace_tells() {
    let sample = op(trace(), "aten::mm", "[[2, 3], [3, 5]]", 0..100);
    let sample = sample.call(1, 20..25).kernel("gemm", 7, 40..280, 1).about(|metadata| {
        let device = |id, name: &str| Device { id, name: Some(name.to_owned()), ..Device::default() };
        metadata.devices = vec![device(3, "Tesla T4"), device(0, "NVIDIA H100 80GB HBM3")];
    });
    let answer = sample.build().ask(&Ops { by: By::Arguments, ..Ops::default() });
    assert!(answer.mfu.ranks[0].gpu.as_deref().unwrap().contains("H100"));
    assert!(answer.ops[0].work.clone().unwrap().pct_roofline.is_some());
    assert!(Ops::default().quality(&answer).is_empty());
}

#[test]
fn nested_operators_with_models_count_once_and_recomputation_apart() {
    let mut sample = trace();
    for (i, name) in ["vllm::rocm_unquantized_gemm", "again"].into_iter().enumerate() {
        let from = 1000 * i as i64;
        if name == "again" {
            sample = sample
                .host("cpu_op", "autograd::engine::evaluate_function: MmBackward0", from..from + 300)
                .host("python_function", "torch/utils/checkpoint.py(1): recompute_fn", from..from + 299);
        }
        sample = op(sample, "vllm::rocm_unquantized_gemm", "[[2, 3], [4, 3]]", from..from + 100);
        sample = op(sample, "aten::mm", "[[2, 3], [3, 4]]", from + 10..from + 80)
            .call(1 + i as i64, from + 20..from + 25)
            .kernel("gemm", 7, from + 40..from + 140, 1 + i as i64);
    }
    let loaded = sample.kernel("unlaunched", 7, 1140..1240, None).build();
    let per_step = PerStep { tokens: Some(12.0), ..PerStep::default() };
    let asked = Ops { limits: slow_gpu(), recompute: true, per_step, ..Ops::default() };
    let answer = loaded.ask(&asked);
    let all = &answer.mfu.all;
    // From 40 to 1240, without steps.
    assert_eq!((all.model_flops, all.hardware_flops, all.step_ns), (48, 96, Some(Ns(1200))));
    assert_eq!((all.mfu_pct, all.hfu_pct), (Some(100.0 * 96.0 / 1200.0), Some(100.0 * 192.0 / 1200.0)));
    assert!((all.coverage_pct - 100.0 * 2.0 / 3.0).abs() < 1e-12 && all.at_least);
    assert_eq!((all.flops_per_token, all.tokens_per_s), (Some(4.0), Some(1e7)));
    let apart: Vec<_> = answer.ops.iter().map(|row| (row.recompute, row.direct_kernel_ns.0)).collect();
    assert_eq!(apart, [(Some(false), 100), (Some(true), 100)]);
    assert_eq!(answer.ranks[0].recompute_kernel_ns, Ns(100));
    let told = Ops { per_step: PerStep { model_flops: Some(480.0), tokens: None }, ..asked };
    let mfu = loaded.ask(&told).mfu.all;
    assert_eq!((mfu.model_flops, mfu.mfu_pct), (480, Some(80.0)));
}

#[test]
fn flops_are_those_of_a_step_and_ranks_add_up() {
    let mut sample = trace();
    for step in 0..4 {
        let from = 1000 * step;
        sample = sample.step(step, from..from + 1000);
        sample = op(sample, "aten::mm", "[[2, 3], [3, 4]]", from + 10..from + 80)
            .call(1 + step, from + 20..from + 25)
            .kernel("gemm", 7, from + 40..from + 140, 1 + step);
    }
    let loaded = sample.build();
    let ops = Ops { limits: slow_gpu(), ..Ops::default() };
    let everything = Selection::everything();
    let answer = ops.merge([0, 1].map(|rank| ops.local(rank, loaded.view(&everything))).into());
    let one = &answer.mfu.ranks[1].of;
    assert_eq!((one.model_flops, one.step_ns, one.steps), (48, Some(Ns(1000)), 3));
    assert_eq!((one.mfu_pct, one.at_least), (Some(9.6), false));
    let all = &answer.mfu.all;
    assert_eq!((all.model_flops, all.mfu_pct, all.step_ns), (96, Some(9.6), Some(Ns(1000))));
}

#[test]
fn recorded_flops_are_compared_where_both_are_known() {
    let mut sample = trace();
    for (i, flops) in [48, 49, 24].into_iter().enumerate() {
        let from = 100 * i as i64;
        let dims = sample.intern("[[2, 3], [3, 4]]");
        sample = sample
            .event(Phase::Complete, "cpu_op", "aten::mm", Some(from), Some(90), |record| {
                record.set_text(Arg::InputDims, dims);
                record.set_int(Arg::Flops, flops);
            })
            .call(1 + i as i64, from + 10..from + 20)
            .kernel("gemm", 7, from + 40..from + 50, 1 + i as i64);
    }
    let about = sample.build().ask(&Ops::default()).ranks[0].clone();
    assert_eq!((about.recorded_flops_calls, about.recorded_flops_differ), (3, 2));
}

#[test]
fn kernels_of_a_row_are_by_name_stream_and_launcher() {
    let answer = sample().ask(&Ops { kernels: true, ..Ops::default() });
    let kernels = |row: usize| answer.ops[row].kernels.clone().unwrap();
    let mm: Vec<_> = kernels(0).into_iter().map(|k| (k.name, k.stream, k.sum_ns.0)).collect();
    assert_eq!(mm, [("reduce".to_owned(), Some(8), 15), ("gemm".to_owned(), Some(7), 10)]);
    assert_eq!(kernels(2)[0].launcher, "hipGraphLaunch");
    let durations = [5, 1, 4, 10];
    let mut several = trace().host("cpu_op", "op", 0..100);
    for (i, length) in (0..).zip(durations) {
        several = several.call(1 + i, 10 + i..11 + i).kernel("k", 7, 100 * i..100 * i + length, 1 + i);
    }
    let kernel =
        several.build().ask(&Ops { kernels: true, ..Ops::default() }).ops[0].kernels.clone().unwrap();
    let figures =
        (kernel[0].count, kernel[0].median_ns, kernel[0].min_ns, kernel[0].max_ns, kernel[0].mean_ns);
    assert_eq!(figures, (4, Ns(4), Ns(1), Ns(10), 5.0));
}

#[test]
fn overlap_is_the_time_another_stream_of_the_device_was_busy() {
    let loaded = trace()
        .host("cpu_op", "a", 0..10)
        .call(1, 1..2)
        .call(2, 3..4)
        .kernel("k", 7, 100..200, 1)
        .kernel("l", 7, 220..230, 2)
        .host("cpu_op", "b", 20..30)
        .call(3, 21..22)
        .kernel("m", 8, 150..225, 3)
        .on(1)
        .call(4, 24..25)
        .kernel("elsewhere", 9, 100..110, 4)
        .build();
    let answer = loaded.ask(&Ops { overlap: true, ..Ops::default() });
    let overlaps: Vec<_> =
        answer.ops.iter().map(|op| (op.name.as_str(), op.overlap.unwrap().overlap_ns.0)).collect();
    assert_eq!(overlaps, [("a", 55), ("b", 55)]);
    assert!((answer.ops[0].overlap.unwrap().overlap_pct - 50.0).abs() < 1e-12);
}

#[test]
fn short_kernels_are_counted_with_the_gaps_before_them() {
    let loaded = trace()
        .host("cpu_op", "a", 0..10)
        .call(1, 1..2)
        .call(2, 3..4)
        .call(3, 5..6)
        .kernel("k", 7, 100..109, 1)
        .kernel("long", 7, 120..220, 2)
        .kernel("k", 7, 250_000..250_002, 3)
        .kernel("k", 7, 250_005..250_008, None)
        .build();
    let short = loaded.ask(&Ops { short_kernels: Some(Ns(10)), ..Ops::default() }).short_kernels.unwrap();
    assert_eq!((short.events, short.count, short.sum_ns), (4, 3, Ns(14)));
    // The price of a launch at most, and 3.
    assert_eq!(short.gap_ns, Ns(30_003));
    let rows: Vec<_> = short.rows.iter().map(|row| (row.op.as_deref(), row.count, row.gap_ns.0)).collect();
    assert_eq!(rows, [(Some("a"), 2, 30_000), (None, 1, 3)]);
    let filled: Vec<_> =
        short.histogram.iter().filter(|bin| bin.count > 0).map(|bin| (bin.from_ns.0, bin.to_ns.0)).collect();
    assert_eq!(filled, [(2, 3), (3, 4), (9, 10)]);
}

/// A host event or a launch with its kernel on one of two threads.
#[derive(Clone, Debug)]
struct Random {
    start: i64,
    length: i64,
    thread: i64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Operator(&'static str),
    Frame,
    Launch { start: i64, length: i64 },
}

fn random() -> impl Strategy<Value = Random> {
    let what = prop_oneof![
        3 => prop_oneof![Just("a"), Just("b"), Just("execute")].prop_map(What::Operator),
        1 => Just(What::Frame),
        3 => (0..60i64, 0..20i64).prop_map(|(start, length)| What::Launch { start, length }),
    ];
    (0..40i64, 0..25i64, 1..3i64, what).prop_map(|(start, length, thread, what)| Random {
        start,
        length,
        thread,
        what,
    })
}

fn build(events: &[Random]) -> Loaded {
    let mut sample = trace();
    for (correlation, event) in (1..).zip(events) {
        let (category, name) = match event.what {
            What::Operator(name) => ("cpu_op", name),
            What::Frame => ("python_function", "frame"),
            What::Launch { .. } => ("cuda_runtime", "cudaLaunchKernel"),
        };
        let (start, length) = (Some(event.start), Some(event.length));
        sample = sample.event(Phase::Complete, category, name, start, length, |record| {
            record.tid = Id::Int(event.thread);
            if category == "cuda_runtime" {
                record.set_int(Arg::Correlation, correlation);
            }
        });
        if let What::Launch { start, length } = event.what {
            sample = sample.kernel("k", event.thread, 100 + start..100 + start + length, correlation);
        }
    }
    sample.build()
}

fn united(kernels: &[Interval]) -> i64 {
    TimeSet::from_unsorted(kernels.iter().copied()).len().0
}

/// The definition, operator by operator and launch by launch.
fn brute(events: &[Random]) -> BTreeMap<String, (u64, i64, i64)> {
    let holds = |outer: &Random, inner: &Random| {
        outer.thread == inner.thread
            && outer.start <= inner.start
            && inner.start + inner.length <= outer.start + outer.length
    };
    let is_operator = |event: &&Random| matches!(event.what, What::Operator(name) if name != "execute");
    // As they nest: by start, the longer first, then in file order.
    let mut order: Vec<&Random> = events.iter().collect();
    order.sort_by_key(|event| (event.start, -event.length));
    let mut direct: BTreeMap<*const Random, Vec<Interval>> = BTreeMap::new();
    let mut below: BTreeMap<*const Random, Vec<Interval>> = BTreeMap::new();
    for launch in &order {
        let What::Launch { start, length } = launch.what else { continue };
        let kernel = Interval::new(Ns(start), Ns(start + length));
        let around: Vec<&Random> =
            order.iter().copied().filter(is_operator).filter(|operator| holds(operator, launch)).collect();
        let owner = around.last().map_or(std::ptr::from_ref(*launch), |owner| std::ptr::from_ref(*owner));
        direct.entry(owner).or_default().push(kernel);
        // Outwards, from each operator to the last begun before it that holds all of it.
        let mut here = around.last().copied();
        while let Some(operator) = here {
            below.entry(std::ptr::from_ref(operator)).or_default().push(kernel);
            let before = order.iter().copied().take_while(|event| !std::ptr::eq(*event, operator));
            here = before.filter(is_operator).filter(|outer| holds(outer, operator)).last();
        }
        if around.is_empty() {
            below.entry(owner).or_default().push(kernel);
        }
    }
    let mut rows: BTreeMap<String, (u64, i64, i64)> = BTreeMap::new();
    for event in events {
        let at = std::ptr::from_ref(event);
        let Some(kernels) = direct.get(&at) else { continue };
        let name = match event.what {
            What::Operator(name) => name,
            _ => "cudaLaunchKernel",
        };
        let row = rows.entry(name.to_owned()).or_default();
        *row = (row.0 + 1, row.1 + united(kernels), row.2 + united(&below[&at]));
    }
    rows
}

#[test]
fn a_launch_without_length_at_the_end_of_its_operator_belongs_to_it_whatever_begins_there() {
    let loaded = trace()
        .host("cpu_op", "aten::mm", 16..25)
        .host("python_function", "next", 25..26)
        .call(1, 25..25)
        .kernel("gemm", 7, 30..40, 1)
        .build();
    assert_eq!(rows(&loaded.ask(&Ops::default())), [("aten::mm", 1, 10, 10)]);
}

proptest! {
    #[test]
    fn rows_are_what_the_definition_says(events in proptest::collection::vec(random(), 0..30)) {
        let answer = build(&events).ask(&Ops::default());
        let found: BTreeMap<String, (u64, i64, i64)> = rows(&answer)
            .into_iter()
            .map(|(name, count, direct, subtree)| (name.to_owned(), (count, direct, subtree)))
            .collect();
        prop_assert_eq!(found, brute(&events));
        prop_assert_eq!(answer.ranks[0].rank, RANK);
    }
}

#[test]
fn a_deep_nest_is_not_quadratic() {
    // Every operator launches one kernel, outer ones after inner ones on the GPU: the worst order for unions.
    let depth = 20_000;
    let mut sample = trace();
    for i in 0..depth {
        sample = sample.host("cpu_op", "op", i..4 * depth - i).call(1 + i, i..i);
        sample = sample.kernel("k", 7, 10 * (depth - i)..10 * (depth - i) + 5, 1 + i);
    }
    let answer = sample.build().ask(&Ops::default());
    assert_eq!(rows(&answer), [("op", depth as u64, 5 * depth, 5 * depth * (depth + 1) / 2)]);
}
