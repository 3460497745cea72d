use super::Template;
use serde_json::Value;

const TRACE: &str = r#"{
  "schemaVersion": 1, "deviceProperties": [{"id": 0}],
  "traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 1, "ts": 0, "args": {"name": "python \" , : x"}},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 1, "tid": 1, "ts": 1000.250, "dur": 90.5,
     "args": {"External id": 4, "Input Dims": [[2,3],
        []]}},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1095, "dur": 5.999,
     "args": {"correlation": 12, "External id": 0, "stream": 7, "Python parent id": null}},
    {"ph": "s", "id": 12, "pid": 1, "tid": 1, "ts": 1010.5, "cat": "ac2g", "name": "ac2g"},
    {"ph": "i", "id": 3, "name": "mark", "ts": 1020}
  ],
  "traceName": "t.json"
}"#;

fn repeated(copies: u64) -> (String, Value) {
    let mut out = Vec::new();
    Template::new(TRACE).unwrap().write(copies, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let value = serde_json::from_str(&text).unwrap();
    (text, value)
}

#[test]
fn one_copy_says_the_same_as_the_original() {
    let (_, value) = repeated(1);
    assert_eq!(value, serde_json::from_str::<Value>(TRACE).unwrap());
}

#[test]
fn copies_follow_each_other_and_do_not_share_ids() {
    let (text, value) = repeated(3);
    let events = value["traceEvents"].as_array().unwrap();
    assert_eq!(events.len(), 15);
    let of = |copy: usize, event: usize| &events[copy * 5 + event];
    // First start 1000.25, last end 1100.999: the span is rounded up to whole microseconds.
    for (copy, shift, ids) in [(1, 103.0, 13), (2, 206.0, 26)] {
        assert_eq!(of(copy, 1)["ts"], 1000.25 + shift);
        assert_eq!(of(copy, 2)["args"]["correlation"], 12 + ids);
        assert_eq!(of(copy, 3)["id"], 12 + ids, "flows are numbered with correlations");
        assert_eq!(of(copy, 1)["args"]["External id"], 4 + ids);
        assert_eq!(of(copy, 2)["args"]["External id"], 0, "0 is none");
        assert_eq!(of(copy, 2)["args"]["Python parent id"], Value::Null);
        assert_eq!(of(copy, 4)["id"], 3, "not a flow");
        assert_eq!(of(copy, 1)["name"], format!("ProfilerStep#{}", 7 + copy));
        assert_eq!(of(copy, 2)["args"]["stream"], 7);
    }
    assert!(text.contains("\"ts\": 1103.250, \"dur\": 90.5"), "digits stay:\n{text}");
    assert_eq!(value["traceName"], "t.json");
    let last_end = |copy: usize| of(copy, 2)["ts"].as_f64().unwrap() + 5.999;
    assert!(last_end(0) < of(1, 1)["ts"].as_f64().unwrap() && last_end(1) < of(2, 1)["ts"].as_f64().unwrap());
}

#[test]
fn the_layout_is_kinetos() {
    let (text, _) = repeated(1);
    let kernel = "\
  {
    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7,
    \"ts\": 1095, \"dur\": 5.999,
    \"args\": {
      \"correlation\": 12, \"External id\": 0, \"stream\": 7, \"Python parent id\": null
    }
  },
  {
    \"ph\": \"s\", \"id\": 12, \"pid\": 1, \"tid\": 1, \"ts\": 1010.5,
    \"cat\": \"ac2g\", \"name\": \"ac2g\"
  },
";
    assert!(text.contains(kernel), "{text}");
    assert!(text.contains("\"Input Dims\": [[2, 3], []]"), "{text}");
}

#[test]
fn copies_come_close_to_the_size_asked_for() {
    let template = Template::new(TRACE).unwrap();
    let mut out = Vec::new();
    template.write(template.copies_for(100_000), &mut out).unwrap();
    assert!((90_000..110_000).contains(&out.len()), "{}", out.len());
    assert_eq!(template.copies_for(1), 1);
}

#[test]
fn what_is_no_trace_is_refused() {
    for text in ["[]", "{}", "{\"traceEvents\": 5}", "{\"traceEvents\": []}", "{\"traceEvents\": [5]}", "{"] {
        assert!(Template::new(text).is_err(), "{text}");
    }
}
