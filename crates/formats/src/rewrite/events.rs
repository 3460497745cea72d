//! Events that were never recorded but computed: counters and arrows, as the Chrome format writes them.

use std::fmt::Write as _;

use gpuscope_trace::Ns;

/// An event to append to a trace.
#[derive(Clone, Debug, PartialEq)]
pub enum NewEvent {
    /// The value of a counter from a moment on. Viewers draw one track per process, name and id.
    Counter { name: String, pid: i64, id: Option<i64>, time: Ns, series: &'static str, value: f64 },
    /// An arrow from one place and time to another.
    Flow { category: &'static str, name: &'static str, id: u64, from: FlowEnd, to: FlowEnd },
}

/// Where an arrow begins or ends: the ids are JSON text, as the trace writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowEnd {
    pub pid: String,
    pub tid: String,
    pub time: Ns,
}

impl NewEvent {
    /// The text; of an arrow two elements, one for each end.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = match self {
            NewEvent::Counter { name, pid, id, time, series, value } => {
                let id = id.map_or(String::new(), |id| format!("\"id\":{id},"));
                write!(
                    text,
                    "{{\"ph\":\"C\",\"name\":{},\"pid\":{pid},{id}\"ts\":{},\"args\":{{\"{series}\":{value}}}}}",
                    quoted(name),
                    microseconds(*time),
                )
            }
            NewEvent::Flow { category, name, id, from, to } => {
                let end = |phase: &str, end: &FlowEnd| {
                    format!(
                        "{{\"ph\":{phase},\"id\":{id},\"cat\":\"{category}\",\"name\":\"{name}\",\"pid\":{},\"tid\":{},\
                         \"ts\":{}}}",
                        end.pid,
                        end.tid,
                        microseconds(end.time),
                    )
                };
                write!(text, "{},\n{}", end("\"s\"", from), end("\"f\",\"bp\":\"e\"", to))
            }
        };
        text
    }
}

/// A string as JSON writes it.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Nanoseconds as the decimal microseconds of the format, to the last digit.
fn microseconds(time: Ns) -> String {
    let sign = if time.0 < 0 { "-" } else { "" };
    let (whole, part) = (time.0.unsigned_abs() / 1000, time.0.unsigned_abs() % 1000);
    if part == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part:03}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_every_nanosecond() {
        assert_eq!(microseconds(Ns(1_428_625_731_896_179)), "1428625731896.179");
        assert_eq!(microseconds(Ns(5_000)), "5");
        assert_eq!(microseconds(Ns(-1)), "-0.001");
        assert_eq!(microseconds(Ns(i64::MIN)), "-9223372036854775.808");
    }

    #[test]
    fn events_are_json() {
        let end = |tid: &str, time| FlowEnd { pid: "1".into(), tid: tid.into(), time: Ns(time) };
        let counter = NewEvent::Counter {
            name: "Queue \"Length\"".into(),
            pid: 0,
            id: Some(7),
            time: Ns(1_500),
            series: "queue_length",
            value: 3.0,
        };
        let flow = NewEvent::Flow {
            category: "critical_path",
            name: "critical_path",
            id: 4,
            from: end("\"stream 7\"", 10),
            to: end("2", 20),
        };
        assert_eq!(
            counter.to_json(),
            r#"{"ph":"C","name":"Queue \"Length\"","pid":0,"id":7,"ts":1.500,"args":{"queue_length":3}}"#
        );
        let both: serde_json::Value = serde_json::from_str(&format!("[{}]", flow.to_json())).unwrap();
        assert_eq!((both[0]["ph"].as_str(), both[1]["ph"].as_str()), (Some("s"), Some("f")));
        assert_eq!((&both[0]["id"], &both[1]["bp"]), (&4.into(), &"e".into()));
    }
}
