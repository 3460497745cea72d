//! What is in this trace: which rank, devices and steps, from when to when, and what was recorded?
//!
//! About the whole trace, whatever is selected. `start_ns` and `end_ns` are over all duration events and null
//! without any; `steps` are the numbers of the recorded steps by their start; `devices` are those the trace
//! describes; `events_by_category` counts every element of the event array, `""` standing for no category.
//! What a trace does not say is null.

use std::collections::{BTreeMap, BTreeSet};

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::metadata::{ProcessGroup, Recording};
use gpuscope_trace::{Holds, Ns, View};
use serde::Serialize;

use crate::Question;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceInfo {
    pub id: i64,
    pub name: Option<String>,
    pub memory_bytes: Option<i64>,
    pub multiprocessors: Option<i64>,
    /// `9.0`
    pub compute_capability: Option<String>,
}

/// A stream that ran GPU events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct StreamInfo {
    pub device: i64,
    /// Null where the trace gives no number.
    pub stream: Option<i64>,
    pub gpu_events: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RankInfo {
    pub rank: u32,
    pub world_size: Option<i64>,
    pub devices: Vec<DeviceInfo>,
    pub steps: Vec<i64>,
    pub start_ns: Option<Ns>,
    pub end_ns: Option<Ns>,
    pub events_by_category: BTreeMap<String, u64>,
    pub duration_ns: Option<Ns>,
    /// To be added to a timestamp to get the time since 1970.
    pub base_time_ns: Option<i64>,
    pub events: u64,
    pub gpu_events: u64,
    pub streams: Vec<StreamInfo>,
    pub host_threads: u64,
    pub host_name: Option<String>,
    pub backend: Option<String>,
    pub nccl_version: Option<String>,
    pub process_groups: Vec<ProcessGroup>,
    pub versions: BTreeMap<String, String>,
    pub recording: Recording,
    pub trace_name: Option<String>,
    pub trace_id: Option<String>,
    pub schema_version: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InfoAnswer {
    pub ranks: Vec<RankInfo>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Info;

impl Question for Info {
    type Local = RankInfo;
    type Answer = InfoAnswer;

    fn reads(&self) -> &'static [Holds] {
        Holds::ALL
    }

    fn local(&self, rank: u32, view: View<'_>) -> RankInfo {
        let (trace, about) = (view.trace, &view.trace.metadata);
        let extent = trace.extent().or(about.began.map(|began| (began, began)));
        let categories = trace.elements_by_category();
        let distributed = about.distributed.clone().unwrap_or_default();
        RankInfo {
            rank,
            world_size: distributed.world_size,
            devices: about.devices.iter().map(device).collect(),
            steps: view.index.recorded_steps(trace).iter().map(|step| step.number).collect(),
            start_ns: extent.map(|(start, _)| start),
            end_ns: extent.map(|(_, end)| end),
            events_by_category: categories.into_iter().map(|(name, n)| (name.to_owned(), n)).collect(),
            duration_ns: extent.map(|(start, end)| end - start),
            base_time_ns: about.base_time_ns,
            events: trace.elements,
            gpu_events: view.index.gpu(trace).len() as u64,
            streams: streams(view),
            host_threads: host_threads(view),
            host_name: about.host_name.clone(),
            backend: distributed.backend,
            nccl_version: distributed.nccl_version,
            process_groups: distributed.groups,
            versions: about.versions.clone(),
            recording: about.recording,
            trace_name: about.trace_name.clone(),
            trace_id: about.trace_id.clone(),
            schema_version: about.schema_version,
        }
    }

    fn merge(&self, locals: Vec<RankInfo>) -> InfoAnswer {
        InfoAnswer { ranks: locals }
    }
}

fn device(device: &gpuscope_trace::metadata::Device) -> DeviceInfo {
    let capability = device.compute_major.zip(device.compute_minor);
    DeviceInfo {
        id: device.id,
        name: device.name.clone(),
        memory_bytes: device.memory_bytes,
        multiprocessors: device.multiprocessors,
        compute_capability: capability.map(|(major, minor)| format!("{major}.{minor}")),
    }
}

fn streams(view: View<'_>) -> Vec<StreamInfo> {
    let mut events: BTreeMap<(i64, Option<i64>), u64> = BTreeMap::new();
    for event in view.index.gpu(view.trace).iter() {
        *events.entry((view.device(event.row), view.stream(event.row))).or_default() += 1;
    }
    events
        .into_iter()
        .map(|((device, stream), gpu_events)| StreamInfo { device, stream, gpu_events })
        .collect()
}

/// Threads that ran host events.
fn host_threads(view: View<'_>) -> u64 {
    let trace = view.trace;
    let mut seen = vec![false; trace.tracks.threads()];
    for row in trace.rows().filter(|row| trace.class(*row).is_host() && trace.dur(*row).is_some()) {
        seen[trace.track(row).thread.0 as usize] = true;
    }
    seen.into_iter().filter(|seen| *seen).count() as u64
}

impl Tabular for InfoAnswer {
    fn tables(&self) -> Vec<Table> {
        let ranks = Table::of("ranks", "Ranks", &self.ranks)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.rank))
            .int("world_size", Unit::Count, "Ranks in the job", |r| r.world_size)
            .text("device_name", "The devices described, each name once", device_names)
            .int("events", Unit::Count, "Elements of the event array", |r| r.events as i64)
            .int("gpu_events", Unit::Count, "Kernels, copies and memory sets", |r| r.gpu_events as i64)
            .int("streams", Unit::Count, "Streams that ran GPU events", |r| r.streams.len() as i64)
            .int("host_threads", Unit::Count, "Threads that ran host events", |r| r.host_threads as i64)
            .text("steps", "Numbers of the recorded steps", |r| span_of(&r.steps))
            .int("start_ns", Unit::TimestampNs, "First start of a duration event", |r| {
                r.start_ns.map(|t| t.0)
            })
            .int("duration_ns", Unit::Ns, "From there to the last end", |r| r.duration_ns.map(|t| t.0))
            .text("host_name", "The host that recorded the trace", |r| r.host_name.clone())
            .text("versions", "Of the profiler, its format and what it ran with", versions)
            .build();

        let devices: Vec<_> =
            self.ranks.iter().flat_map(|r| r.devices.iter().map(move |d| (r.rank, d))).collect();
        let devices = Table::of("devices", "Devices", &devices)
            .int("rank", Unit::None, "The rank", |(rank, _)| i64::from(*rank))
            .int("id", Unit::None, "The device's number", |(_, d)| d.id)
            .text("name", "The device's name", |(_, d)| d.name.clone())
            .int("memory_bytes", Unit::Bytes, "Its memory", |(_, d)| d.memory_bytes)
            .int("multiprocessors", Unit::Count, "Its streaming multiprocessors", |(_, d)| d.multiprocessors)
            .text("compute_capability", "Its compute capability", |(_, d)| d.compute_capability.clone())
            .build();

        let categories: Vec<_> =
            self.ranks.iter().flat_map(|r| r.events_by_category.iter().map(move |c| (r.rank, c))).collect();
        let categories = Table::of("events_by_category", "Events by category", &categories)
            .int("rank", Unit::None, "The rank", |(rank, _)| i64::from(*rank))
            .text("category", "The category, empty for none", |(_, (name, _))| (*name).clone())
            .int("events", Unit::Count, "Elements of this category", |(_, (_, events))| **events as i64)
            .build();
        vec![ranks, devices, categories]
    }
}

/// `nsys 2024.6.2, nsys schema 3.16.1`
fn versions(rank: &RankInfo) -> Option<String> {
    let name = |key: &str| key.strip_suffix("_version").unwrap_or(key).replace('_', " ");
    let mut versions: Vec<String> =
        rank.schema_version.map(|version| format!("schema {version}")).into_iter().collect();
    versions.extend(rank.versions.iter().map(|(key, version)| format!("{} {version}", name(key))));
    (!versions.is_empty()).then(|| versions.join(", "))
}

fn device_names(rank: &RankInfo) -> Option<String> {
    let names: BTreeSet<&str> = rank.devices.iter().filter_map(|device| device.name.as_deref()).collect();
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(", "))
}

/// `41, 42, 43` as `41..43`.
fn span_of(steps: &[i64]) -> Option<String> {
    let mut parts: Vec<(i64, i64)> = Vec::new();
    for &step in steps {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(step) => *last = step,
            _ => parts.push((step, step)),
        }
    }
    let text = |(a, b): &(i64, i64)| if a == b { a.to_string() } else { format!("{a}..{b}") };
    (!parts.is_empty()).then(|| parts.iter().map(text).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Phase;
    use gpuscope_trace::metadata::{Device, Distributed};

    use super::*;
    use crate::testing::{json, trace};

    #[test]
    fn the_trace_is_described_as_it_says_itself() {
        let loaded = trace()
            .about(|about| {
                about.devices.push(Device { id: 1, name: Some("H100".into()), ..Device::default() });
                about.distributed = Some(Distributed { world_size: Some(8), ..Distributed::default() });
            })
            .step(42, 200..300)
            .step(41, 100..200)
            .call(1, 110..120)
            .kernel("gemm", 7, 150..400, 1)
            .event(Phase::Metadata, "", "process_name", None, None, |_| ())
            .event(Phase::Instant, "cpu_instant_event", "[memory]", Some(900), None, |_| ())
            .build();
        let answer = json(&loaded.ask(&Info));
        let rank = &answer["ranks"][0];
        assert_eq!((&rank["rank"], &rank["world_size"]), (&3.into(), &8.into()));
        assert_eq!(rank["steps"], serde_json::json!([41, 42]));
        assert_eq!((&rank["start_ns"], &rank["end_ns"]), (&100.into(), &400.into()));
        assert_eq!(rank["devices"][0]["name"], "H100");
        assert!(rank["devices"][0]["memory_bytes"].is_null());
        assert_eq!(
            rank["events_by_category"],
            serde_json::json!({"": 1, "cpu_instant_event": 1, "cuda_runtime": 1, "kernel": 1, "user_annotation": 2})
        );
        assert_eq!(rank["streams"], serde_json::json!([{"device": 0, "stream": 7, "gpu_events": 1}]));
        assert_eq!(rank["host_threads"], 1);
    }

    #[test]
    fn what_a_trace_does_not_say_is_null() {
        let loaded = trace().event(Phase::Instant, "", "mark", Some(5), None, |_| ()).build();
        let answer = json(&loaded.ask(&Info));
        let rank = &answer["ranks"][0];
        for key in ["start_ns", "end_ns", "world_size", "host_name", "base_time_ns"] {
            assert!(rank[key].is_null(), "{key}");
        }
        assert_eq!((&rank["steps"], &rank["devices"]), (&serde_json::json!([]), &serde_json::json!([])));
    }

    #[test]
    fn steps_are_written_as_ranges() {
        assert_eq!(span_of(&[41, 42, 43, 50]), Some("41..43, 50".to_owned()));
        assert_eq!(span_of(&[]), None);
    }
}
