//! Inference servers as `analyze` sees them, on real traces.

use gpuscope_analysis::Analyze;
use gpuscope_analysis::inference::GraphCapture;
use gpuscope_job::{JobOptions, Run, graph_captures_beside};
use gpuscope_trace::{Code, Ns, ServingPhase};

use crate::corpus::{ask_trace, traces};

#[test]
fn a_decode_step_is_the_time_of_a_token_and_its_capture_no_rank() {
    let Some(traces) = traces() else { return };
    let folder = traces.join("vllm_decode_full").to_string_lossy().into_owned();
    let outcome =
        Run::open(std::slice::from_ref(&folder), JobOptions::default()).unwrap().ask(&Analyze).unwrap();
    let codes: Vec<Code> = outcome.quality.iter().map(|note| note.code).collect();
    assert!(codes.contains(&Code::GraphCapture) && !codes.contains(&Code::OtherCaptures), "{codes:?}");
    assert_eq!(outcome.inputs.len(), 1);
    let serving = outcome.answer.inference.as_ref().unwrap();
    // Its first work, launched 0.5 ms into the step, waits for that of the step before until 8.4 ms.
    assert_eq!((serving.time_per_output_token_ns, serving.held_up_ns), (Some(Ns(10_743_181)), Ns(7_826_151)));
    let [decode] = &*serving.phases else { panic!("one step") };
    assert_eq!((decode.phase, decode.steps, decode.mean_requests), (ServingPhase::Decode, 1, Some(32.0)));
    assert_eq!(format!("{:.1} {:.1}", decode.gpu_busy_pct, decode.replayed_pct), "99.8 97.0");
    assert!(outcome.answer.findings.iter().all(|finding| finding.id != "decode_host_bound"));
    let capture = format!("{folder}/capture/graph_capture_rank_0.json.gz");
    for given in [folder.clone(), format!("{folder}/graph_execution.json.gz")] {
        assert_eq!(graph_captures_beside(&[given]), [capture.as_str()]);
    }
}

#[test]
fn a_real_capture_is_no_run() {
    let Some(traces) = traces() else { return };
    let trace = traces.join("vllm_decode_full/capture/graph_capture_rank_0.json.gz");
    let answer = ask_trace(&trace, &Analyze);
    assert_eq!(answer.graph_capture, Some(GraphCapture { graphs: 1, launches: 421 }));
    assert!(answer.findings.is_empty());
    assert!(answer.verdict.contains("not a run"), "{}", answer.verdict);
}

#[test]
fn real_prefills_are_steps() {
    let Some(traces) = traces() else { return };
    for (name, median, busy, held_up) in [
        // Work from before the recording holds the GPU for half of it.
        ("sglang_prefilldecode.json.gz", 494_083_745, "99.7", 493_283_729),
        ("b200_eager.json.gz", 87_412_863, "13.3", 0),
    ] {
        let answer = ask_trace(&traces.join(name), &Analyze);
        assert_eq!((answer.step.steps, answer.step.inferred), (1, true), "{name}");
        assert!(answer.breakdown.ranks[0].steps.is_empty(), "{name}");
        let serving = answer.inference.unwrap();
        let [prefill] = &*serving.phases else { panic!("{name}: one step") };
        assert_eq!((prefill.phase, prefill.median_ns), (ServingPhase::Prefill, Ns(median)), "{name}");
        assert_eq!(format!("{:.1}", prefill.gpu_busy_pct), busy, "{name}");
        assert_eq!((serving.held_up_ns, serving.time_per_output_token_ns), (Ns(held_up), None), "{name}");
    }
}

#[test]
fn a_model_that_no_server_runs_has_no_phases() {
    let Some(traces) = traces() else { return };
    assert_eq!(ask_trace(&traces.join("h100_qwen.json.gz"), &Analyze).inference, None);
}
