//! The scanner reads what a strict JSON parser reads, on the generator's output and on damaged copies of it.

use gpuscope_formats::strict;
use gpuscope_testkit::mutate::mutate;
use gpuscope_testkit::{Plan, write_rank};

use crate::describe::{assert_same, load};

pub(crate) fn generated(plan: &Plan) -> Vec<u8> {
    let mut text = Vec::new();
    write_rank(plan, 0, &mut text).unwrap();
    text
}

/// If the strict reader takes the text, the scanner must take it and read the same. Answers whether it did.
pub(crate) fn agree(what: &str, text: &[u8]) -> bool {
    let loaded = load(text);
    let Some(want) = strict::read(text) else { return false };
    let got = loaded.unwrap_or_else(|error| panic!("{what}: strict JSON was refused: {error}"));
    assert_same(what, &got.traces[0], &want);
    let remarks = |code| got.traces[0].quality.iter().filter(|entry| entry.code == code).count();
    assert_eq!(remarks(gpuscope_trace::Code::MalformedEvents), 0, "{what}: strict JSON was called damaged");
    assert_eq!(remarks(gpuscope_trace::Code::Truncated), 0, "{what}: strict JSON was called truncated");
    true
}

#[test]
fn generated_jobs() {
    for (name, plan) in [
        ("small", Plan::small()),
        ("sync rows", Plan::small().with_sync_rows()),
        ("graph", Plan::small().with_cuda_graph()),
        ("pipeline", Plan::healthy().ranks(4).pipeline(2, 2).with_events(4_000)),
        ("unlinked", Plan::small().with_unlinked_kernels(0, 300).with_zero_length_events(0, 3)),
        ("clock", Plan::small().with_clock(0, -12_345_678, 40_000)),
    ] {
        assert!(agree(name, &generated(&plan)), "{name}: the generator writes strict JSON");
    }
}

#[test]
fn thousands_of_mutations() {
    let text = generated(&Plan::small().with_events(120));
    let accepted =
        (0..6_000).filter(|seed| agree(&format!("mutation {seed}"), &mutate(&text, *seed))).count();
    // Most damage is no longer JSON; enough must be for the comparison to mean something.
    assert!(accepted > 200, "only {accepted} mutations were still JSON");
}

#[test]
fn odd_but_strict_json() {
    for text in [
        r#"{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 2, "args": {"correlation": null}}]}"#,
        r#"{"traceEvents": [{"ph": "X", "\u0074s": 7.25, "dur": 1e3, "n\u0061me": "say \"hi\" \u00e9\n"}]}"#,
        r#"{"traceEvents": [{"ph": "X", "ts": 1, "ts": 2, "dur": 3, "dur": null}]}"#,
        r#"{"traceEvents": [{"ph": "X", "ts": "5.5", "dur": "1", "args": {"stream": "0x0"}, "args": {"stream": 7}}]}"#,
        r#"[{"ph": "X", "ts": 0, "dur": 0}, null, 3, "x", [], {}, {"ph": 3}, {"args": {"name": "x"}, "ph": "M"}]"#,
        r#"{"traceEvents": [{"ph": "X", "ts": 9007199254740993, "dur": 18446744073709551615}]}"#,
        r#"{"traceEvents": [{"ph": "X", "ts": 1428625731896.1795, "dur": 0.0004999}]}"#,
        r#"{"traceEvents": [{"ph": "C", "name": "m", "ts": 1, "args": {"a": 1.5, "b": "2", "c": -3, "correlation": 4}}]}"#,
        r#"{"traceEvents": [{"cat": "cuda_profiler_range", "ph": "X", "ts": 1, "dur": 2, "args": {"smsp__x.sum": 86114304}}]}"#,
        r#"{"a": {"traceEvents": [1]}, "traceEvents": [], "traceEvents": [{"ph": "i", "ts": 4, "s": "g"}], "z": "]}"}"#,
        r#"{"traceEvents": [{"ph": "s", "id": 3, "ts": 1, "cat": "ac2g"}, {"ph": "f", "id": "x", "ts": 2, "bp": "e"}]}"#,
        r#"{"traceEvents": [{"ph": "X", "pid": -1, "tid": 4294967295, "ts": 1, "dur": 1, "args": {"device": 5.0, "bytes": "12"}}]}"#,
        r#"{"traceEvents": [{"ph": "X", "ts": 1, "dur": 1, "args": {"grid": [1, [2, "]"]], "kind": 5, "Input Dims": "[]", "dtype": true}}]}"#,
        r#"{"traceEvents": [{"ph": "X", "ts": 1, "dur": 1, "args": [1]}, {"ph": "X", "ts": 1, "dur": 1, "args": null}]}"#,
        "  \n\t{\"traceEvents\"\n:\r[\n{\"ph\" :\t\"X\" , \"ts\" : 1 , \"dur\" : 2 } ] }  \n",
    ] {
        assert!(agree(text, text.as_bytes()), "{text} is strict JSON");
    }
}

/// Events of one shape again and again, then one that differs in a single place: the learned shape must not be
/// mistaken for it.
#[test]
fn a_shape_is_not_mistaken_for_another() {
    let usual = r#"{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1.5, "dur": 2, "args": {"stream": 7, "correlation": 3, "grid": [1, 1, 1], "est. achieved occupancy %": 5}}"#;
    for (from, to) in [
        ("\"kernel\"", "\"kernal\""),
        ("\"X\"", "\"i\""),
        ("\"name\": \"k\"", "\"name\": \"\\u006b\""),
        ("\"name\": \"k\"", "\"name\": 5"),
        ("\"ts\": 1.5", "\"ts\": null"),
        ("\"ts\": 1.5", "\"ts\":1.5"),
        ("\"dur\": 2", "\"dur\": \"2\""),
        ("\"dur\": 2", "\"dor\": 2"),
        ("\"correlation\": 3", "\"correlation\": null"),
        ("\"correlation\": 3", "\"correlation\": [3]"),
        ("\"correlation\": 3", "\"correlation\": 3, \"correlation\": 4"),
        ("\"stream\": 7", "\"stream\": \"7\""),
        ("[1, 1, 1]", "\"[1, 1, 1]\""),
        ("[1, 1, 1]", "null"),
        ("\"est. achieved occupancy %\": 5", "\"est. achieved occupancy %\": 5.25e1"),
        ("{\"stream\"", "{ \"stream\""),
        ("}}", "}, \"args\": {}}"),
        ("}}", "}, \"dur\": 9}"),
        ("\"tid\": 7", "\"tid\": \"stream 7\""),
    ] {
        let odd = usual.replace(from, to);
        assert_ne!(odd, usual);
        let text = format!("{{\"traceEvents\": [{usual}, {usual}, {odd}, {usual}, {odd}, {usual}]}}");
        assert!(agree(&odd, text.as_bytes()), "{odd}");
    }
}
