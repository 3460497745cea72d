//! Damaged, foreign and hostile input: a clear error or a remark on quality, whole events kept, never a panic.

use std::io::Write as _;

use flate2::write::GzEncoder;
use gpuscope_formats::{ReadError, ReadOptions, read};
use gpuscope_testkit::Plan;
use gpuscope_trace::{Code, Ns, Trace};

use crate::describe::{assert_same, load};
use crate::differential::generated;

fn event(name: &str, ts: i64) -> String {
    format!(
        r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {ts}, "dur": 2, "args": {{"stream": 7}}}}"#
    )
}

fn names(trace: &Trace) -> Vec<&str> {
    trace.rows().map(|row| trace.name(row)).collect()
}

fn codes(trace: &Trace) -> Vec<(Code, u64)> {
    trace.quality.iter().map(|entry| (entry.code, entry.count)).collect()
}

fn refused(text: &[u8]) -> String {
    match load(text) {
        Err(
            error @ (ReadError::NotATrace { .. } | ReadError::NotRead { .. } | ReadError::Damaged { .. }),
        ) => error.to_string(),
        other => panic!("{} was taken: {other:?}", text.escape_ascii()),
    }
}

#[test]
fn what_is_no_trace_is_refused_with_place_and_expectation() {
    assert_eq!(refused(b""), "at byte 0: the file is empty");
    assert_eq!(refused(b" \n "), "at byte 3: the file is empty");
    assert!(refused(b"{\"hello\": \"world\"}").ends_with("expected a `traceEvents` array"));
    assert!(refused(b"{\"traceEvents\": 5}").contains("expected an array as the value of `traceEvents`"));
    assert!(refused(b"[]").contains("in the top-level array"));
    assert!(refused(b"[[1, \"alloc\", 2, 3]]").contains("in the top-level array"));
    assert!(refused(b"SQLite format 3\0....").contains("SQLite"));
    assert!(refused(b"\x80\x04\x95 a pickle").contains("pickle"));
    assert!(refused(b"<html><body>404</body></html>").contains("HTML"));
    assert!(refused(b"{\"rocprofiler-sdk-tool\": [{}]}").contains("rocprofiler-sdk"));
    assert!(refused(b"{\"schema\": \"1.1\", \"nodes\": []}").contains("execution trace"));
    assert!(refused(b"hello there").contains("expected a JSON object or array"));
}

#[test]
fn a_file_cut_off_anywhere_keeps_every_whole_event() {
    let text = format!("{{\"traceEvents\": [{},{},{}]}}", event("a", 1), event("b", 2), event("c", 3));
    let ends: Vec<usize> = text.match_indices("}}").map(|(at, _)| at + 2).collect();
    for cut in text.find('[').unwrap() + 1..text.len() {
        let trace = load(&text.as_bytes()[..cut]).unwrap().into_trace();
        assert_eq!(trace.len(), ends.iter().filter(|end| **end <= cut).count(), "cut at {cut}");
        assert_eq!(codes(&trace), [(Code::Truncated, 1)], "cut at {cut}");
    }
    assert_eq!(codes(&load(text.as_bytes()).unwrap().into_trace()), []);
}

#[test]
fn a_truncated_gzip_is_read_as_far_as_it_goes() {
    let text = generated(&Plan::small().with_events(3_000));
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&text).unwrap();
    let whole = encoder.finish().unwrap();
    let trace = load(&whole[..whole.len() / 2]).unwrap().into_trace();
    assert!(trace.elements > 500, "{} elements", trace.elements);
    assert_eq!(trace.quality[0].code, Code::Truncated);
    let pipelined =
        read(&whole[..whole.len() / 2], ReadOptions { pipelined: true, ..ReadOptions::default() });
    assert_eq!(pipelined.unwrap().into_trace().quality, trace.quality);
    let mut corrupt = whole.clone();
    let middle = corrupt.len() / 2;
    corrupt[middle..middle + 40].fill(0x55);
    // Corruption may still inflate to something; what matters is that it is never silent.
    if let Ok(loaded) = load(&corrupt) {
        assert!(!loaded.traces[0].quality.is_empty(), "corruption in the middle went unnoticed");
    }
}

#[test]
fn several_gzip_members_and_zstd_are_one_text() {
    let text = generated(&Plan::small().with_events(500));
    let want = load(&text).unwrap().into_trace();
    let mut members = Vec::new();
    for part in text.chunks(text.len() / 3 + 1) {
        let mut encoder = GzEncoder::new(&mut members, flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap();
    }
    for pipelined in [false, true] {
        let got = read(&members[..], ReadOptions { pipelined, ..ReadOptions::default() }).unwrap();
        assert_same("gzip members", &got.traces[0], &want);
        assert_eq!(got.text_bytes, text.len() as u64);
        let compressed = zstd::encode_all(&text[..], 1).unwrap();
        let got = read(&compressed[..], ReadOptions { pipelined, ..ReadOptions::default() }).unwrap();
        assert_same("zstd", &got.traces[0], &want);
    }
}

#[test]
fn damage_in_one_event_does_not_cost_the_next() {
    let broken = [
        r#"{"ph": "X", "name": "say "hi" there", "ts": 5, "dur": 1}"#,
        r#"{"ph": "X", "name": "never closed, "ts": 5, "dur": 1}"#,
        r#"{"ph": "X" "name": "no comma"; "ts": 5}"#,
        r#"{"ph": "X", "name": "half", "ts": }"#,
        r#"{"ph": "X", "name", "ts": 1}"#,
    ];
    for broken in broken {
        let text = format!(
            "{{\"traceEvents\": [{},\n{broken},\n{},{}]}}",
            event("a", 1),
            event("b", 2),
            event("c", 3)
        );
        let trace = load(text.as_bytes()).unwrap().into_trace();
        assert_eq!(names(&trace), ["a", "b", "c"], "{broken}");
        assert_eq!(codes(&trace), [(Code::MalformedEvents, 1)], "{broken}");
        assert!(trace.quality[0].message.contains("first at byte"), "{}", trace.quality[0].message);
    }
}

#[test]
fn odd_values_are_absent_and_said() {
    let text = r#"{"traceEvents": [
        {"ph": "X", "name": "nan", "ts": 1, "dur": NaN},
        {"ph": "X", "name": "negative", "ts": 5, "dur": -3},
        {"ph": "X", "name": "no dur", "ts": 5},
        {"ph": "X", "name": "no ts", "dur": 5},
        {"ph": "X", "name": "far", "ts": 1e300, "dur": 5},
        {"ph": "X", "name": "raw
newline and 	tab", "ts": 2, "dur": 1},
        {"ph": "X", "name": "bad \q escape", "ts": 3, "dur": 1},
        {"ph": "X", "name": "last", "ts": 4, "dur": 1,},
    ]}"#;
    let trace = load(text.as_bytes()).unwrap().into_trace();
    let span: Vec<_> = trace.rows().map(|row| trace.span(row).map(|(start, end)| (start.0, end.0))).collect();
    assert_eq!(
        span,
        [
            None,
            Some((5000, 5000)),
            None,
            None,
            None,
            Some((2000, 3000)),
            Some((3000, 4000)),
            Some((4000, 5000))
        ]
    );
    assert_eq!(trace.dur(1), Some(Ns(-3000)));
    assert_eq!((trace.name(5), trace.name(6)), ("raw\nnewline and \ttab", "bad \\q escape"));
    assert_eq!(codes(&trace), [(Code::InvalidTime, 1)]);
}

#[test]
fn invalid_utf8_is_repaired_and_said() {
    let text = b"{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"caf\xe9\", \"ts\": 1, \"dur\": 1}]}";
    let trace = load(text).unwrap().into_trace();
    assert_eq!(trace.name(0), "caf\u{fffd}");
    assert_eq!(codes(&trace), [(Code::InvalidUtf8, 1)]);
}

#[test]
fn deep_nesting_is_passed_over() {
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    let text = format!(
        r#"{{"x": {deep}, "traceEvents": [{{"ph": "X", "ts": 1, "dur": 1, "args": {{"Input Dims": {deep}}}}}]}}"#
    );
    let trace = load(text.as_bytes()).unwrap().into_trace();
    assert_eq!((trace.len(), codes(&trace)), (1, vec![(Code::MalformedEntries, 1)]));
    assert!(trace.quality[0].message.ends_with(": x"), "{}", trace.quality[0].message);
}

#[test]
fn a_very_long_foreign_value_is_not_held_in_memory() {
    // Longer than any value that is kept: passed over as it streams by.
    let filler = "0123456789,".repeat((70 << 20) / 11);
    let text = format!(r#"{{"other": ["{filler}", 1], "traceEvents": [{}]}}"#, event("a", 1));
    let trace = load(text.as_bytes()).unwrap().into_trace();
    assert_eq!((names(&trace), codes(&trace)), (vec!["a"], vec![]));
}

/// Reading must stay linear in the length of a value, and in bounded memory.
#[test]
fn an_endless_string_is_let_go() {
    let text = format!(
        "{{\"traceEvents\": [{}, {{\"ph\": \"X\", \"name\": \"{}",
        event("a", 1),
        "a".repeat(150 << 20)
    );
    let trace = load(text.as_bytes()).unwrap().into_trace();
    assert_eq!(names(&trace), ["a"]);
    assert!(codes(&trace).contains(&(Code::Truncated, 1)), "{:?}", codes(&trace));
    let text = format!("{{\"x\": \"{}\"}}", "a".repeat(100 << 20));
    assert!(refused(text.as_bytes()).contains("expected a `traceEvents` array"));
}

/// Elements that leave no row cost nothing; events that do are counted against what may be taken.
#[test]
fn memory_has_a_bound() {
    let bounded = |element: &str, times: usize| {
        let text = format!("{{\"traceEvents\": [{}]}}", vec![element; times].join(","));
        read(
            text.as_bytes(),
            ReadOptions { memory: 1 << 20, chunk_bytes: 64 << 10, ..ReadOptions::default() },
        )
    };
    for element in ["{}", "null", "{\"name\": \"no phase\"}", "{\"ph\": \"M\"}"] {
        let trace = bounded(element, 100_000).unwrap().into_trace();
        assert_eq!((trace.elements, trace.len()), (100_000, 0), "{element}");
    }
    for element in ["{\"ph\": \"X\"}", "{\"ph\": \"E\", \"ts\": 1}", "{\"ph\": \"s\", \"id\": 1}"] {
        let error = bounded(element, 200_000).unwrap_err().to_string();
        assert!(error.starts_with("its events take more than 1 MB of memory"), "{element}: {error}");
    }
    let text: Vec<String> =
        (0..100_000).map(|n| format!("{{\"ph\": \"M\", \"name\": \"thread_name\", \"tid\": {n}}}")).collect();
    let text = format!("[{}]", text.join(","));
    let options = ReadOptions { memory: 1 << 20, chunk_bytes: 64 << 10, ..ReadOptions::default() };
    assert!(matches!(read(text.as_bytes(), options), Err(gpuscope_formats::ReadError::TooLarge { .. })));
}

#[test]
fn garbage_behind_a_whole_gzip_is_nobodys_loss() {
    let text = format!("{{\"traceEvents\": [{}]}}", event("a", 1));
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    let mut bytes = encoder.finish().unwrap();
    bytes.extend_from_slice(b"junk\n");
    assert_eq!(codes(&load(&bytes).unwrap().into_trace()), []);
}

/// A disk that fails in the middle of a chunk: what was read is kept, and the message says why it ends there.
#[test]
fn a_failing_disk_is_named() {
    struct Failing<'t>(&'t [u8]);
    impl std::io::Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(std::io::Error::other("the disk is on fire")),
                n => Ok(n),
            }
        }
    }
    let text = format!("{{\"traceEvents\": [{}, {}", event("a", 1), event("b", 2));
    let trace = read(Failing(text.as_bytes()), ReadOptions::default()).unwrap().into_trace();
    assert_eq!(names(&trace), ["a", "b"]);
    assert!(trace.quality[0].message.contains("the disk is on fire"), "{}", trace.quality[0].message);
}
