//! Several captures of one job in one folder.

use gpuscope_testkit::text::{TraceText, trace};
use serde_json::Value;

use crate::support::{Folder, rank};

#[test]
fn the_newest_of_several_captures_is_answered_and_the_others_are_listed() {
    let folder = Folder::new();
    for iteration in [9, 10] {
        for n in 0..2 {
            folder.write(&format!("log/iter_{iteration}/rank{n}.json"), rank(n).to_json());
        }
    }
    let first = |more: &[&str]| {
        let mut arguments = vec!["temporal", "@log", "--json"];
        arguments.extend(more);
        let ran = folder.run(&arguments);
        assert_eq!(ran.ranks(), [0, 1]);
        assert!(!ran.codes().contains(&"duplicate_rank".to_owned()));
        ran.json()["inputs"][0]["path"].as_str().unwrap().to_owned()
    };
    assert_eq!(first(&[]), "log/iter_10/rank0.json");
    assert_eq!(first(&["--select-capture", "2"]), "log/iter_9/rank0.json");
    assert_eq!(first(&["--select-capture", "iter_9"]), "log/iter_9/rank0.json");
    let ran = folder.run(&["check", "@log"]);
    assert!(ran.out.contains("other_captures"), "{}", ran.out);
    let ran = folder.run(&["temporal", "@log", "--select-capture", "iter_7"]);
    assert_eq!(ran.exit, 2);
    insta::assert_snapshot!(ran.err);
}

#[test]
fn files_of_a_repeating_schedule_are_told_apart_by_the_time_in_their_names() {
    let folder = Folder::new();
    for (stamp, n) in [("1712345678000000000", 0), ("1712345679000000000", 0), ("1712345679100000000", 1)] {
        folder.write(&format!("log/host_{n}.{stamp}.pt.trace.json"), rank(n).to_json());
    }
    let ran = folder.run(&["temporal", "@log", "--json"]);
    assert_eq!(ran.ranks(), [0, 1]);
    assert_eq!(ran.inputs()[0], "host_0.1712345679000000000.pt.trace.json");
    let named: Vec<String> = ["1712345678000000000", "1712345679000000000"]
        .iter()
        .map(|stamp| format!("@log/host_0.{stamp}.pt.trace.json"))
        .collect();
    let ran = folder.run(&["temporal", &named[0], &named[1], "--json"]);
    assert_eq!(ran.ranks(), [0, 0]);
}

const KERNELS: [&str; 2] = ["gemm", "norm"];

/// A server's step that replays a graph of two kernels.
fn served() -> String {
    let step = "execute_context_0(0)_generation_8(8)";
    let trace = trace().rank(0, 1).annotation(step, 0..90).runtime("hipGraphLaunch", 10..20, 1);
    KERNELS
        .iter()
        .zip([30, 60])
        .fold(trace, |trace, (name, at)| trace.kernel(name, at..at + 20).on(0, 7).correlation(1))
        .to_json()
}

/// What was recorded when that graph was captured.
fn captured() -> String {
    let trace = trace()
        .rank(0, 1)
        .annotation("capture_8_FULL", 0..90)
        .runtime("hipStreamBeginCapture", 1..2, 1)
        .runtime("hipStreamEndCapture", 80..81, 2);
    let launch = |trace: TraceText, (name, at): (&&str, i64)| {
        let trace = trace.cpu_op(&format!("aten::{name}"), at..at + 10);
        trace.runtime("hipLaunchKernel", at + 2..at + 3, at).text_arg("kernel", name)
    };
    KERNELS.iter().zip([10, 40]).fold(trace, launch).to_json()
}

#[test]
fn a_capture_of_graphs_beside_the_traces_is_used_unasked() {
    let folder = Folder::new();
    folder.write("log/serve.json", served()).write("log/capture/graphs.json", captured());
    folder.write("alone/serve.json", served());
    for traces in ["@log", "@log/serve.json"] {
        let ran = folder.run(&["inference", traces, "--json"]);
        assert_eq!(ran.inputs(), ["serve.json"], "{traces}");
        assert!(ran.codes().contains(&"graph_capture".to_owned()), "{traces}: {:?}", ran.codes());
        let operators = &ran.json()["data"]["replayed_operators"];
        assert_eq!(
            (&operators[0]["operator"], &operators[1]["operator"]),
            (&"aten::gemm".into(), &"aten::norm".into())
        );
        let answer = folder.run(&["analyze", traces, "--json"]).json()["data"].clone();
        assert_eq!(answer["top_kernels"][0]["operator"], "aten::gemm", "{traces}");
        assert_eq!(answer["inference"]["attributed_pct"], 100.0, "{traces}");
        let used = answer["inference"]["captures"][0].as_str().unwrap().to_owned();
        assert!(used.ends_with("log/capture/graphs.json"), "{used}");
    }
    let answer = folder.run(&["analyze", "@alone", "--json"]).json()["data"].clone();
    assert_eq!(
        (&answer["inference"]["attributed_pct"], &answer["top_kernels"][0]["operator"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn a_capture_of_graphs_alone_is_said_to_be_one() {
    let folder = Folder::new();
    folder.write("graphs.json", captured());
    let ran = folder.run(&["analyze", "@graphs.json", "-o", "@report.html"]);
    assert!(ran.out.contains("This is the capture of a CUDA graph, not a run; analyse"), "{}", ran.out);
    for heading in ["What to do", "Kernels", "Step "] {
        assert!(!ran.out.contains(heading), "{}", ran.out);
    }
}
