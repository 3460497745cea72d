//! Reads a written file back with a general JSON parser, and nothing the generator uses.

use std::collections::{BTreeMap, BTreeSet};

use gpuscope_testkit::{BreakdownTruth, Plan, RankTruth, write_rank};
use serde_json::Value;

/// A parsed file with the truth that came with it.
pub(crate) struct Reread {
    pub(crate) bytes: Vec<u8>,
    pub(crate) root: Value,
    pub(crate) truth: RankTruth,
    spans: Vec<Span>,
}

/// A duration event.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) category: String,
    pub(crate) name: String,
    pub(crate) pid: i64,
    pub(crate) tid: i64,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) args: Value,
}

impl Span {
    pub(crate) fn is_gpu(&self) -> bool {
        matches!(self.category.as_str(), "kernel" | "gpu_memcpy" | "gpu_memset")
    }

    pub(crate) fn kind(&self) -> usize {
        if self.name.to_lowercase().contains("nccl") {
            1
        } else if self.category == "gpu_memcpy" {
            2
        } else {
            0
        }
    }

    pub(crate) fn correlation(&self) -> Option<i64> {
        self.args["correlation"].as_i64()
    }
}

pub(crate) fn reread(plan: &Plan, rank: u32) -> Reread {
    let mut bytes = Vec::new();
    let truth = write_rank(plan, rank, &mut bytes).expect("writing to memory");
    let root: Value = serde_json::from_slice(&bytes).expect("valid JSON");
    let spans = spans_of(&root);
    Reread { bytes, root, truth, spans }
}

fn spans_of(root: &Value) -> Vec<Span> {
    let elements = root["traceEvents"].as_array().expect("an array of events");
    let span = |element: &Value| {
        let start = ns(&element["ts"]);
        Span {
            category: element["cat"].as_str().unwrap_or("").to_owned(),
            name: element["name"].as_str().unwrap_or("").to_owned(),
            pid: element["pid"].as_i64().unwrap_or(-7),
            tid: element["tid"].as_i64().unwrap_or(-7),
            start,
            end: start + ns(&element["dur"]),
            args: element["args"].clone(),
        }
    };
    elements.iter().filter(|element| element["ph"] == "X").map(span).collect()
}

/// Decimal microseconds from the text of a number. Times of this size still print exactly from a double when they
/// have three decimals and less than 2^53 nanoseconds.
pub(crate) fn ns(value: &Value) -> i64 {
    let text = value.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let padded = format!("{fraction:0<3}");
    assert!(padded.len() == 3, "{text}");
    let (whole, fraction): (i64, i64) = (whole.parse().expect("digits"), padded.parse().expect("digits"));
    whole * 1000 + fraction
}

impl Reread {
    pub(crate) fn elements(&self) -> &[Value] {
        self.root["traceEvents"].as_array().expect("an array of events")
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The start of each GPU event's launch, by correlation.
    pub(crate) fn launches(&self) -> BTreeMap<i64, (i64, i64)> {
        let mut launches: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for span in self.spans().iter().filter(|span| span.category == "cuda_runtime") {
            let correlation = span.correlation().expect("a correlation");
            assert!(launches.insert(correlation, (span.start, span.end)).is_none(), "correlation used twice");
        }
        launches
    }
}

/// A breakdown by looking at every stretch between two neighbouring boundaries and asking each event whether it covers
/// it: slow, and too simple to be wrong.
pub(crate) fn brute_force(events: &[&Span]) -> BreakdownTruth {
    let boundaries: Vec<i64> = events
        .iter()
        .flat_map(|event| [event.start, event.end])
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let mut sums = BreakdownTruth::default();
    for stretch in boundaries.windows(2) {
        let length = stretch[1] - stretch[0];
        let covers = |kind: usize| {
            events
                .iter()
                .any(|event| event.kind() == kind && event.start <= stretch[0] && event.end >= stretch[1])
        };
        let (computation, communication, copy) = (covers(0), covers(1), covers(2));
        sums.computation_ns += if computation { length } else { 0 };
        sums.comm_ns += if communication { length } else { 0 };
        sums.memcpy_ns += if copy { length } else { 0 };
        sums.exposed_comm_ns += if communication && !computation { length } else { 0 };
        sums.exposed_memcpy_ns += if copy && !computation && !communication { length } else { 0 };
        sums.busy_ns += if computation || communication || copy { length } else { 0 };
    }
    if let (Some(first), Some(last)) = (boundaries.first(), boundaries.last()) {
        sums.total_ns = last - first;
        sums.idle_ns = sums.total_ns - sums.busy_ns;
    }
    sums
}
