//! Fuzz targets as plain functions: run here for a while on mutated traces, and by cargo-fuzz from `fuzz/`.

use std::time::{Duration, Instant};

use gpuscope_formats::ReadOptions;
use gpuscope_formats::anonymize::Anonymizer;
use gpuscope_formats::rewrite::{Editor, rewrite};
use gpuscope_testkit::Plan;
use gpuscope_testkit::mutate::mutate;

use crate::describe::load;
use crate::differential::{agree, generated};

/// Seconds per target; `GPUSCOPE_FUZZ_SECONDS` makes it longer or shorter.
fn budget() -> Duration {
    let seconds = std::env::var("GPUSCOPE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(20))
}

fn run(seeds: &[Vec<u8>], target: impl Fn(&[u8])) {
    let start = Instant::now();
    for round in 0u64.. {
        for (i, seed) in seeds.iter().enumerate() {
            let mut input = mutate(seed, round * 1000 + i as u64);
            // Damage on damage reaches further than damage alone.
            for again in 0..round % 4 {
                input = mutate(&input, round * 77 + again);
            }
            target(&input);
        }
        if start.elapsed() > budget() {
            return;
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let odd = br#"{"schemaVersion": 1, "deviceProperties": [{"id": 0}], "distributedInfo": {"rank": 0, "pg_config": [{"pg_name": "0", "ranks": [0, "..."]}]}, "traceEvents": [{"ph": "B", "name": "a", "ts": 1}, {"ph": "E", "ts": 5}, {"ph": "C", "name": "m", "ts": 2, "args": {"x": 1.5}}, {"ph": "M", "name": "thread_name", "pid": 1, "tid": "stream 7", "args": {"name": "Stream #7(x)"}}], "traceName": "x"}"#;
    let small = |plan: Plan| generated(&plan.with_events(100));
    vec![odd.to_vec(), small(Plan::small()), small(Plan::small().with_cuda_graph().with_sync_rows())]
}

/// One of each other format: an export of Nsight Systems, a page of Nsight Compute, statistics, a log and a timeline.
fn others() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("export.sqlite");
    let export = rusqlite::Connection::open(&path).unwrap();
    let tables = "
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
            correlationId INTEGER, globalPid INTEGER, demangledName INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
            nameId INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);
        INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000');
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
            SELECT i * 100, i * 100 + 50, 0, 7, i, 1677721600, 1 FROM n;
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start - 40, start - 30, globalPid + 7, correlationId, 2
            FROM CUPTI_ACTIVITY_KIND_KERNEL;
        INSERT INTO NVTX_EVENTS VALUES (100, 900, 59, 'step', 1677721607);";
    export.execute_batch(tables).unwrap();
    drop(export);
    let page = b"==PROF== x\n\"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n\"0\",\"1\",\"mm()\",\"a\",\"1,024\"\n";
    let sums = b"Time (%),Total Time (ns),Instances,Avg (ns),Min (ns),Max (ns),StdDev (ns),Name\n100,50,2,25,20,30,5,\"mm(int, int)\"\n";
    let log = b"V0401 12:34:56.123456 42 torch/x.py:7] {\"dynamo_start\": {\"stack\": []}, \"rank\": 0}\n";
    let timeline = b"[[1000, 1, 512, 0], [2000, 3, -512, 0]]";
    vec![std::fs::read(path).unwrap(), page.to_vec(), sums.to_vec(), log.to_vec(), timeline.to_vec()]
}

/// Nothing that can be read makes the reader, the links or the index panic.
pub(crate) fn reading(input: &[u8]) {
    for trace in load(input).iter().flat_map(|loaded| &loaded.traces) {
        let index = gpuscope_trace::Index::default();
        index.gpu(trace);
        index.launches(trace);
        index.order(trace);
        index.nesting(trace);
        index.autograd(trace);
        index.steps(trace);
    }
}

/// What is copied is JSON, with or without names.
pub(crate) fn copying(input: &[u8]) {
    let mut anonymizer = Anonymizer::default();
    let editors: [&mut dyn Editor; 2] = [&mut (), &mut anonymizer];
    for editor in editors {
        let mut out = Vec::new();
        if rewrite(input, ReadOptions::default(), &mut out, editor).is_ok() {
            let json = serde_json::from_slice::<serde_json::Value>(&out);
            assert!(json.is_ok(), "{} became {}", input.escape_ascii(), out.escape_ascii());
        }
    }
}

/// What a strict parser takes, the scanner reads alike.
pub(crate) fn against_strict(input: &[u8]) {
    agree("fuzz", input);
}

#[test]
fn fuzz_reading() {
    run(&seeds(), reading);
}

#[test]
fn fuzz_reading_other_formats() {
    run(&others(), reading);
}

#[test]
fn fuzz_copying() {
    run(&seeds(), copying);
}

#[test]
fn fuzz_against_strict() {
    run(&seeds(), against_strict);
}
