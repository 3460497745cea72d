//! The beginnings and ends of what torch times, written as events of a Chrome trace.

use gpuscope_trace::Ns;
use gpuscope_trace::compile_log::{CompileId, Edge};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::envelope::parse_id;
use crate::chrome::number;

#[derive(Deserialize)]
struct Event<'e> {
    name: String,
    ph: String,
    #[serde(borrow)]
    ts: &'e RawValue,
    #[serde(borrow, default)]
    dur: Option<&'e RawValue>,
    #[serde(default)]
    args: Option<Args>,
}

#[derive(Deserialize)]
struct Args {
    #[serde(default)]
    compile_id: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Timed {
    pub name: String,
    pub id: Option<CompileId>,
    pub edges: Vec<(Edge, Ns)>,
}

/// What an event says; nothing for those that mark a point in time. `None` for what is no event.
pub(super) fn timed(payload: &str) -> Option<Timed> {
    let event: Event<'_> = serde_json::from_str(payload).ok()?;
    let ns = |text: &RawValue| number::us_to_ns(text.get().as_bytes());
    let at = Ns(ns(event.ts)?.clamp(-Ns::LIMIT.0, Ns::LIMIT.0));
    let edges = match event.ph.as_str() {
        "B" => vec![(Edge::Begin, at)],
        "E" => vec![(Edge::End, at)],
        "X" => vec![(Edge::Begin, at), (Edge::End, at + Ns(ns(event.dur?)?.clamp(0, Ns::LIMIT.0)))],
        _ => Vec::new(),
    };
    let id = event.args.and_then(|args| parse_id(&args.compile_id?));
    Some(Timed { name: event.name, id, edges })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        let text =
            r#"{"name": "dynamo", "ts": 1794835358826744.25, "ph": "B", "args": {"compile_id": "0/0"}}"#;
        let event = timed(text).unwrap();
        assert_eq!(event.edges, [(Edge::Begin, Ns(1_794_835_358_826_744_250))]);
        assert_eq!(event.id, parse_id("0/0"));
    }

    #[test]
    fn whole_events_have_two_edges_and_points_none() {
        let edges = |rest: &str| timed(&format!("{{\"name\": \"x\", \"ts\": 1, {rest}}}")).map(|e| e.edges);
        let both = vec![(Edge::Begin, Ns(1000)), (Edge::End, Ns(3000))];
        assert_eq!(edges(r#""ph": "X", "dur": 2"#), Some(both));
        assert_eq!(edges(r#""ph": "i", "args": {"compile_id": "None"}"#), Some(Vec::new()));
        assert_eq!(edges(r#""ph": "X""#), None);
        assert_eq!(timed("{"), None);
    }
}
