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
fn data(corpus: &Path, trace: &str, command: &[&str]) -> Value {
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
                assert_eq!(ran.exit == 0, readable, "{command} {path} {format}: {}", ran.err);
                assert_ne!(ran.exit, 70, "{command} {path} {format}: {}", ran.err);
            }
        }
        read += usize::from(readable);
    }
    assert!(read > 0, "no trace could be read in {}", traces.display());
}
