//! Servers and captures of their graphs.

use gpuscope_trace::{Ns, Selection, ServingPhase};

use super::{Analyze, AnalyzeAnswer};
use crate::Question;
use crate::testing::{Sample, trace};

const STEP: i64 = 1_000_000;
const KERNELS: i64 = 50;

fn decode(number: i64) -> String {
    format!("execute_context_0(0)_generation_{number}({number})")
}

/// Four steps of a server whose host launches a kernel of 2 µs every 19 µs.
fn eager() -> Sample {
    (0..4).fold(trace(), |sample, step| {
        let at = step * STEP;
        let sample = sample.host("user_annotation", &decode(8), at..at + 990_000);
        (0..KERNELS).fold(sample, |sample, kernel| {
            let (call, corr) = (at + 10_000 + kernel * 19_000, step * KERNELS + kernel + 1);
            sample.call(corr, call..call + 4_000).kernel("gemm", 7, call + 5_000..call + 7_000, corr)
        })
    })
}

/// The same kernels as one graph each.
fn replayed() -> Sample {
    (0..4).fold(trace(), |sample, step| {
        let (at, corr) = (step * STEP, step + 1);
        let sample = sample.host("user_annotation", &decode(8), at..at + 990_000).named_call(
            "cudaGraphLaunch",
            corr,
            at + 10_000..at + 20_000,
        );
        (0..KERNELS).fold(sample, |sample, kernel| {
            let start = at + 25_000 + kernel * 19_000;
            sample.kernel("gemm", 7, start..start + 2_000, corr)
        })
    })
}

fn captured() -> Sample {
    let sample = trace()
        .host("user_annotation", "capture_8_FULL", 0..1_000_000)
        .named_call("cudaStreamBeginCapture", 900, 10..20)
        .named_call("cudaStreamEndCapture", 901, 900_000..900_010)
        .call(902, 950_000..950_010)
        .kernel("fill", 7, 960_000..960_100, 902);
    (0..KERNELS).fold(sample, |sample, kernel| {
        let call = 1_000 + kernel * 10_000;
        sample.call(kernel + 1, call..call + 4_000)
    })
}

fn ids(answer: &AnalyzeAnswer) -> Vec<&'static str> {
    answer.findings.iter().map(|finding| finding.id).collect()
}

#[test]
fn decode_steps_that_wait_for_launches_are_found_with_what_a_token_takes() {
    let answer = eager().build().ask(&Analyze);
    let serving = answer.inference.as_ref().unwrap();
    assert_eq!(serving.time_per_output_token_ns, Some(Ns(STEP)));
    let [row] = &*serving.phases else { panic!("only decode steps") };
    assert_eq!((row.phase, row.steps, row.median_ns), (ServingPhase::Decode, 4, Ns(STEP)));
    assert_eq!((row.mean_requests, row.replayed_pct), (Some(8.0), 0.0));
    // Of the first, which has no step before it, the annotation; of the others the time from end to end.
    assert!((row.gpu_busy_pct - 100.0 * 400_000.0 / (990_000.0 + 3_000_000.0)).abs() < 1e-9);
    assert_eq!((answer.step.median_ns, answer.step.steps), (Some(Ns(STEP)), 4));
    assert_eq!(ids(&answer), ["decode_host_bound"]);
    let found = &answer.findings[0];
    let claim: Vec<_> = found.claim.0.iter().map(|(name, number)| (*name, *number)).collect();
    let idle = 4 * (49 * 17_000);
    assert_eq!(
        claim,
        [("decode_steps", 4), ("idle_ns", idle), ("kernels", 200), ("steps", 4), ("time_ns", 3_990_000)]
    );
    // All launches of a step but the first cost nothing, nor does what lies between them.
    assert!(found.gain_pct.is_some_and(|pct| (75.0..95.0).contains(&pct)), "{:?}", found.gain_pct);
    let verdict = &answer.verdict;
    assert!(verdict.starts_with("A token takes 1.00 ms, the GPU busy 10 % of it; up to"), "{verdict}");
    assert!(verdict.ends_with(" in launch-bound decoding."), "{verdict}");
}

#[test]
fn graphs_that_are_used_are_not_advised() {
    let answer = replayed().build().ask(&Analyze);
    assert_eq!(answer.inference.as_ref().map(|serving| serving.replayed_pct), Some(100.0));
    assert!(answer.lacks_capture());
    assert!(!ids(&answer).contains(&"decode_host_bound"), "{:?}", ids(&answer));
}

#[test]
fn a_lone_step_of_a_server_is_a_step_and_other_lone_annotations_are_none() {
    let lone = |name: &str| {
        let sample =
            trace().host("user_annotation", name, 0..500).call(1, 10..20).kernel("gemm", 7, 30..900, 1);
        sample.build().ask(&Analyze)
    };
    let answer = lone(&decode(8));
    assert_eq!((answer.step.median_ns, answer.step.inferred), (Some(Ns(900)), true));
    assert!(answer.breakdown.ranks[0].steps.is_empty());
    assert_eq!(answer.inference.unwrap().time_per_output_token_ns, Some(Ns(900)));
    let answer = lone("execute_everything");
    assert_eq!((answer.step.median_ns, answer.inference), (None, None));
}

#[test]
fn what_the_first_step_waits_for_earlier_work_is_no_time_of_its_phase() {
    let sample = trace().host("user_annotation", &decode(8), 0..50_000).call(1, 10_000..20_000);
    let answer = sample.kernel("gemm", 7, 420_000..920_000, 1).build().ask(&Analyze);
    let serving = answer.inference.unwrap();
    assert_eq!(serving.time_per_output_token_ns, Some(Ns(500_000)));
    assert_eq!((serving.held_up_ns, serving.phases[0].gpu_busy_pct), (Ns(400_000), 100.0));
}

#[test]
fn a_capture_of_graphs_is_not_explained_as_a_run() {
    let answer = captured().build().ask(&Analyze);
    let capture = answer.graph_capture.unwrap();
    assert_eq!((capture.graphs, capture.launches), (1, 50));
    assert_eq!((ids(&answer), answer.joint_gain_ns), (vec![], None));
    assert!(
        answer.verdict.starts_with("This is the capture of a CUDA graph, not a run"),
        "{}",
        answer.verdict
    );
}

#[test]
fn a_run_that_captures_a_graph_and_replays_it_is_a_run() {
    let run = (0..KERNELS).fold(
        captured().named_call("cudaGraphLaunch", 999, 1_000_000..1_000_100),
        |sample, kernel| {
            let start = 1_000_200 + kernel * 1_000;
            sample.kernel("gemm", 7, start..start + 900, 999)
        },
    );
    assert_eq!(run.build().ask(&Analyze).graph_capture, None);
}

#[test]
fn beside_a_run_its_capture_is_no_rank() {
    let all = Selection::everything();
    let (run, capture) = (replayed().build(), captured().build());
    let locals = vec![Analyze.local(0, run.view(&all)), Analyze.local(1, capture.view(&all))];
    let answer = Analyze.merge(locals);
    assert_eq!(answer.graph_capture, None);
    assert_eq!(answer.breakdown.ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), [0]);
}
