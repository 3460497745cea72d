//! Small servers written as text.

use gpuscope_trace::{Arg, Phase, Selection, ServingPhase};

use super::*;
use crate::testing::{Sample, trace};

const STEP: i64 = 100;

impl Sample {
    /// A step that launches one kernel of its own and one graph of two.
    fn served(self, number: i64, name: &str, busy: i64) -> Sample {
        let at = number * STEP;
        let (own, graph) = (2 * number + 1, 2 * number + 2);
        self.host("user_annotation", name, at..at + 50)
            .call(own, at + 1..at + 2)
            .named_call("cudaGraphLaunch", graph, at + 3..at + 5)
            .kernel("sample", 7, at + 10..at + 12, own)
            .kernel("gemm", 7, at + 15..at + 15 + busy, graph)
            .kernel("norm", 7, at + 15 + busy..at + 20 + busy, graph)
    }

    fn launching(mut self, kernel: Option<&str>, time: std::ops::Range<i64>) -> Sample {
        let kernel = kernel.map(|kernel| self.intern(kernel));
        let (start, dur) = (Some(time.start), Some(time.end - time.start));
        self.event(Phase::Complete, "cuda_runtime", "hipLaunchKernel", start, dur, |record| {
            if let Some(kernel) = kernel {
                record.set_text(Arg::LaunchedKernel, kernel);
            }
        })
    }
}

fn decode(requests: i64) -> String {
    format!("execute_context_0(0)_generation_{requests}({requests})")
}

#[test]
fn steps_own_what_they_launch() {
    let loaded = trace()
        .served(0, "execute_context_2(300)_generation_0(0)", 40)
        .served(1, &decode(2), 10)
        .host("user_annotation", "step[DECODE bs=2]", 110..120)
        .build();
    let answer = loaded.ask(&Inference::default());
    let steps: Vec<_> = answer.steps.iter().map(|s| (s.step, s.phase, s.requests, s.tokens)).collect();
    assert_eq!(
        steps,
        [(0, ServingPhase::Prefill, Some(2), Some(300)), (1, ServingPhase::Decode, Some(2), Some(2))]
    );
    let times: Vec<_> = answer
        .steps
        .iter()
        .map(|s| (s.busy_ns.0, s.idle_ns.0, s.gap_ns.map(|n| n.0), s.period_ns.map(|n| n.0)))
        .collect();
    assert_eq!(times, [(47, 3, None, None), (17, 3, Some(50), Some(70))]);
    assert_eq!((answer.steps[0].gpu_events, answer.steps[0].replayed, answer.steps[0].wall_ns.0), (3, 2, 50));
    // Two steps are no steady state.
    assert_eq!((answer.steady.len(), answer.phases.len()), (0, 2));
    let replays = &answer.replays[0];
    assert_eq!(
        (replays.replays, replays.events, replays.replayed_ns.0, replays.attributed_ns.0),
        (2, 4, 60, 0)
    );
    assert_eq!(answer.replayed_kernels[0].name, "gemm");
    assert_eq!((answer.replayed_kernels[0].count, answer.replayed_kernels[0].operator.as_deref()), (2, None));
}

#[test]
fn the_steady_state_is_the_longest_full_stretch() {
    // Filling, a stretch with a hole, a burst that sets no standard, draining.
    let requests = [1, 4, 16, 16, 9, 16, 15, 16, 17, 16, 16, 8, 4, 2, 16];
    let sample = requests
        .iter()
        .enumerate()
        .fold(trace(), |sample, (i, requests)| sample.served(i as i64, &decode(*requests), 10));
    let answer = sample.build().ask(&Inference::default());
    let steady = &answer.steady[0];
    assert_eq!((steady.full_batch, steady.first_step, steady.last_step, steady.steps), (Some(16), 2, 10, 9));
    assert_eq!((steady.time_ns.0, steady.busy_ns.0), (9 * STEP, 9 * 17));
    assert_eq!(steady.decode_tokens, Some(16 + 16 + 9 + 16 + 15 + 16 + 17 + 16 + 16));
    assert_eq!((steady.prefill_tokens, steady.decode_steps, steady.mixed_steps), (Some(0), 9, 0));
    let marked: Vec<i64> = answer.steps.iter().filter(|step| step.steady).map(|step| step.step).collect();
    assert_eq!(marked, (2..=10).collect::<Vec<_>>());
    let phases: Vec<_> =
        answer.phases.iter().map(|p| (p.steady, p.steps, p.median_period_ns.map(|n| n.0))).collect();
    assert_eq!(phases, [(false, 15, Some(STEP)), (true, 9, Some(STEP))]);
}

#[test]
fn without_requests_only_the_first_step_warms_up() {
    let sample = (0..5).fold(trace(), |sample, i| sample.served(i, &format!("execute_diffusion_{i}"), 10));
    let answer = sample.build().ask(&Inference::default());
    assert_eq!(
        (answer.steady[0].first_step, answer.steady[0].last_step, answer.steady[0].full_batch),
        (1, 4, None)
    );
    assert_eq!(answer.steady[0].decode_tokens, None);
}

fn captures(sample: Sample) -> Arc<Captures> {
    let all = Selection::everything();
    Arc::new(Captures::join(vec![Captures::of(sample.build().view(&all))]))
}

/// A captured graph of two nodes in a module.
fn captured(sample: Sample, at: i64, batch: i64, kernels: [Option<&str>; 2], layer: &str) -> Sample {
    sample
        .host("user_annotation", &format!("capture_{batch}_FULL"), at..at + 90)
        .host("python_function", &format!("nn.Module: {layer}"), at + 1..at + 80)
        .named_call("hipStreamBeginCapture", at + 9000, at + 2..at + 3)
        .host("cpu_op", "aten::mm", at + 10..at + 20)
        .launching(kernels[0], at + 12..at + 13)
        .host("cpu_op", "aten::norm", at + 30..at + 40)
        .launching(kernels[1], at + 32..at + 33)
        .named_call("hipStreamEndCapture", at + 9001, at + 70..at + 71)
        .launching(Some("outside"), at + 72..at + 73)
}

fn owners(captures: Arc<Captures>, served: Sample) -> Vec<(String, Option<String>, Option<String>, u64)> {
    let answer = served.build().ask(&Inference { captures });
    answer.replayed_kernels.into_iter().map(|row| (row.name, row.operator, row.module, row.count)).collect()
}

fn owned(
    name: &str,
    operator: &str,
    module: &str,
    count: u64,
) -> (String, Option<String>, Option<String>, u64) {
    (name.to_owned(), Some(operator.to_owned()), Some(module.to_owned()), count)
}

#[test]
fn a_capture_names_what_is_replayed() {
    let named = [Some("gemm"), Some("norm")];
    let sample = captured(trace(), 0, 4, named, "Small");
    let sample = captured(sample, 1000, 8, named, "Fits");
    let sample = captured(sample, 2000, 16, [Some("norm"), Some("other")], "Large");
    let found = owners(captures(sample), trace().served(0, &decode(7), 40));
    assert_eq!(found, [owned("gemm", "aten::mm", "Fits", 1), owned("norm", "aten::norm", "Fits", 1)]);
}

#[test]
fn order_is_enough_where_launches_have_no_names() {
    let found =
        owners(captures(captured(trace(), 0, 8, [None, None], "Block")), trace().served(0, &decode(8), 40));
    assert_eq!(found, [owned("gemm", "aten::mm", "Block", 1), owned("norm", "aten::norm", "Block", 1)]);
}

#[test]
fn pieces_of_one_sort_are_replayed_in_order() {
    let named = [Some("gemm"), Some("norm")];
    let layers = ["A", "B"]
        .iter()
        .enumerate()
        .fold(trace(), |sample, (i, layer)| captured(sample, 1000 * i as i64, 8, named, layer));
    let twice = trace()
        .served(0, &decode(8), 10)
        .named_call("cudaGraphLaunch", 77, 40..41)
        .kernel("gemm", 7, 60..75, 77)
        .kernel("norm", 7, 75..76, 77);
    let mut found = owners(captures(layers), twice);
    found.retain(|(name, ..)| name == "gemm");
    assert_eq!(found, [owned("gemm", "aten::mm", "B", 1), owned("gemm", "aten::mm", "A", 1)]);
}

#[test]
fn kernels_that_the_capture_lacks_stay_unnamed() {
    let sample = captured(trace(), 0, 8, [Some("norm"), Some("norm")], "Block");
    let found = owners(captures(sample), trace().served(0, &decode(8), 40));
    assert_eq!(found[0], ("gemm".to_owned(), None, None, 1));
    assert_eq!(found[1], owned("norm", "aten::mm", "Block", 1));
}

#[test]
fn nothing_recorded_is_nothing_said() {
    let answer = trace().kernel("gemm", 7, 1..2, None).build().ask(&Inference::default());
    assert_eq!(answer, InferenceAnswer::default());
}
