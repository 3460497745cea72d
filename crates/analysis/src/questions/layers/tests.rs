use gpuscope_trace::Arg;

use super::*;
use crate::testing::{Loaded, Sample, trace};

fn module(sample: Sample, thread: i64, name: &str, time: std::ops::Range<i64>) -> Sample {
    sample.on_thread(thread, "python_function", &format!("nn.Module: {name}"), time, &[])
}

/// A launch on a thread and a kernel of some length.
fn launch(sample: Sample, thread: i64, at: i64, kernel: &str, ns: i64) -> Sample {
    let corr = [(Arg::Correlation, at)];
    let call = sample.on_thread(thread, "cuda_runtime", "cudaLaunchKernel", at..at + 1, &corr);
    call.kernel(kernel, 7, 10_000 + 20 * at..10_000 + 20 * at + ns, at)
}

fn forward(sample: Sample, thread: i64, number: i64, time: std::ops::Range<i64>) -> Sample {
    sample.on_thread(
        thread,
        "cpu_op",
        "aten::mm",
        time,
        &[(Arg::SequenceNumber, number), (Arg::FwdThreadId, 0)],
    )
}

fn backward(sample: Sample, name: &str, number: i64, time: std::ops::Range<i64>) -> Sample {
    let name = format!("autograd::engine::evaluate_function: {name}");
    sample.on_thread(2, "cpu_op", &name, time, &[(Arg::SequenceNumber, number), (Arg::FwdThreadId, 1)])
}

/// Module, parent, pass, calls, own, total, communication.
type Row<'a> = (&'a str, Option<&'a str>, Pass, u64, i64, i64, i64);

fn rows(answer: &LayersAnswer) -> Vec<Row<'_>> {
    answer.ranks[0]
        .layers
        .iter()
        .map(|l| {
            let parent = l.parent.as_deref();
            (l.module.as_str(), parent, l.pass, l.calls, l.own_ns.0, l.total_ns.0, l.comm_ns.0)
        })
        .collect()
}

fn two_calls() -> Loaded {
    let s = module(trace(), 1, "Net_0", 0..100);
    let s = module(s, 1, "Linear_0", 10..50);
    let s = forward(s, 1, 1, 15..30);
    let s = launch(s, 1, 20, "gemm", 7);
    let s = launch(s, 1, 40, "ncclDevKernel_AllGather", 3);
    let s = launch(s, 1, 60, "add", 2);
    let s = module(s, 1, "Net_0", 200..300);
    let s = module(s, 1, "Linear_0", 210..250);
    let s = launch(s, 1, 220, "gemm", 9);
    let s = backward(s, "MmBackward0", 1, 400..450);
    let s = launch(s, 2, 410, "gemm backward", 14);
    launch(s, 2, 460, "of nobody", 5).build()
}

#[test]
fn work_belongs_to_the_innermost_module_and_backward_work_to_the_one_it_undoes() {
    let answer = two_calls().ask(&Layers::default());
    assert_eq!(
        rows(&answer),
        [
            ("Net_0", None, Pass::Forward, 2, 2, 18, 3),
            ("Net_0", None, Pass::Backward, 1, 0, 14, 0),
            ("Linear_0", Some("Net_0"), Pass::Forward, 2, 16, 16, 3),
            ("Linear_0", Some("Net_0"), Pass::Backward, 1, 14, 14, 0),
        ]
    );
    let rank = &answer.ranks[0];
    assert_eq!((rank.compute_ns, rank.without_module_ns), (Ns(37), Ns(5)));
    let spread = rank.layers[2].spread;
    assert_eq!((spread.min_ns, spread.max_ns), (Ns(7), Ns(9)));
    assert_eq!(spread.median_ns.to_bits(), 8.0_f64.to_bits());
    assert_eq!(rows(&two_calls().ask(&Layers { depth: Some(1) })).len(), 2);
}

#[test]
fn what_a_checkpoint_runs_again_belongs_where_it_ran_first() {
    let s = module(trace(), 1, "Net_0", 0..100);
    let s = module(s, 1, "Block_0", 10..90);
    let s = forward(s, 1, 1, 15..80);
    let s = launch(s, 1, 20, "gemm", 7);
    let s = backward(s, "MmBackward0", 1, 200..400);
    let s = s.on_thread(2, "python_function", "torch/utils/checkpoint.py(1): unpack_hook", 210..300, &[]);
    let s = module(s, 2, "Block_0", 220..290);
    let s = launch(s, 2, 230, "gemm again", 8);
    let s = launch(s, 2, 310, "gemm backward", 20);
    let answer = s.build().ask(&Layers::default());
    assert_eq!(
        rows(&answer),
        [
            ("Net_0", None, Pass::Forward, 1, 0, 7, 0),
            ("Net_0", None, Pass::Backward, 1, 0, 20, 0),
            ("Net_0", None, Pass::Recompute, 1, 0, 8, 0),
            ("Block_0", Some("Net_0"), Pass::Forward, 1, 7, 7, 0),
            ("Block_0", Some("Net_0"), Pass::Backward, 1, 20, 20, 0),
            ("Block_0", Some("Net_0"), Pass::Recompute, 1, 8, 8, 0),
        ]
    );
}

#[test]
fn a_trace_without_modules_says_so() {
    let answer = launch(trace(), 1, 20, "gemm", 7).build().ask(&Layers::default());
    assert_eq!(answer.ranks[0].without_module_pct.to_bits(), 100.0_f64.to_bits());
    let said = Layers::default().quality(&answer);
    assert_eq!((said.len(), said[0].code), (1, Code::MissingModules));
    assert!(Layers::default().quality(&two_calls().ask(&Layers::default())).is_empty());
}

#[test]
fn operators_may_tell_their_module() {
    let s = trace().op_with(&[(Arg::ModuleHierarchy, "top.Net.fc.Linear")], 0..100);
    let answer = launch(s, 1, 20, "gemm", 7).build().ask(&Layers::default());
    assert_eq!(rows(&answer), [("top.Net.fc.Linear", None, Pass::Forward, 1, 7, 7, 0)]);
}
