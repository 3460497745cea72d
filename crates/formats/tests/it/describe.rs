//! A trace as plain text, one line per thing it holds, so that two readings can be compared and their first
//! difference shown.

use std::fmt::Write as _;

use gpuscope_formats::{Loaded, ReadError, ReadOptions, read};
use gpuscope_trace::{Arg, ArgType, Id, Trace};

pub(crate) fn load(text: &[u8]) -> Result<Loaded, ReadError> {
    read(text, ReadOptions::default())
}

fn id(trace: &Trace, id: Id) -> String {
    match id {
        Id::Absent => "-".to_owned(),
        Id::Int(value) => value.to_string(),
        Id::Text(text) => format!("{:?}", trace.strings.get(text)),
    }
}

/// Everything but the reader's remarks on quality.
pub(crate) fn describe(trace: &Trace) -> Vec<String> {
    described(trace, true)
}

/// The same with or without arguments that are text: lists are kept as they are written.
fn described(trace: &Trace, texts: bool) -> Vec<String> {
    let mut lines = vec![format!("elements {}", trace.elements)];
    lines.extend(
        trace.elements_by_category().into_iter().map(|(category, n)| format!("category {category:?} {n}")),
    );
    for row in trace.rows() {
        let place = trace.track(row);
        let mut line = format!(
            "row {row} element {} {:?} {:?} {:?} {:?}+{:?} pid {} tid {} device {} stream {}",
            trace.element(row),
            trace.phase(row),
            trace.strings.get(trace.tag(row).category),
            trace.name(row),
            trace.start(row),
            trace.dur(row),
            id(trace, place.key.pid),
            id(trace, place.key.tid),
            id(trace, place.key.device),
            id(trace, place.key.stream),
        );
        for arg in Arg::ALL.iter().filter(|arg| arg.is_stored()) {
            let value = match arg.arg_type() {
                ArgType::Int => trace.args.int(row, *arg).map(|value| value.to_string()),
                ArgType::Float => trace.args.float(row, *arg).map(|value| format!("{value:?}")),
                ArgType::Text if !texts => None,
                ArgType::Text => {
                    trace.args.text(row, *arg).map(|text| format!("{:?}", trace.strings.get(text)))
                }
                ArgType::Id => None,
            };
            if let Some(value) = value {
                write!(line, " {arg:?}={value}").unwrap();
            }
        }
        lines.push(line);
    }
    for point in trace.flows.iter() {
        let (tag, place) = (trace.tags.get(point.tag), trace.tracks.get(point.track));
        lines.push(format!(
            "flow {:?} {:?} {} {:?} {} {}",
            tag.phase,
            trace.strings.get(tag.category),
            // The number of an interned string depends on what was met before it.
            if point.id < i64::MIN + (1 << 32) { "text".to_owned() } else { point.id.to_string() },
            point.time,
            id(trace, place.key.pid),
            id(trace, place.key.tid),
        ));
    }
    for reading in &trace.readings {
        lines.push(format!(
            "reading {} {:?} {:?}",
            reading.row,
            trace.strings.get(reading.name),
            reading.value
        ));
    }
    for (_, track) in trace.tracks.iter() {
        let label = trace.tracks.thread_label(track.key.pid, track.key.tid);
        if let Some(label) = label {
            lines.push(format!("thread {} {:?}", id(trace, track.key.tid), trace.strings.get(label.name)));
        }
    }
    lines
}

/// Fails with the first line that differs.
pub(crate) fn assert_same(what: &str, got: &Trace, want: &Trace) {
    same(what, &describe(got), &describe(want));
}

/// The same but for the texts of arguments, of which a mended copy has other ones.
pub(crate) fn assert_same_but_texts(what: &str, got: &Trace, want: &Trace) {
    same(what, &described(got, false), &described(want, false));
}

fn same(what: &str, got: &[String], want: &[String]) {
    for (i, (a, b)) in got.iter().zip(want).enumerate() {
        assert_eq!(a, b, "{what}: line {i} differs");
    }
    assert_eq!(got.len(), want.len(), "{what}: number of lines");
}
