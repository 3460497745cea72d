//! Copying a trace: untouched it stays as it is, byte for byte; damaged it comes out sound; and an editor's indexes
//! are those of the reader.

use std::io::Write as _;

use gpuscope_formats::rewrite::{Editor, Element, NewEvent, Overlay, Rewritten, Target, rewrite};
use gpuscope_formats::{Compression, ReadOptions, strict};
use gpuscope_testkit::Plan;
use gpuscope_testkit::mutate::mutate;
use gpuscope_trace::{Ns, Phase, Trace};

use crate::corpus;
use crate::describe::{assert_same, assert_same_but_texts, load};
use crate::differential::generated;

fn copy(text: &[u8], chunk_bytes: usize, editor: &mut dyn Editor) -> Option<(Vec<u8>, Rewritten)> {
    let mut out = Vec::new();
    let options = ReadOptions { chunk_bytes, ..ReadOptions::default() };
    let done = rewrite(text, options, &mut out, editor).ok()?;
    Some((out, done))
}

fn copied(text: &[u8]) -> Vec<u8> {
    copy(text, 512 << 10, &mut ()).expect("a trace").0
}

#[test]
fn untouched_traces_stay_as_they_are() {
    let odd = [
        "  \n\t{\"traceEvents\"\n:\r[\n{\"ph\" :\t\"X\" , \"ts\" : 1 }\n,\n {} ] , \"x\":[1,\"]}\"] }  \n",
        r#"[{"ph": "X", "ts": 0, "dur": 0}, null, 3, "x", [], {}, {"ph": 3}]"#,
        r#"{"a": {"traceEvents": [1]}, "traceEvents": [], "traceEvents": [{"ph": "i", "ts": 4}], "z": "]}"}"#,
        r#"{"traceEvents": [   ]}"#,
    ];
    for text in odd {
        for chunk_bytes in 1..40 {
            let (out, done) = copy(text.as_bytes(), chunk_bytes, &mut ()).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), text, "chunks of {chunk_bytes}");
            assert_eq!((done.truncated, done.damaged), (false, 0), "{text}");
        }
    }
    let text = generated(&Plan::small());
    for chunk_bytes in [1, 7, 64, 1000, 65_537, 512 << 10] {
        assert!(copy(&text, chunk_bytes, &mut ()).unwrap().0 == text, "chunks of {chunk_bytes}");
    }
}

#[test]
fn real_traces_stay_as_they_are() {
    for path in corpus::traces().into_iter().flatten() {
        let text = corpus::text(&path);
        if strict::read(&text).is_some() {
            assert!(copied(&text) == text, "{}", path.display());
        }
    }
}

/// The texts that are no traces are refused, and those that are read alike before and after.
fn sound(what: &str, text: &[u8]) -> bool {
    let (loaded, copied) = (load(text), copy(text, 512 << 10, &mut ()));
    let (loaded, (out, done)) = match (loaded, copied) {
        (Ok(loaded), Some(copied)) => (loaded, copied),
        (Err(_), None) => return false,
        (loaded, copied) => panic!("{what}: read {}, copied {}", loaded.is_ok(), copied.is_some()),
    };
    assert_eq!(done.elements, loaded.traces[0].elements, "{what}");
    if let Err(error) = serde_json::from_slice::<serde_json::Value>(&out) {
        panic!("{what}: the copy is no JSON: {error}\n{}", String::from_utf8_lossy(&out));
    }
    let again = load(&out).unwrap_or_else(|error| panic!("{what}: the copy is no trace: {error}"));
    let compare = if done.mended == 0 { assert_same } else { assert_same_but_texts };
    compare(what, &again.traces[0], &loaded.traces[0]);
    let damage = |trace: &Trace| {
        use gpuscope_trace::Code::{MalformedEvents, Truncated};
        let count = |code| trace.quality.iter().filter(|q| q.code == code).map(|q| q.count).sum::<u64>();
        (count(Truncated) > 0, count(MalformedEvents))
    };
    assert_eq!((done.truncated, done.damaged), damage(&loaded.traces[0]), "{what}");
    assert_eq!(damage(&again.traces[0]), (false, 0), "{what}: the copy is damaged");
    true
}

#[test]
fn damaged_traces_come_out_sound() {
    let text = generated(&Plan::small().with_events(120));
    let read = (0..4_000).filter(|seed| sound(&format!("mutation {seed}"), &mutate(&text, *seed))).count();
    assert!(read > 3_000, "only {read} mutations could be read");
    let bare = br#"[{"ph": "B", "ts": 1}{"ph": "E", "ts": 2} oops, {"ph": "X", "name": "a "quoted" one"}, {"ph": "i", "ts": 3},]"#;
    for seed in 0..2_000 {
        sound(&format!("bare {seed}"), &mutate(bare, seed));
    }
}

/// What the reader puts up with, a copy does not hand on.
#[test]
fn what_is_no_json_is_copied_as_some() {
    let wide = format!("[{{\"ph\": \"X\"}}{},{{\"ph\": \"X\"}}]", " ".repeat(5000));
    let deep = format!("{{\"x\": {}1{}, \"traceEvents\": []}}", "[".repeat(100_000), "]".repeat(100_000));
    let texts = [
        "{\"a\": NaN, \"traceEvents\": [{\"ph\": \"X\", \"name\": \"raw\nline\", \"dur\": Infinity},]}",
        "{,\"a\": 1 \"traceEvents\": [{\"ph\": \"X\" \"ts\": 07}],}",
        "{\"distributedInfo\": {x}, \"traceEvents\": [oops, {\"ph\": \"X\", \"args\": {\"k\": tru}}]}",
        "\u{1}{\u{b}\"a\tb\": \"\\q\", \"traceEvents\":\u{1}[\u{1}{\"ph\": \"X\"}\u{c},\u{b}{\"ph\": \"i\"}]\u{1}}\u{c}",
        "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"\\ud800\"}], \"traceEvents\": [1 2]}",
        &wide,
        &deep,
    ];
    for text in texts {
        for chunk_bytes in [1, 7, 1000] {
            let (out, done) = copy(text.as_bytes(), chunk_bytes, &mut ()).unwrap();
            let shown = String::from_utf8_lossy(&out);
            assert!(serde_json::from_slice::<serde_json::Value>(&out).is_ok(), "{shown}");
            assert_eq!(done.too_deep, u64::from(text == deep), "{shown:.100}");
        }
    }
}

#[test]
fn a_text_that_breaks_off_is_closed_behind_its_last_whole_element() {
    let text = generated(&Plan::small().with_events(60));
    let start = text.windows(13).position(|window| window == b"\"traceEvents\"").unwrap() + 20;
    for cut in (start..text.len()).step_by(37) {
        let out = copied(&text[..cut]);
        let strictly = strict::read(&out).unwrap_or_else(|| panic!("cut at {cut}: no JSON"));
        assert_same(&format!("cut at {cut}"), &strictly, &load(&text[..cut]).unwrap().into_trace());
    }
}

/// Marks every third element, drops every fourth, and appends a counter.
#[derive(Default)]
struct Busy {
    seen: Vec<(u32, Option<Phase>)>,
}

impl Editor for Busy {
    fn element(&mut self, element: &mut Element<'_>) {
        self.seen.push((element.index, element.phase));
        if element.index.is_multiple_of(4) {
            element.leave_out();
        } else if element.index.is_multiple_of(3) {
            element.add_args("\"critical\":1");
        }
    }

    fn entry(&mut self, key: &str, _value: &[u8]) -> Option<String> {
        (key == "traceName").then(|| "\"other\"".to_owned())
    }

    fn append(&mut self, add: &mut dyn FnMut(&str) -> std::io::Result<()>) -> std::io::Result<()> {
        (0..3).try_for_each(|n| {
            add(&format!("{{\"ph\":\"C\",\"name\":\"n\",\"ts\":{n},\"args\":{{\"v\":{n}}}}}"))
        })
    }
}

#[test]
fn an_editor_sees_the_indexes_of_the_reader() {
    let text = generated(&Plan::small().with_sync_rows());
    let trace = load(&text).unwrap().into_trace();
    let mut busy = Busy::default();
    let (out, done) = copy(&text, 1000, &mut busy).unwrap();
    assert_eq!(busy.seen.len() as u64, trace.elements);
    assert!(busy.seen.iter().enumerate().all(|(i, (index, _))| i as u32 == *index));
    for row in trace.rows() {
        assert_eq!(busy.seen[trace.element(row) as usize].1, Some(trace.phase(row)));
    }
    assert_eq!((done.dropped, done.appended), (trace.elements.div_ceil(4), 3));
    let after = strict::read(&out).expect("JSON");
    assert_eq!(after.elements, trace.elements - done.dropped + 3);
    assert_eq!(after.readings.len(), trace.readings.len() + 3);
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let marked =
        json["traceEvents"].as_array().unwrap().iter().filter(|event| event["args"]["critical"] == 1);
    let expected = (0..trace.elements).filter(|i| i % 4 != 0 && i % 3 == 0).count();
    assert_eq!(marked.count(), expected);
    assert_eq!(json["traceName"], "other");
}

#[test]
fn dropping_and_adding_leaves_sound_json_in_any_layout() {
    struct Only(Vec<u32>);
    impl Editor for Only {
        fn element(&mut self, element: &mut Element<'_>) {
            if !self.0.contains(&element.index) {
                element.leave_out();
            }
        }
        fn append(&mut self, add: &mut dyn FnMut(&str) -> std::io::Result<()>) -> std::io::Result<()> {
            if self.0.contains(&9) { add("{\"ph\":\"i\"}") } else { Ok(()) }
        }
    }
    for layout in
        ["[{A},{A},{A}]", "[\n  {A},\n  {A},\n  {A}\n]", "{\"x\":1,\"traceEvents\":[{A} , {A} ,{A} ]}"]
    {
        let text = layout.replace("{A}", "{\"ph\":\"X\"}");
        for kept in 0..16_u32 {
            let mut only: Vec<u32> = (0..3).filter(|i| kept >> i & 1 == 1).collect();
            only.extend((kept >= 8).then_some(9));
            let wanted = only.len() as u64;
            let (out, _) = copy(text.as_bytes(), 64, &mut Only(only)).unwrap();
            let shown = String::from_utf8_lossy(&out).into_owned();
            let json: serde_json::Value = serde_json::from_slice(&out).unwrap_or_else(|_| panic!("{shown}"));
            let array = json.as_array().or_else(|| json["traceEvents"].as_array()).unwrap();
            assert_eq!(array.len() as u64, wanted, "{shown}");
        }
    }
}

#[test]
fn editors_follow_one_another() {
    let text = br#"{"traceEvents": [{"ph": "X", "ts": 1}, {"ph": "X", "ts": 2}, {"ph": "X", "ts": 3}]}"#;
    let counter =
        NewEvent::Counter { name: "n".into(), pid: 0, id: None, time: Ns(2_000), series: "v", value: 0.5 };
    let marks = vec![(2, "\"b\":2".into()), (1, "\"a\":1".into()), (1, "\"c\":3".into())];
    let mut editors: Vec<Box<dyn Editor>> =
        vec![Box::new(Busy::default()), Box::new(Overlay::new(marks, vec![counter]))];
    let (out, done) = copy(text, 16, &mut editors).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let args: Vec<_> =
        json["traceEvents"].as_array().unwrap().iter().map(|event| event["args"].to_string()).collect();
    assert_eq!(
        args,
        [r#"{"a":1,"c":3}"#, r#"{"b":2}"#, r#"{"v":0}"#, r#"{"v":1}"#, r#"{"v":2}"#, r#"{"v":0.5}"#]
    );
    assert_eq!((done.dropped, done.appended), (1, 4));
}

#[test]
fn a_target_is_read_back_whatever_its_compression() {
    let text = generated(&Plan::small().with_events(300));
    for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
        let mut target = Target::new(Vec::new(), compression).unwrap();
        target.write_all(&text).unwrap();
        let stored = target.finish().unwrap();
        assert_eq!(stored == text, compression == Compression::None);
        assert!(copied(&stored) == text, "{compression:?}");
    }
}

#[test]
fn a_value_too_long_to_hold_is_emptied_and_named() {
    let filler = "0123456789,".repeat((150 << 20) / 11);
    let text = format!(r#"{{"other": ["{filler}", 1], "traceEvents": [{{"ph": "X"}}], "more": 1}}"#);
    let (out, done) = copy(text.as_bytes(), 512 << 10, &mut ()).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        r#"{"other": null, "traceEvents": [{"ph": "X"}], "more": 1}"#
    );
    assert_eq!(done.emptied, ["other"]);
}

#[test]
fn what_cannot_be_written_is_said() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let error = rewrite(&b"[{\"ph\": \"X\"}]"[..], ReadOptions::default(), &mut Full, &mut ()).unwrap_err();
    assert_eq!(error.to_string(), "cannot be written: the disk is full");
}
