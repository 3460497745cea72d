//! Tiny traces written by hand, for unit tests: a few events with plain nanosecond times, rendered as Kineto would.
//!
//! ```
//! let json = gpuscope_testkit::text::trace()
//!     .step(3, 0..100)
//!     .kernel("gemm", 10..20)
//!     .on(0, 7)
//!     .launched_at(5..6)
//!     .to_json();
//! assert!(json.contains("gemm"));
//! ```
//!
//! `on`, `launched_at`, `correlation` and `arg` change the event added last.

use std::fmt::Write as _;
use std::ops::Range;

/// Begins an empty trace.
pub fn trace() -> TraceText {
    TraceText::default()
}

const HOST_PID: i64 = 1000;

/// A trace being put together.
#[derive(Debug, Clone, Default)]
pub struct TraceText {
    elements: Vec<Element>,
    top_level: Vec<(String, String)>,
    next_correlation: i64,
}

#[derive(Debug, Clone)]
enum Element {
    Event(Event),
    Raw(String),
}

#[derive(Debug, Clone)]
struct Event {
    phase: &'static str,
    category: String,
    name: String,
    pid: i64,
    tid: i64,
    start: i64,
    duration: Option<i64>,
    /// Further members of the event object, rendered.
    members: String,
    args: Vec<(String, String)>,
}

impl TraceText {
    /// A GPU kernel on device 0, stream 7, without a launch.
    #[must_use]
    pub fn kernel(self, name: &str, at: Range<i64>) -> TraceText {
        self.gpu("kernel", name, at)
    }

    /// A copy of some bytes on device 0, stream 7.
    #[must_use]
    pub fn memcpy(self, name: &str, at: Range<i64>, bytes: i64) -> TraceText {
        self.gpu("gpu_memcpy", name, at).arg("bytes", bytes)
    }

    /// A memset on device 0, stream 7.
    #[must_use]
    pub fn memset(self, at: Range<i64>, bytes: i64) -> TraceText {
        self.gpu("gpu_memset", "Memset (Device)", at).arg("bytes", bytes)
    }

    /// A runtime call with a correlation.
    #[must_use]
    pub fn runtime(self, name: &str, at: Range<i64>, correlation: i64) -> TraceText {
        self.span("cuda_runtime", name, at).arg("cbid", 211).arg("correlation", correlation)
    }

    /// An operator on the host's main thread.
    #[must_use]
    pub fn cpu_op(self, name: &str, at: Range<i64>) -> TraceText {
        self.span("cpu_op", name, at)
    }

    /// A user annotation on the host's main thread.
    #[must_use]
    pub fn annotation(self, name: &str, at: Range<i64>) -> TraceText {
        self.span("user_annotation", name, at)
    }

    /// A `ProfilerStep#`.
    #[must_use]
    pub fn step(self, number: i64, at: Range<i64>) -> TraceText {
        self.annotation(&format!("ProfilerStep#{number}"), at)
    }

    /// A Python frame with its own id and that of its caller.
    #[must_use]
    pub fn python(self, name: &str, at: Range<i64>, id: i64, parent: Option<i64>) -> TraceText {
        let parent = parent.map_or_else(|| "null".to_owned(), |parent| parent.to_string());
        self.span("python_function", name, at).raw_arg("Python parent id", &parent).arg("Python id", id)
    }

    /// A duration event of any category on the host's main thread.
    #[must_use]
    pub fn span(self, category: &str, name: &str, at: Range<i64>) -> TraceText {
        self.event("X", category, name, at.start, Some(at.end - at.start))
    }

    /// An instant on the host's main thread.
    #[must_use]
    pub fn instant(self, category: &str, name: &str, at: i64) -> TraceText {
        self.event("i", category, name, at, None).member("\"s\": \"t\"")
    }

    /// An allocation, or with negative bytes a release, and what is allocated then.
    #[must_use]
    pub fn memory(self, at: i64, bytes: i64, allocated: i64) -> TraceText {
        self.instant("cpu_instant_event", "[memory]", at)
            .arg("Total Reserved", allocated)
            .arg("Total Allocated", allocated)
            .arg("Bytes", bytes)
            .arg("Addr", 4096)
            .arg("Device Id", 0)
            .arg("Device Type", 1)
    }

    /// A counter with one value.
    #[must_use]
    pub fn counter(self, name: &str, at: i64, value: i64) -> TraceText {
        self.event("C", "", name, at, None).arg("value", value)
    }

    /// One flow: from a host time to a time on a device's stream.
    #[must_use]
    pub fn flow(
        self,
        category: &str,
        id: i64,
        from: i64,
        to: i64,
        (device, stream): (i64, i64),
    ) -> TraceText {
        self.event("s", category, category, from, None)
            .member(&format!("\"id\": {id}"))
            .event("f", category, category, to, None)
            .member(&format!("\"id\": {id}, \"bp\": \"e\""))
            .at_place(device, stream)
    }

    /// An element of the event array, verbatim.
    #[must_use]
    pub fn raw(mut self, json: &str) -> TraceText {
        self.elements.push(Element::Raw(json.to_owned()));
        self
    }

    /// A member of the top-level object, its value verbatim.
    #[must_use]
    pub fn top_level(mut self, key: &str, json: &str) -> TraceText {
        self.top_level.push((key.to_owned(), json.to_owned()));
        self
    }

    /// The rank and size of the job, as the profiler notes them.
    #[must_use]
    pub fn rank(self, rank: u32, world_size: u32) -> TraceText {
        let json = format!("{{\"backend\": \"nccl\", \"rank\": {rank}, \"world_size\": {world_size}}}");
        self.top_level("distributedInfo", &json)
    }

    /// Puts the last event on a device's stream.
    #[must_use]
    pub fn on(self, device: i64, stream: i64) -> TraceText {
        self.at_place(device, stream).arg("device", device).arg("stream", stream)
    }

    /// Puts the last event on a host thread.
    #[must_use]
    pub fn thread(self, tid: i64) -> TraceText {
        self.at_place(HOST_PID, tid)
    }

    /// Puts the last event on any process and thread.
    #[must_use]
    pub fn at_place(mut self, pid: i64, tid: i64) -> TraceText {
        if let Some(event) = self.last_event() {
            (event.pid, event.tid) = (pid, tid);
        }
        self
    }

    /// Gives the last event, GPU work, a `cudaLaunchKernel` with a correlation of its own.
    #[must_use]
    pub fn launched_at(mut self, call: Range<i64>) -> TraceText {
        self.next_correlation += 1;
        let correlation = self.next_correlation;
        let with_correlation = self.arg("correlation", correlation);
        let Some(Element::Event(gpu)) = with_correlation.elements.last().cloned() else {
            return with_correlation;
        };
        let mut launched = with_correlation;
        launched.elements.pop();
        launched = launched.runtime("cudaLaunchKernel", call, correlation);
        launched.elements.push(Element::Event(gpu));
        launched
    }

    /// Gives the last event a correlation chosen by the caller.
    #[must_use]
    pub fn correlation(self, correlation: i64) -> TraceText {
        self.arg("correlation", correlation)
    }

    /// Sets an integer argument of the last event.
    #[must_use]
    pub fn arg(self, key: &str, value: i64) -> TraceText {
        self.raw_arg(key, &value.to_string())
    }

    /// Sets a text argument of the last event.
    #[must_use]
    pub fn text_arg(self, key: &str, value: &str) -> TraceText {
        let quoted = quote(value);
        self.raw_arg(key, &quoted)
    }

    /// Sets an argument of the last event, its value verbatim.
    #[must_use]
    pub fn raw_arg(mut self, key: &str, json: &str) -> TraceText {
        if let Some(event) = self.last_event() {
            event.args.retain(|(present, _)| present != key);
            event.args.push((key.to_owned(), json.to_owned()));
        }
        self
    }

    /// The trace as JSON text.
    pub fn to_json(&self) -> String {
        let mut json = String::from("{\n  \"schemaVersion\": 1,\n");
        for (key, value) in &self.top_level {
            let _ = writeln!(json, "  {}: {value},", quote(key));
        }
        json.push_str("  \"traceEvents\": [");
        for (index, element) in self.elements.iter().enumerate() {
            json.push_str(if index == 0 { "\n" } else { ",\n" });
            match element {
                Element::Event(event) => event.render(&mut json),
                Element::Raw(raw) => json.push_str(raw),
            }
        }
        json.push_str("\n  ]\n}\n");
        json
    }

    fn gpu(self, category: &str, name: &str, at: Range<i64>) -> TraceText {
        self.span(category, name, at).on(0, 7)
    }

    fn event(
        mut self,
        phase: &'static str,
        category: &str,
        name: &str,
        start: i64,
        duration: Option<i64>,
    ) -> TraceText {
        self.elements.push(Element::Event(Event {
            phase,
            category: category.to_owned(),
            name: name.to_owned(),
            pid: HOST_PID,
            tid: HOST_PID,
            start,
            duration,
            members: String::new(),
            args: Vec::new(),
        }));
        self
    }

    fn member(mut self, json: &str) -> TraceText {
        if let Some(event) = self.last_event() {
            json.clone_into(&mut event.members);
        }
        self
    }

    fn last_event(&mut self) -> Option<&mut Event> {
        match self.elements.last_mut() {
            Some(Element::Event(event)) => Some(event),
            _ => None,
        }
    }
}

impl Event {
    fn render(&self, json: &mut String) {
        let _ = write!(json, "  {{\n    \"ph\": \"{}\", ", self.phase);
        if !self.category.is_empty() {
            let _ = write!(json, "\"cat\": {}, ", quote(&self.category));
        }
        let _ = write!(
            json,
            "\"name\": {}, \"pid\": {}, \"tid\": {},\n    \"ts\": {}",
            quote(&self.name),
            self.pid,
            self.tid,
            microseconds(self.start)
        );
        if let Some(duration) = self.duration {
            let _ = write!(json, ", \"dur\": {}", microseconds(duration));
        }
        if !self.members.is_empty() {
            let _ = write!(json, ", {}", self.members);
        }
        if !self.args.is_empty() {
            let args: Vec<String> =
                self.args.iter().map(|(key, value)| format!("{}: {value}", quote(key))).collect();
            let _ = write!(json, ",\n    \"args\": {{\n      {}\n    }}", args.join(", "));
        }
        json.push_str("\n  }");
    }
}

fn microseconds(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:03}", ns / 1000, ns % 1000)
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn parsed(trace: &TraceText) -> Vec<Value> {
        let value: Value = serde_json::from_str(&trace.to_json()).expect("valid JSON");
        value["traceEvents"].as_array().expect("an array").clone()
    }

    #[test]
    fn a_launch_is_linked_to_its_kernel() {
        let events = parsed(&trace().kernel("gemm", 10_000..20_001).on(1, 9).launched_at(5_000..6_000));
        assert_eq!(events.len(), 2);
        assert_eq!(events[0]["args"]["correlation"], events[1]["args"]["correlation"]);
        assert_eq!(events[1]["dur"].to_string(), "10.001");
        assert_eq!((events[1]["pid"].as_i64(), events[1]["args"]["stream"].as_i64()), (Some(1), Some(9)));
    }

    #[test]
    fn every_kind_of_element_is_valid_json() {
        let all = trace()
            .rank(3, 8)
            .step(7, 0..100)
            .cpu_op("aten::mm", 1..9)
            .memcpy("Memcpy HtoD (Pinned -> Device)", 2..4, 64)
            .memset(4..5, 8)
            .python("a \"quoted\" name", 0..50, 1, None)
            .instant("cpu_instant_event", "mark", 8)
            .memory(9, 512, 1024)
            .counter("power", 10, 300)
            .flow("ac2g", 4, 1, 5, (0, 7))
            .raw("{}");
        assert_eq!(parsed(&all).len(), 11);
    }
}
