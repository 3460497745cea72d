//! The critical path leads through what was planted, over all ranks and clocks, and leaves no nanosecond out.

use gpuscope_analysis::critical_path::{Bound, CriticalPathAnswer, WindowOf};
use gpuscope_analysis::{Analyze, CriticalPath};
use gpuscope_testkit::{Extent, Fault, Plan, StallCause};
use gpuscope_trace::{Code, Ns, Quality};

use crate::answers::ask;
use crate::corpus::{ask_trace, traces};
use crate::plans::{mixtures, plans};

fn path(plan: &Plan) -> (CriticalPathAnswer, Vec<Quality>) {
    let (_, outcome) = ask(plan, &CriticalPath::default());
    (outcome.answer, outcome.quality)
}

fn share(answer: &CriticalPathAnswer, counts: impl Fn(Bound) -> bool) -> f64 {
    let stretches = answer.path.iter().filter(|stretch| counts(stretch.bound_by));
    stretches.map(|stretch| stretch.dur_ns).sum::<Ns>().pct_of(answer.makespan_ns)
}

fn share_of_rank(answer: &CriticalPathAnswer, rank: u32) -> f64 {
    let stretches = answer.path.iter().filter(|stretch| stretch.rank == rank);
    stretches.map(|stretch| stretch.dur_ns).sum::<Ns>().pct_of(answer.makespan_ns)
}

/// Every nanosecond once: in all, by what holds it up, and one stretch after another while the path stays on a rank.
#[track_caller]
fn covers_its_window(label: &str, answer: &CriticalPathAnswer) {
    let sum: Ns = answer.path.iter().map(|stretch| stretch.dur_ns).sum();
    assert_eq!(sum, answer.makespan_ns, "{label}");
    let by = &answer.makespan_by;
    let bounds = [
        by.cpu_ns,
        by.gpu_compute_ns,
        by.gpu_comm_ns,
        by.gpu_memcpy_ns,
        by.kernel_launch_ns,
        by.kernel_kernel_ns,
        by.sync_ns,
        by.data_loading_ns,
        by.unknown_ns,
    ];
    assert_eq!(bounds.into_iter().sum::<Ns>(), answer.makespan_ns, "{label}");
    for pair in answer.path.windows(2).filter(|pair| pair[0].rank == pair[1].rank) {
        assert_eq!(pair[0].start_ns + pair[0].dur_ns, pair[1].start_ns, "{label}: {pair:?}");
    }
    assert!(answer.path.iter().all(|stretch| stretch.dur_ns > Ns::ZERO), "{label}");
}

fn light() -> Plan {
    Plan::light().ranks(4).layers(4).steps(4)
}

fn heavy() -> Plan {
    Plan::healthy().ranks(4).layers(3).steps(4)
}

#[test]
fn no_nanosecond_is_left_out_on_any_rank_and_clock() {
    let all = plans().into_iter().map(|(label, plan)| (label.to_owned(), plan));
    for (label, plan) in all.chain(mixtures().map(|plan| (format!("{plan:?}"), plan))) {
        covers_its_window(&label, &path(&plan).0);
    }
    let clocks =
        heavy().with_straggler(2, 130).with_clock(1, -7_000_123, 55_001).with_clock(2, 987_654_321, -90_001);
    for window in [WindowOf::MedianStep, WindowOf::Everything] {
        let (_, outcome) = ask(&clocks, &CriticalPath { window });
        covers_its_window("clocks", &outcome.answer);
        assert!(share_of_rank(&outcome.answer, 2) > 50.0, "{:?}", outcome.answer.top);
    }
}

#[test]
fn a_healthy_step_is_computation() {
    for plan in [heavy(), heavy().with_sync_rows(), heavy().with_cuda_graph(), heavy().sharded()] {
        let (answer, quality) = path(&plan);
        let computation = share(&answer, |bound| bound == Bound::GpuCompute);
        assert!(computation > 90.0, "{computation:.1} %: {:?}", answer.makespan_by);
        assert!(answer.unexplained_ns.pct_of(answer.makespan_ns) < 0.1, "{:?}", answer.unexplained_ns);
        assert!(quality.iter().all(|entry| entry.code != Code::UnexplainedDelays), "{quality:?}");
    }
}

#[test]
fn communication_that_nothing_hides_is_on_the_path_as_long_as_it_is_exposed() {
    for plan in [heavy().ranks(2), light(), light().with_sync_rows()] {
        let plan = plan.with_exposed_all_reduce();
        let (truth, outcome) = ask(&plan, &CriticalPath { window: WindowOf::Everything });
        let (found, total) = (outcome.answer.makespan_by.gpu_comm_ns.0, &truth.ranks[0].total);
        let exposed = total.exposed_comm_ns;
        assert!((found - exposed).abs() * 50 < exposed, "{found} on the path, {exposed} exposed");
        assert!(exposed * 20 > total.total_ns, "too little to tell");
    }
}

#[test]
fn what_holds_the_host_up_is_named() {
    let cases = [
        (StallCause::StreamSynchronize, Bound::Sync, "cudaStreamSynchronize"),
        (StallCause::DeviceSynchronize, Bound::Sync, "cudaDeviceSynchronize"),
        (StallCause::Item, Bound::Sync, "cudaStreamSynchronize"),
        (StallCause::BlockingCopy, Bound::GpuMemcpy, "Memcpy HtoD (Pageable -> Device)"),
        (StallCause::Malloc, Bound::Cpu, "cudaMalloc"),
        (StallCause::GarbageCollection, Bound::Cpu, "Python GC"),
        (StallCause::Recompilation, Bound::Cpu, "torch/_inductor/graph.py(2018): compile_to_module"),
        (StallCause::Python, Bound::Cpu, "model.py(93): <listcomp>"),
    ];
    for (cause, bound, name) in cases {
        for plan in [light(), light().with_sync_rows()] {
            let (answer, _) = path(&plan.with_host_stalls(cause, 6_000_000));
            let top = &answer.top[0];
            assert_eq!(
                (top.bound_by, top.name.as_deref()),
                (bound, Some(name)),
                "{cause:?}: {:#?}",
                answer.top
            );
            assert!(top.sum_ns.0 > 4 * 6_000_000 * 6 / 10, "{cause:?}: {top:?}");
        }
    }
    let (answer, _) = path(&light().with_slow_data_loader(60_000_000));
    assert_eq!(answer.top[0].bound_by, Bound::DataLoading, "{:#?}", answer.top);
}

#[test]
fn a_call_that_waits_for_nothing_known_is_unexplained() {
    let (answer, quality) = path(&light().with_host_stalls(StallCause::StreamSynchronize, 6_000_000));
    assert!(answer.unexplained_ns.0 > 4 * 5_900_000, "{:?}", answer.unexplained_ns);
    assert!(quality.iter().any(|entry| entry.code == Code::UnexplainedDelays), "{quality:?}");
}

#[test]
fn the_path_goes_over_to_the_rank_that_the_others_wait_for() {
    for plan in [heavy().with_straggler(2, 130), light().with_straggler(2, 150).with_sync_rows()] {
        let (answer, _) = path(&plan);
        assert!(share_of_rank(&answer, 2) > 80.0, "{:.1} %", share_of_rank(&answer, 2));
    }
    let loader = Fault::DataLoaderStall { at: Extent::rank(3), ns: 60_000_000 };
    let (answer, _) = path(&light().with_fault(loader));
    assert!(share_of_rank(&answer, 3) > 80.0, "{:.1} %", share_of_rank(&answer, 3));
    assert_eq!(answer.top[0].bound_by, Bound::DataLoading, "{:#?}", answer.top);
}

#[test]
fn the_path_of_a_pipeline_leads_through_its_stages() {
    let plan = Plan::healthy().ranks(4).layers(8).steps(4).pipeline(4, 4);
    let (answer, _) = path(&plan);
    covers_its_window("pipeline", &answer);
    for stage in 0..4 {
        assert!(share_of_rank(&answer, stage) > 1.0, "stage {stage}: {:.1} %", share_of_rank(&answer, stage));
    }
    // What a stage waits in a send or receive is another's work, and that is what the path shows.
    assert!(share(&answer, |bound| bound == Bound::GpuCompute) > 85.0, "{:?}", answer.makespan_by);
    assert!(share(&answer, |bound| bound == Bound::Unknown) < 0.1, "{:?}", answer.makespan_by);
}

#[test]
fn real_traces_of_all_makers_are_covered() {
    let Some(traces) = traces() else { return };
    let names = [
        "amd_mi250.json.gz",
        "mi300_timesformer.json.gz",
        "vllm_decode_full",
        "sglang_prefilldecode.json.gz",
        "h100_qwen.json.gz",
        "b200_eager.json.gz",
        "cp_event_sync_multi_stream.json.gz",
        "nccl_4ranks",
    ];
    for name in names {
        for window in [WindowOf::MedianStep, WindowOf::Everything] {
            let answer = ask_trace(&traces.join(name), &CriticalPath { window });
            covers_its_window(name, &answer);
            assert!(answer.makespan_ns > Ns::ZERO, "{name}");
            // Without a host side nothing says what GPU work waited for.
            let unknown = answer.makespan_by.unknown_ns.pct_of(answer.makespan_ns);
            assert!(name == "nccl_4ranks" || unknown < 2.0, "{name}: {unknown:.1} % of {}", answer.window);
        }
    }
}

#[test]
fn the_default_step_of_real_traces_is_the_median_one_and_never_empty() {
    let Some(traces) = traces() else { return };
    // Its step 2 launches nothing; its step 1 is all there is.
    let answer = ask_trace(&traces.join("amd_mi250.json.gz"), &CriticalPath::default());
    assert_eq!((&*answer.window, answer.makespan_ns), ("ProfilerStep#1", Ns(9_288_291)));
    let analyze = ask_trace(&traces.join("amd_mi250.json.gz"), &Analyze);
    assert_eq!(analyze.step.median_ns, Some(answer.makespan_ns));
    let expected = [
        ("mi300_normalization.json.gz", "BatchNorm affine=False"),
        ("nccl_a100.json.gz", "ProfilerStep#6"),
        ("ns_resolution_rank-0.json.gz", "ProfilerStep#104"),
    ];
    for (name, window) in expected {
        assert_eq!(ask_trace(&traces.join(name), &CriticalPath::default()).window, window, "{name}");
    }
}
