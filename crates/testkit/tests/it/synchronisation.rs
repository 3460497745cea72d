//! With `cuda_sync` rows the order of the streams can be read from a file: every start of GPU work is explained by its
//! launch, the work before it on its stream, and the events its stream was told to wait for.

use std::collections::BTreeMap;

use gpuscope_testkit::{Plan, StallCause};

use crate::reread::{Reread, Span, reread};

const LAUNCH_LATENCY_NS: i64 = 2_600;
const STREAM_GAP_NS: i64 = 900;
/// Transfers arrive a little later than they could.
const MOST_ARRIVAL_DELAY_NS: i64 = 700;

fn synchronised() -> Vec<Plan> {
    let small = Plan::small().with_sync_rows();
    vec![
        small.clone(),
        small.clone().sharded(),
        small.clone().with_cuda_graph(),
        small.clone().ranks(4).layers(4).pipeline(2, 3),
        small.clone().ranks(8).layers(4).tensor_parallel(2).pipeline(2, 2).sharded(),
        small.with_host_stalls(StallCause::Item, 100_000).with_recomputation(),
    ]
}

fn number(span: &Span, key: &str) -> i64 {
    span.args[key].as_i64().unwrap_or_else(|| panic!("{} without {key}", span.name))
}

/// When each stream is free and what it was told to wait for, replayed from the file alone.
#[derive(Default)]
struct Replay {
    free: BTreeMap<i64, i64>,
    not_before: BTreeMap<i64, i64>,
    recorded: BTreeMap<i64, i64>,
}

impl Replay {
    fn earliest(&self, stream: i64, launched: i64) -> i64 {
        let free = self.free.get(&stream).map_or(0, |end| end + STREAM_GAP_NS);
        (launched + LAUNCH_LATENCY_NS).max(free).max(self.not_before.get(&stream).copied().unwrap_or(0))
    }

    /// An event is reached once the stream has done what it was given and may go on.
    fn record(&mut self, correlation: i64, stream: i64, call_end: i64) {
        let held = |times: &BTreeMap<i64, i64>| times.get(&stream).copied().unwrap_or(0);
        let done = held(&self.free).max(held(&self.not_before)).max(call_end);
        self.recorded.insert(correlation, done);
    }

    fn wait(&mut self, row: &Span) {
        let done = self.recorded[&number(row, "wait_on_cuda_event_record_corr_id")];
        let not_before = self.not_before.entry(number(row, "stream")).or_default();
        *not_before = done.max(*not_before);
    }
}

/// Starts of GPU work with the earliest time that the launches, streams and, if asked for, waits allow.
fn explained(file: &Reread, with_waits: bool) -> Vec<(&Span, i64)> {
    let mut calls: Vec<&Span> = file.spans().iter().filter(|span| span.category == "cuda_runtime").collect();
    calls.sort_by_key(|call| call.start);
    let of_correlation = |category: fn(&Span) -> bool| {
        let mut found: BTreeMap<i64, Vec<&Span>> = BTreeMap::new();
        for span in file.spans().iter().filter(|span| category(span)) {
            found.entry(span.correlation().expect("a correlation")).or_default().push(span);
        }
        found
    };
    let (work, rows) = (of_correlation(Span::is_gpu), of_correlation(|span| span.category == "cuda_sync"));
    let stream_of_record: BTreeMap<i64, i64> = rows
        .values()
        .flatten()
        .filter(|row| row.args["wait_on_stream"].is_i64())
        .map(|row| (number(row, "wait_on_cuda_event_record_corr_id"), number(row, "wait_on_stream")))
        .collect();
    let (mut replay, mut starts) = (Replay::default(), Vec::new());
    for call in calls {
        let correlation = call.correlation().expect("a correlation");
        if let Some(stream) = stream_of_record.get(&correlation) {
            replay.record(correlation, *stream, call.end);
        }
        for row in rows.get(&correlation).into_iter().flatten() {
            assert!(call.start <= row.start && row.end <= call.end, "{} outside its call", row.name);
            if with_waits && row.name == "Stream Wait Event" {
                replay.wait(row);
            }
        }
        let mut launched: Vec<&Span> = work.get(&correlation).into_iter().flatten().copied().collect();
        launched.sort_by_key(|span| span.start);
        for span in launched {
            starts.push((span, replay.earliest(span.tid, call.end)));
            replay.free.insert(span.tid, span.end);
        }
    }
    starts
}

fn as_explained(&(span, earliest): &(&Span, i64)) -> bool {
    let late = span.start - earliest;
    if span.kind() == 1 { (0..MOST_ARRIVAL_DELAY_NS).contains(&late) } else { late == 0 }
}

#[test]
fn launches_streams_and_waits_explain_every_start() {
    for plan in synchronised() {
        let file = reread(&plan, plan.ranks - 1);
        let starts = explained(&file, true);
        assert_eq!(starts.len() as u64, file.truth.gpu_events);
        for start in &starts {
            assert!(as_explained(start), "{} at {}, not {}", start.0.name, start.0.start, start.1);
        }
        let without = explained(&file, false);
        assert!(without.iter().filter(|start| !as_explained(start)).count() > 5, "waits matter");
    }
}

#[test]
fn every_call_that_waits_has_its_row_and_says_for_what() {
    let file =
        reread(&Plan::small().with_sync_rows().with_host_stalls(StallCause::DeviceSynchronize, 9_000), 0);
    let count = |category: &str, name: &str| {
        file.spans().iter().filter(|span| span.category == category && span.name == name).count()
    };
    for (call, row) in [
        ("cudaEventSynchronize", "Event Sync"),
        ("cudaDeviceSynchronize", "Context Sync"),
        ("cudaStreamWaitEvent", "Stream Wait Event"),
    ] {
        let calls = count("cuda_runtime", call);
        // A wait for an event that was not yet recorded has no row: the first step waits for no step before it.
        let rows = count("cuda_sync", row) + usize::from(call == "cudaStreamWaitEvent");
        assert!(calls > 2 && calls == rows, "{calls} {call}, {rows} {row}");
    }
    let launches = file.launches();
    for row in file.spans().iter().filter(|span| span.category == "cuda_sync") {
        assert_eq!(
            (row.args["cuda_sync_kind"].as_str(), row.tid),
            (Some(row.name.as_str()), number(row, "stream"))
        );
        if row.args["wait_on_stream"].is_i64() {
            assert!(launches[&number(row, "wait_on_cuda_event_record_corr_id")].1 <= row.start);
        }
    }
}

#[test]
fn without_rows_the_calls_are_the_same() {
    let names = |plan: &Plan| -> Vec<(String, i64, i64)> {
        let file = reread(plan, 0);
        let calls = file.spans().iter().filter(|span| span.category == "cuda_runtime");
        calls.map(|call| (call.name.clone(), call.start, call.end)).collect()
    };
    let plan = Plan::small();
    assert_eq!(names(&plan), names(&plan.clone().with_sync_rows()));
    assert!(reread(&plan, 0).spans().iter().all(|span| span.category != "cuda_sync"));
}
