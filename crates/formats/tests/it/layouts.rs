//! One job in the layouts that producers use: Kineto's own, compact, indented, a bare array, metadata last.

use gpuscope_formats::strict;
use gpuscope_testkit::Plan;
use gpuscope_trace::{Class, Id};
use serde_json::Value;

use crate::describe::{assert_same, load};
use crate::differential::generated;

#[test]
fn layout_does_not_matter() {
    let text = generated(&Plan::small().with_events(400));
    let want = load(&text).unwrap().into_trace();
    let document: Value = serde_json::from_slice(&text).unwrap();
    let mut other_order = document.as_object().unwrap().clone();
    let events = other_order.remove("traceEvents").unwrap();
    let metadata = serde_json::to_string(&other_order).unwrap();
    let last = format!("{{\"traceEvents\": {events}, {}", &metadata[1..]);
    // serde_json sorts keys, which puts `args` first and `ph` after it: an order no shape can take for granted.
    for (name, text) in [
        ("compact", document.to_string()),
        ("indented", serde_json::to_string_pretty(&document).unwrap()),
        ("metadata last", last),
    ] {
        let got = load(text.as_bytes()).unwrap().into_trace();
        assert_eq!(got.metadata, want.metadata, "{name}");
        assert_eq!(got.len(), want.len(), "{name}");
        // Times re-written by a float parser are not compared: the strict reader says what this text holds.
        assert_same(name, &got, &strict::read(text.as_bytes()).unwrap());
    }
    let bare = events.to_string();
    assert_eq!(load(bare.as_bytes()).unwrap().into_trace().len(), want.len());
}

#[test]
fn old_names_and_string_ids() {
    let text = r#"[
        {"ph": "X", "cat": "Kernel", "name": "k", "pid": 3, "tid": "stream 7", "ts": 10, "dur": 5, "args": {"stream": 7, "correlation": 1, "external id": 9}},
        {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 4000000000000, "tid": -5, "ts": 1, "dur": 2, "args": {"correlation": 1, "stream": "0x0"}},
        {"ph": "X", "cat": "cuda_sync", "name": "s", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"stream": 4294967295}}
    ]"#;
    let trace = load(text.as_bytes()).unwrap().into_trace();
    assert_eq!(
        (trace.class(0), trace.class(1), trace.class(2)),
        (Class::Kernel, Class::Runtime, Class::Sync)
    );
    assert_eq!((trace.track(0).device, trace.track(0).stream), (3, Some(7)));
    assert_eq!((trace.track(1).key.pid, trace.track(1).key.tid), (Id::Int(4_000_000_000_000), Id::Int(-5)));
    assert_eq!((trace.track(1).stream, trace.track(2).stream), (None, Some(4_294_967_295)));
    assert_eq!(trace.args.int(0, gpuscope_trace::Arg::ExternalId), Some(9));
}

#[test]
fn jax_streams_are_known_by_name() {
    let text = r#"{"displayTimeUnit":"ns","traceEvents":[
        {"args":{"name":"host /device:GPU:2"},"name":"process_name","ph":"M","pid":3},
        {"args":{"name":"Stream #16(Kernel)"},"name":"thread_name","ph":"M","pid":3,"tid":16},
        {"args":{"name":"XLA Ops"},"name":"thread_name","ph":"M","pid":3,"tid":99},
        {"pid":3,"tid":16,"name":"loop_fusion","ts":940.061,"dur":48.5,"ph":"X","args":{}},
        {"pid":3,"tid":99,"name":"loop_fusion","ts":940.061,"dur":48.5,"ph":"X","args":{}},
        {}]}"#;
    let loaded = load(text.as_bytes()).unwrap();
    let trace = &loaded.traces[0];
    assert_eq!(loaded.format, "jax");
    assert_eq!((trace.class(0), trace.class(1)), (Class::XlaDevice, Class::Uncategorised));
    assert_eq!((trace.track(0).device, trace.track(0).stream), (2, Some(16)));
    assert_eq!(trace.elements, 6);
}
