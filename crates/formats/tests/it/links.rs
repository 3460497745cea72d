//! The links that the trace model computes, on traces written as text.

use gpuscope_trace::{Arg, Index, LinkedBy, Trace};

use crate::describe::load;

fn trace(events: &[&str]) -> Trace {
    load(format!("{{\"traceEvents\": [{}]}}", events.join(",\n")).as_bytes()).unwrap().into_trace()
}

fn host(cat: &str, name: &str, tid: i64, ts: f64, dur: f64, args: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "{cat}", "name": "{name}", "pid": 1, "tid": {tid}, "ts": {ts}, "dur": {dur}, "args": {{{args}}}}}"#
    )
}

fn row(trace: &Trace, name: &str) -> u32 {
    trace.rows().find(|row| trace.name(*row) == name).unwrap()
}

#[test]
fn a_kernel_belongs_to_the_first_call_with_its_correlation() {
    let events = [
        host("cuda_runtime", "late", 1, 20.0, 1.0, r#""correlation": 5"#),
        host("cuda_runtime", "early", 1, 10.0, 1.0, r#""correlation": 5"#),
        host("cuda_runtime", "graph", 1, 30.0, 1.0, r#""correlation": 6"#),
        host("kernel", "k1", 7, 25.0, 1.0, r#""correlation": 5, "stream": 7"#),
        host("kernel", "k2", 7, 35.0, 1.0, r#""correlation": 6, "stream": 7"#),
        host("kernel", "k3", 7, 36.0, 1.0, r#""correlation": 6, "stream": 7"#),
        host("kernel", "orphan", 7, 37.0, 1.0, r#""correlation": 99, "External id": 8, "stream": 7"#),
        host("kernel", "zero", 7, 38.0, 1.0, r#""correlation": 0, "stream": 7"#),
        host("cuda_runtime", "other", 1, 31.0, 1.0, r#""correlation": 8, "External id": 8"#),
        host("kernel", "by id", 7, 39.0, 1.0, r#""External id": 8, "stream": 7"#),
    ];
    let trace = trace(&events.each_ref().map(String::as_str));
    let index = Index::default();
    let launches = index.launches(&trace);
    let call = |name: &str| launches.call(row(&trace, name)).map(|call| trace.name(call));
    assert_eq!((call("k1"), call("k2"), call("k3")), (Some("early"), Some("graph"), Some("graph")));
    // A correlated call that is missing is not replaced by a guess.
    assert_eq!((call("orphan"), call("zero")), (None, None));
    assert_eq!(call("by id"), Some("other"));
    assert_eq!(launches.linked_by(row(&trace, "by id")), Some(LinkedBy::ExternalId));
    assert_eq!(launches.launched(row(&trace, "graph")), [row(&trace, "k2"), row(&trace, "k3")]);
    assert_eq!(launches.launched(row(&trace, "late")), [] as [u32; 0]);
}

#[test]
fn an_arrow_links_what_nothing_else_does() {
    let events = [
        host("cuda_runtime", "call", 1, 10.0, 2.0, ""),
        host("kernel", "k", 7, 20.0, 5.0, r#""stream": 7"#),
        r#"{"ph": "s", "id": 3, "pid": 1, "tid": 1, "ts": 10.0, "cat": "ac2g", "name": "ac2g"}"#.to_owned(),
        r#"{"ph": "f", "id": 3, "pid": 1, "tid": 7, "ts": 20.0, "cat": "ac2g", "name": "ac2g", "bp": "e"}"#
            .to_owned(),
    ];
    let trace = trace(&events.each_ref().map(String::as_str));
    let index = Index::default();
    assert_eq!(index.launches(&trace).call(1), Some(0));
    assert_eq!(index.launches(&trace).linked_by(1), Some(LinkedBy::Flow));
}

#[test]
fn nesting_survives_bleeding_equal_and_empty_spans() {
    let events = [
        host("python_function", "main", 1, 0.0, 100.0, ""),
        host("cpu_op", "outer", 1, 10.0, 20.0, ""),
        host("cpu_op", "equal", 1, 10.0, 20.0, ""),
        host("cuda_runtime", "bleeds", 1, 28.0, 4.0, ""),
        host("cuda_runtime", "at the end", 1, 30.0, 0.0, ""),
        host("cpu_op", "next", 1, 40.0, 5.0, ""),
        host("cpu_op", "elsewhere", 2, 41.0, 1.0, ""),
        host("cpu_op", "with stream", 1, 42.0, 1.0, r#""stream": 0"#),
    ];
    let trace = trace(&events.each_ref().map(String::as_str));
    let index = Index::default();
    let nesting = index.nesting(&trace);
    let parent = |name: &str| nesting.parent(row(&trace, name)).map(|parent| trace.name(parent));
    assert_eq!(parent("main"), None);
    assert_eq!((parent("outer"), parent("equal")), (Some("main"), Some("outer")));
    assert_eq!(parent("bleeds"), Some("main"));
    assert_eq!(parent("at the end"), Some("bleeds"));
    assert_eq!(
        (parent("next"), parent("elsewhere"), parent("with stream")),
        (Some("main"), None, Some("next"))
    );
    assert_eq!(nesting.bleeding(), 1);
    let path: Vec<_> = nesting.ancestors(row(&trace, "equal")).map(|row| trace.name(row)).collect();
    assert_eq!(path, ["outer", "main"]);
}

#[test]
fn backward_finds_its_forward_by_arrow_and_by_number() {
    let events = [
        host("cpu_op", "aten::linear", 1, 0.0, 10.0, r#""Sequence number": 4, "Fwd thread id": 0"#),
        host("cpu_op", "aten::addmm", 1, 2.0, 5.0, r#""Sequence number": 4, "Fwd thread id": 0"#),
        host("cpu_op", "AddmmBackward0", 2, 50.0, 5.0, r#""Sequence number": 4, "Fwd thread id": 1"#),
        host("cpu_op", "aten::relu", 1, 20.0, 1.0, ""),
        host("cpu_op", "ReluBackward0", 2, 60.0, 5.0, ""),
        r#"{"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 20.0, "cat": "fwdbwd", "name": "fwdbwd"}"#.to_owned(),
        r#"{"ph": "f", "id": 1, "pid": 1, "tid": 2, "ts": 60.0, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"}"#.to_owned(),
    ];
    let trace = trace(&events.each_ref().map(String::as_str));
    let index = Index::default();
    let autograd = index.autograd(&trace);
    let forward = |name: &str| autograd.forward(row(&trace, name)).map(|row| trace.name(row));
    assert_eq!(
        (forward("AddmmBackward0"), forward("ReluBackward0")),
        (Some("aten::addmm"), Some("aten::relu"))
    );
    assert_eq!(autograd.backward(row(&trace, "aten::relu")), Some(row(&trace, "ReluBackward0")));
}

#[test]
fn every_side_table_keeps_its_fields() {
    let fields = r#""device": 1, "stream": 7, "correlation": 4294967299, "External id": 2, "grid": [1, 2, 3], "block": [128, 1, 1],
        "registers per thread": 32, "shared memory": 1024, "blocks per SM": 12.8, "warps per SM": 102.4,
        "est. achieved occupancy %": 75, "queued": 0, "context": 1, "graph id": 9, "graph node id": 9007199254740993,
        "Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": "4096", "Out msg nelems": 4096,
        "In split size": [1, 2], "Out split size": "[]", "Group size": 8, "Process Group Name": "7",
        "Process Group Description": "dp", "Process Group Ranks": "[0, 1, 29, ...]", "Seq": 12, "Comms Id": "0x7f",
        "Rank": 3, "Src Rank": 1, "Dst Rank": 2, "Global rank start": 0, "Global rank stride": 8,
        "Is asynchronized op": true, "Input Tensors start": "[[1, 2]]""#;
    let trace = trace(&[&host("kernel", "k", 7, 1.0, 2.0, fields)]);
    let text = |arg| trace.args.text(0, arg).map(|text| trace.strings.get(text));
    assert_eq!(trace.args.int(0, Arg::Correlation), Some(4_294_967_299));
    assert_eq!(trace.args.int(0, Arg::GraphNodeId), Some(9_007_199_254_740_993));
    assert_eq!(trace.args.float(0, Arg::BlocksPerSm), Some(12.8));
    assert_eq!((text(Arg::Grid), text(Arg::InSplitSize)), (Some("[1, 2, 3]"), Some("[1, 2]")));
    assert_eq!(trace.args.int(0, Arg::InMsgNelems), Some(4096));
    assert_eq!((text(Arg::CommsId), text(Arg::IsAsync)), (Some("0x7f"), Some("true")));
    assert!(gpuscope_trace::lists::is_cut(text(Arg::GroupRanks).unwrap()));
    assert_eq!(
        (trace.args.int(0, Arg::CollectiveSeq), trace.args.int(0, Arg::GlobalRankStride)),
        (Some(12), Some(8))
    );
}
