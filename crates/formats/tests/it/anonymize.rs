//! Secrets planted in every string of real traces, values and keys alike: none comes out.

use gpuscope_formats::ReadOptions;
use gpuscope_formats::anonymize::Anonymizer;
use gpuscope_formats::rewrite::rewrite;
use gpuscope_testkit::Plan;
use serde_json::{Map, Value};

use crate::corpus;
use crate::differential::generated;

/// A word, an address, a GPU, a card, a job: each as it stands in the output if it is not replaced.
const SECRETS: [&str; 6] = [
    "zorkon",
    "10.20.30.40",
    "6a09e667-bb67-3c6e-a54f-510e527fade6",
    "0a:1b:2c:3d:4e:5f",
    "fe80::1ff:fe23",
    "748213",
];

/// How a secret gets into a text.
const WAYS: usize = 7;

fn planted(text: &str, way: usize) -> String {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let (before, after) = text.split_at(middle);
    match way {
        0 => format!("zorkon{text}"),
        1 => format!("{text}_zorkon"),
        2 => format!("{before}Zorkon{after}"),
        3 => {
            format!("{text} (zorkon.layers.0) at 10.20.30.40:80 of GPU-6a09e667-bb67-3c6e-a54f-510e527fade6")
        }
        4 => format!("ZORKON::{text} 0a:1b:2c:3d:4e:5f/fe80::1ff:fe23"),
        5 => format!("/data/zorkon/{text}"),
        _ => format!("job748213_{text}"),
    }
}

/// Keys by which it is told what an event is; without them all events are alike.
fn decides(key: &str) -> bool {
    matches!(key, "ph" | "cat")
}

fn plant(value: &mut Value, way: usize, all: bool) {
    match value {
        Value::String(text) => *text = planted(text, way),
        Value::Array(items) => items.iter_mut().for_each(|item| plant(item, way, all)),
        Value::Object(members) => {
            let mut more = Map::new();
            for (key, value) in members.iter_mut().filter(|(key, _)| *key != "traceEvents") {
                if all || !decides(key) {
                    plant(value, way, all);
                }
                more.insert(planted(key, way), value.clone());
            }
            if let Some(events) = members.get_mut("traceEvents") {
                plant(events, way, all);
            }
            members.extend(more);
        }
        _ => {}
    }
}

fn anonymized(text: &[u8]) -> String {
    let mut out = Vec::new();
    rewrite(text, ReadOptions::default(), &mut out, &mut Anonymizer::default()).expect("a trace");
    String::from_utf8(out).expect("UTF-8")
}

fn tells_nothing(what: &str, text: &[u8]) {
    let Ok(json) = serde_json::from_slice::<Value>(text) else { return };
    for way in 0..WAYS {
        for all in [false, true] {
            let mut json = json.clone();
            plant(&mut json, way, all);
            let out = anonymized(json.to_string().as_bytes());
            assert!(serde_json::from_str::<Value>(&out).is_ok(), "{what}: no JSON");
            let lower = out.to_lowercase();
            for secret in SECRETS {
                if let Some(at) = lower.find(secret) {
                    let around = lower.get(at.saturating_sub(150)..(at + 100).min(lower.len()));
                    panic!("{what}, way {way}: {secret} in {around:?}");
                }
            }
        }
    }
}

#[test]
fn no_secret_comes_out() {
    tells_nothing("generated", &generated(&Plan::small().with_events(150).with_sync_rows()));
    let odd = br#"{"deviceProperties": [{"id": 0, "name": "NVIDIA H100", "uuid": "x"}], "distributedInfo": {"rank": 0,
        "pg_config": [{"pg_name": "0", "pg_desc": "tp", "ranks": [0, "..."]}]}, "host_name": "h", "trace_id": "t",
        "traceName": "h_1.2.pt.trace.json", "INFO": ["a.cpp:1] dropped = 5"], "traceEvents": [
        {"ph": "X", "cat": "user_annotation", "name": "execute_context_1(5)_generation_0(0)", "ts": 1, "dur": 1},
        {"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#Adam.step", "ts": 1, "dur": 1},
        {"ph": "X", "cat": "user_annotation", "name": "FSDP::all_gather (layers.0)", "ts": 1, "dur": 1},
        {"ph": "X", "cat": "python_function", "name": "<built-in method item of Tensor object at 0x7f>", "ts": 1},
        {"ph": "X", "cat": "python_function", "name": "torch/nn/modules/linear.py(12): forward", "ts": 1},
        {"ph": "X", "cat": "python_function", "name": "nn.Module: Linear_3", "ts": 1},
        {"ph": "X", "cat": "mine", "name": "n", "ts": 1, "args": {"Call stack": "a.py(1): f;b.py(2): g", "k": {"l": "m"}}},
        {"ph": "X", "name": "$core.py:12 f", "ts": 1, "dur": 1}, {"ph": "X", "name": "PjitFunction(f)", "ts": 1},
        {"ph": "C", "name": "m", "ts": 2, "args": {"x": 1.5, "y": "z"}},
        {"ph": "M", "name": "thread_name", "pid": "p", "tid": "stream 7", "args": {"name": "Stream #7(x)"}}]}"#;
    tells_nothing("odd", odd);
}

#[test]
fn no_secret_comes_out_of_real_traces() {
    for path in corpus::traces().into_iter().flatten() {
        let is_small = std::fs::metadata(&path).is_ok_and(|file| file.len() < 30_000);
        let text = corpus::text(&path);
        if is_small && gpuscope_formats::strict::read(&text).is_some() {
            tells_nothing(&path.display().to_string(), &text);
        }
    }
}

/// What real traces tell about those who recorded them.
#[test]
fn names_of_people_and_machines_do_not_come_out() {
    let told = ["sraikund", "twshared39868", "tsp_pnb", "facebook", "mast_hpc", "bq9m2dtfhskc6c", "/tmp/"];
    for path in corpus::traces().into_iter().flatten() {
        let text = corpus::text(&path);
        if path.to_string_lossy().contains("ns_resolution") && gpuscope_formats::strict::read(&text).is_some()
        {
            let out = anonymized(&text);
            for secret in told {
                assert!(!out.contains(secret), "{}: {secret}", path.display());
            }
        }
    }
}
