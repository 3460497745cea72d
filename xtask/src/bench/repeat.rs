//! Makes a large trace out of a small real one: its events k times, one copy after the other in time.
//!
//! Times move by the trace's span, and all ids that link events (correlation, External id, flows, Python frames)
//! by one offset per copy, since correlation and flow ids are one numbering; steps are counted on. The text is laid
//! out as Kineto does. Events are turned into text with gaps once, so a copy costs little more than its bytes.

use std::fmt;
use std::io::{self, Write};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::decimal::Decimal;

/// Arguments that link one event to another.
const LINKS: [&str; 7] = [
    "correlation",
    "External id",
    "external id",
    "Python id",
    "Python parent id",
    "Sequence number",
    "wait_on_cuda_event_record_corr_id",
];
const STEP: &str = "ProfilerStep#";

/// An object's members in file order, values as they stand in the text.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Collect)
    }
}

impl Members<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v.get())
    }
}

/// What changes from copy to copy.
#[derive(Debug, Clone, Copy)]
enum Gap {
    Time(Decimal),
    Link(u64),
    Step(u64),
}

/// One copy of a trace: its text without what changes, and where that goes.
#[derive(Debug, Default)]
pub(super) struct Template {
    head: String,
    tail: String,
    text: String,
    gaps: Vec<(usize, Gap)>,
    pub(super) events: usize,
    times: Option<(i128, i128)>,
    links: Option<u64>,
    steps: Option<(u64, u64)>,
}

impl Template {
    pub(super) fn new(trace: &str) -> Result<Self> {
        let document: Members = serde_json::from_str(trace).context("a trace must be a JSON object")?;
        let events = document.get("traceEvents").context("no traceEvents")?;
        let events: Vec<&RawValue> = serde_json::from_str(events).context("traceEvents must be an array")?;
        let mut template = Self { head: "{\n".to_owned(), ..Self::default() };
        let mut inside = false;
        for (key, value) in &document.0 {
            if key == "traceEvents" {
                inside = true;
                template.head.push_str("  \"traceEvents\": [\n");
            } else if inside {
                template.tail.push_str(&[",\n  ", &quoted(key), ": ", value.get()].concat());
            } else {
                template.head.push_str(&["  ", &quoted(key), ": ", value.get(), ",\n"].concat());
            }
        }
        for event in events {
            let members = serde_json::from_str(event.get()).context("an event must be an object")?;
            template.event(&members)?;
        }
        ensure!(template.events > 0, "the trace has no events");
        Ok(template)
    }

    /// The copies that come closest to `bytes`, at least one.
    pub(super) fn copies_for(&self, bytes: u64) -> u64 {
        let one = self.text.len() + self.gaps.len() * 10;
        ((bytes as f64 / one as f64).round() as u64).max(1)
    }

    pub(super) fn write(&self, copies: u64, out: &mut impl Write) -> io::Result<()> {
        // Whole microseconds, so that a time keeps its digits; one more, so that copies do not touch.
        let span = self.times.map_or(1, |(first, last)| last - first + 2);
        let links = self.links.map_or(0, |largest| largest + 1);
        let steps = self.steps.map_or(0, |(first, last)| last - first + 1);
        out.write_all(self.head.as_bytes())?;
        for copy in 0..copies {
            if copy > 0 {
                out.write_all(b",\n")?;
            }
            let mut done = 0;
            for (at, gap) in &self.gaps {
                out.write_all(&self.text.as_bytes()[done..*at])?;
                done = *at;
                match gap {
                    Gap::Time(time) => write!(out, "{}", time.plus(span * i128::from(copy)))?,
                    Gap::Link(id) => write!(out, "{}", id + links * copy)?,
                    Gap::Step(number) => write!(out, "{}", number + steps * copy)?,
                }
            }
            out.write_all(&self.text.as_bytes()[done..])?;
        }
        write!(out, "\n  ]{}\n}}\n", self.tail)
    }

    fn event(&mut self, event: &Members) -> Result<()> {
        let phase = event.get("ph").unwrap_or_default();
        let flow = matches!(phase, "\"s\"" | "\"t\"" | "\"f\"");
        let lasting = event.get("dur").is_some();
        self.text.push_str(if self.events == 0 { "  {\n    " } else { ",\n  {\n    " });
        self.events += 1;
        for (index, (key, value)) in event.0.iter().enumerate() {
            if index > 0 {
                let next_line = key == "args" || (key == "ts" && lasting) || (key == "cat" && flow);
                self.text.push_str(if next_line { ",\n    " } else { ", " });
            }
            self.text.push_str(&quoted(key));
            self.text.push_str(": ");
            match key.as_str() {
                "ts" => self.time(value.get(), event.get("dur"), phase),
                "id" if flow => self.link(value.get()),
                "name" => self.name(value.get()),
                "args" if value.get().starts_with('{') => self.args(value.get())?,
                _ => self.copy(value.get()),
            }
        }
        self.text.push_str("\n  }");
        Ok(())
    }

    fn args(&mut self, text: &str) -> Result<()> {
        let args: Members = serde_json::from_str(text).context("args must be an object")?;
        self.text.push_str("{\n      ");
        for (index, (key, value)) in args.0.iter().enumerate() {
            self.text.push_str(if index > 0 { ", " } else { "" });
            self.text.push_str(&quoted(key));
            self.text.push_str(": ");
            if LINKS.contains(&key.as_str()) { self.link(value.get()) } else { self.copy(value.get()) }
        }
        self.text.push_str("\n    }");
        Ok(())
    }

    fn time(&mut self, text: &str, duration: Option<&str>, phase: &str) {
        let Some(time) = Decimal::parse(text) else { return self.copy(text) };
        self.gaps.push((self.text.len(), Gap::Time(time)));
        if phase != "\"M\"" {
            let length = duration.and_then(Decimal::parse).map_or(0, |d| d.floor() + 1);
            let (first, last) = (time.floor(), time.floor() + length);
            self.times = Some(self.times.map_or((first, last), |(a, b)| (a.min(first), b.max(last))));
        }
    }

    /// 0 and -1 mean "none", in every copy.
    fn link(&mut self, text: &str) {
        match text.parse::<u64>() {
            Ok(id) if id > 0 => {
                self.gaps.push((self.text.len(), Gap::Link(id)));
                self.links = self.links.max(Some(id));
            }
            _ => self.copy(text),
        }
    }

    fn name(&mut self, text: &str) {
        let number = text.trim_matches('"').strip_prefix(STEP).and_then(|n| n.parse::<u64>().ok());
        let Some(number) = number else { return self.copy(text) };
        self.text.push('"');
        self.text.push_str(STEP);
        self.gaps.push((self.text.len(), Gap::Step(number)));
        self.text.push('"');
        self.steps = Some(self.steps.map_or((number, number), |(a, b)| (a.min(number), b.max(number))));
    }

    /// A value on one line, with a space after commas and colons.
    fn copy(&mut self, text: &str) {
        let (mut string, mut escaped, mut start) = (false, false, 0);
        for (at, byte) in text.bytes().enumerate() {
            if string {
                string = escaped || byte != b'"';
                escaped = !escaped && byte == b'\\';
            } else if byte == b'"' {
                string = true;
            } else if byte.is_ascii_whitespace() || matches!(byte, b',' | b':') {
                self.text.push_str(&text[start..at]);
                start = at + 1;
                self.text.push_str(match byte {
                    b',' => ", ",
                    b':' => ": ",
                    _ => "",
                });
            }
        }
        self.text.push_str(&text[start..]);
    }
}

fn quoted(key: &str) -> String {
    serde_json::Value::from(key).to_string()
}

#[cfg(test)]
mod tests;
