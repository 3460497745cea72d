//! Real traces, where `GPUSCOPE_CORPUS` says there are some: every command answers every trace of the corpus.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::Folder;

const COMMANDS: [&str; 16] = [
    "breakdown",
    "temporal",
    "kernels",
    "overlap",
    "idle",
    "launches",
    "queue",
    "bandwidth",
    "annotations",
    "patterns",
    "op-kernels",
    "ops",
    "throughput",
    "memory",
    "counters",
    "check",
];

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn corpus() -> Option<PathBuf> {
    let corpus = std::env::var_os("GPUSCOPE_CORPUS");
    if corpus.is_none() {
        eprintln!("skipped: GPUSCOPE_CORPUS is not set, so no real trace is read");
    }
    corpus.map(PathBuf::from)
}

/// The data of an answer about one trace of the corpus.
pub(crate) fn data(corpus: &Path, trace: &str, command: &[&str]) -> Value {
    let path = corpus.join("traces").join(trace).to_string_lossy().into_owned();
    let arguments: Vec<&str> = command.iter().copied().chain([path.as_str(), "--json"]).collect();
    Folder::new().run(&arguments).json()["data"].take()
}

#[test]
fn operators_and_phases_agree_on_what_ran_again() {
    let Some(corpus) = corpus() else { return };
    let trace = "mi300_resnet_act_checkpoint.json.gz";
    let phases = data(&corpus, trace, &["phases"]);
    let again =
        phases["ranks"][0]["phases"].as_array().unwrap().iter().find(|row| row["phase"] == "recompute");
    let ops = data(&corpus, trace, &["ops"]);
    assert_eq!(ops["ranks"][0]["recompute_kernel_ns"], again.unwrap()["sum_ns"]);
    assert!(again.unwrap()["sum_ns"].as_i64() > Some(0));
}

/// 569 % of the roof, and an MFU of 23 %, when these were held to the peak for fp32.
#[test]
fn products_in_tf32_stay_below_their_roof() {
    let Some(corpus) = corpus() else { return };
    let ops = data(&corpus, "trace_diff_control.json.gz", &["ops", "--unique-args"]);
    let products = ops["ops"].as_array().unwrap().iter().filter(|row| row["engine"] == "matrix");
    let above = products.clone().filter(|row| row["pct_roofline"].as_f64() > Some(100.0));
    assert_eq!(above.collect::<Vec<_>>(), [] as [&Value; 0]);
    let precisions: BTreeSet<_> = products.filter_map(|row| row["precision"].as_str()).collect();
    assert_eq!(precisions.into_iter().collect::<Vec<_>>(), ["fp32", "tf32"]);
    assert_eq!(ops["mfu"]["mfu_pct"].as_f64().map(|mfu| (mfu * 100.0).round()), Some(375.0));
}

#[test]
fn a_comparison_begins_with_what_changed() {
    let Some(corpus) = corpus() else { return };
    let verdict = |more: &[&str]| {
        let more: Vec<String> = more
            .iter()
            .map(|word| match corpus.join("traces").join(word) {
                path if path.exists() => path.to_string_lossy().into_owned(),
                _ => (*word).to_owned(),
            })
            .collect();
        let arguments: Vec<&str> =
            ["diff", "--json"].into_iter().chain(more.iter().map(String::as_str)).collect();
        Folder::new().run(&arguments).json()["data"]["verdict"].as_str().unwrap().to_owned()
    };
    let (qwen, control) = ("h100_qwen.json.gz", "trace_diff_control.json.gz");
    for (more, expected) in [
        (
            &["compare_base.json.gz", "compare_test.json.gz"][..],
            "Step time 117 ms → 157 ms (+34 %), both on a GPU not named in the trace: GPU idle +40.3 ms; the GPU's \
             work is the same.",
        ),
        (
            &["mi300_timesformer.json.gz", "h100_timesformer.json.gz"],
            "Step time 391 ms → 383 ms (−2.1 %), on AMD Instinct MI300X VF → NVIDIA H100 80GB HBM3: GPU idle −46.7 \
             ms, computation +36.2 ms; GPU time of a step 120 ms → 158 ms (+32 %), 85 % of all changes, up or down, \
             from aten::_softmax +26.9 ms (the same work, slower), aten::copy_ +4.70 ms (the same number of kernels, \
             slower), aten::mul +4.53 ms (the same work, slower), aten::addmm −4.24 ms (the same work, faster).",
        ),
        (
            &["nccl_4ranks/rank0_trace.json", "nccl_4ranks/rank3_trace.json"],
            "GPU time 67.4 ms → 70.8 ms (+5.0 %), both on a GPU not named in the trace; 100 % of that change from \
             ncclDevKernel_Generic +3.34 ms (the same number of kernels, slower).",
        ),
        (
            &["nccl_4ranks", "--rank", "3", "--against", "median"],
            "GPU time 69.9 ms → 70.8 ms (+1.3 %), both on a GPU not named in the trace; 99 % of that change from \
             ncclDevKernel_Generic +864 µs (the same number of kernels, slower).",
        ),
        (
            &[control, qwen],
            "Hardly comparable: only 16 % of the operators are in both runs, and kernels of the same name take 0 % of \
             the GPU time; step time 76.8 ms → 49.4 ms (−36 %), on NVIDIA A100-PG509-200 → NVIDIA H100 80GB HBM3.",
        ),
        (&[qwen, qwen], "No difference: step time 49.4 ms on both sides, both on NVIDIA H100 80GB HBM3."),
    ] {
        assert_eq!(verdict(more), expected);
    }
}

#[test]
fn counters_are_those_of_the_reference() {
    let Some(corpus) = corpus() else { return };
    let text = std::fs::read_to_string(corpus.join("oracle/cupti_a100/counters.json")).unwrap();
    let reference: Value = serde_json::from_str(&text).unwrap();
    let expected = reference["checks"][0]["rows"].as_array().unwrap();
    let answer = data(&corpus, "cupti_a100.json.gz", &["counters"]);
    let ops = answer["ops"].as_array().unwrap();
    assert_eq!(ops.len(), expected.len());
    for row in expected {
        let own = ops.iter().find(|op| op["name"] == row["name"]).unwrap();
        for (field, value) in row.as_object().unwrap() {
            assert_eq!(&own[field], value, "{} {field}", row["name"]);
        }
    }
}

/// HTA's rows for these roots are right: none of them lies below another.
#[test]
fn patterns_below_the_autograd_engine_are_those_of_hta() {
    let Some(corpus) = corpus() else { return };
    let flags = ["patterns", "--operator", "autograd::engine", "--min-pattern-len", "1", "--drop-last-step"];
    let answer = data(&corpus, "trace_diff_control.json.gz", &flags);
    assert_eq!(answer["ranks"][0]["patterns"], 87);
    let rows: Vec<_> = answer["patterns"].as_array().unwrap()[..3]
        .iter()
        .map(|p| (p["count"].as_i64().unwrap(), p["gpu_ns"].as_i64().unwrap(), p["cpu_ns"].as_i64().unwrap()))
        .collect();
    assert_eq!(rows, [(495, 2_515_000, 8_920_000), (415, 3_354_000, 9_778_000), (260, 1_417_000, 4_582_000)]);
}

/// What is said of real traces is what the documentation says of findings.
#[test]
fn findings_are_as_documented() {
    let Some(corpus) = corpus() else { return };
    let (folder, page) = (Folder::new(), gpuscope_testkit::findings_page());
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(corpus.join("traces")).unwrap().map(Result::unwrap) {
        let ran = folder.run(&["analyze", &entry.path().to_string_lossy(), "--json"]);
        if ran.exit != 0 {
            continue;
        }
        for finding in ran.json()["data"]["findings"].as_array().unwrap() {
            let id = finding["id"].as_str().unwrap();
            let claim = finding["claim"].as_object().unwrap().keys().map(String::as_str);
            page[id].hold(finding["title"].as_str().unwrap(), claim);
            found.insert(id.to_owned());
        }
    }
    assert!(found.len() > 5, "{found:?}");
}

#[test]
fn every_command_answers_every_trace() {
    let Some(corpus) = corpus() else { return };
    let folder = Folder::new();
    let traces = corpus.join("traces");
    let mut read = 0;
    for entry in std::fs::read_dir(&traces).unwrap().map(Result::unwrap) {
        let path = entry.path().to_string_lossy().into_owned();
        let readable = folder.run(&["info", &path, "--json"]).exit == 0;
        for command in COMMANDS {
            for format in ["--json", "--color=never"] {
                let ran = folder.run(&[command, &path, format]);
                // A file without events says which question it is for.
                let answered = ran.exit == 0 || ran.err.contains("reads it");
                assert_eq!(answered, readable, "{command} {path} {format}: {}", ran.err);
                assert_ne!(ran.exit, 70, "{command} {path} {format}: {}", ran.err);
            }
        }
        read += usize::from(readable);
    }
    assert!(read > 0, "no trace could be read in {}", traces.display());
}
