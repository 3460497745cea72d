//! The entries beside `traceEvents`: devices, ranks, versions, what was recorded.

use gpuscope_trace::lists::IntList;
use gpuscope_trace::metadata::{Device, Distributed, Metadata, ProcessGroup};
use serde_json::{Map, Value};

/// Profilers write a few dozen; beyond this many entries or lines of a log somebody means harm.
const MOST_ENTRIES: usize = 1 << 16;

/// What became of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Known,
    /// A structure that says nothing we know.
    Foreign,
    /// No JSON, as damaged files have, or nested deeper than a parser goes: left out.
    Unreadable,
}

/// Takes one entry over.
pub(super) fn take(metadata: &mut Metadata, key: &[u8], text: &[u8]) -> Taken {
    let Ok(key) = std::str::from_utf8(key) else { return Taken::Foreign };
    let value: Value = match serde_json::from_slice(text) {
        Ok(value) => value,
        Err(_) => return Taken::Unreadable,
    };
    match (key, &value) {
        ("deviceProperties", Value::Array(devices)) => {
            metadata.devices = devices.iter().filter_map(device).collect();
        }
        ("distributedInfo", Value::Object(info)) => metadata.distributed = Some(distributed(info)),
        ("baseTimeNanoseconds", _) => metadata.base_time_ns = int(&value),
        ("schemaVersion", _) => metadata.schema_version = int(&value),
        ("record_shapes", _) => metadata.recording.shapes = flag(&value),
        ("with_stack", _) => metadata.recording.stacks = flag(&value),
        ("profile_memory", _) => metadata.recording.memory = flag(&value),
        ("with_modules", _) => metadata.recording.modules = flag(&value),
        ("with_flops", _) => metadata.recording.flops = flag(&value),
        ("host_name", Value::String(text)) => metadata.host_name = Some(text.clone()),
        ("trace_id", Value::String(text)) => metadata.trace_id = Some(text.clone()),
        ("traceName", Value::String(text)) => metadata.trace_name = Some(text.clone()),
        ("displayTimeUnit", Value::String(text)) => metadata.display_time_unit = Some(text.clone()),
        ("INFO" | "WARNING" | "ERROR", Value::Array(lines)) => {
            let room = MOST_ENTRIES.saturating_sub(metadata.log.len());
            metadata.log.extend(lines.iter().filter_map(|line| line.as_str().map(str::to_owned)).take(room));
        }
        (_, Value::Object(_) | Value::Array(_)) => return Taken::Foreign,
        (_, Value::Null) => {}
        _ if metadata.versions.len() + metadata.other.len() >= MOST_ENTRIES => {}
        _ if key.ends_with("_version") => {
            metadata.versions.insert(key.to_owned(), plain(&value));
        }
        _ => {
            metadata.other.insert(key.to_owned(), plain(&value));
        }
    }
    Taken::Known
}

fn int(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn flag(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| int(value).map(|n| n != 0))
}

fn text(value: &Value) -> Option<String> {
    (!value.is_null()).then(|| plain(value))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn device(value: &Value) -> Option<Device> {
    let entry = value.as_object()?;
    let number = |key: &str| entry.get(key).and_then(int);
    Some(Device {
        id: number("id")?,
        name: entry.get("name").and_then(|name| name.as_str().map(str::to_owned)),
        memory_bytes: number("totalGlobalMem"),
        compute_major: number("computeMajor"),
        compute_minor: number("computeMinor"),
        max_threads_per_block: number("maxThreadsPerBlock"),
        max_threads_per_multiprocessor: number("maxThreadsPerMultiprocessor"),
        registers_per_block: number("regsPerBlock"),
        registers_per_multiprocessor: number("regsPerMultiprocessor"),
        warp_size: number("warpSize"),
        shared_memory_per_block: number("sharedMemPerBlock"),
        shared_memory_per_block_optin: number("sharedMemPerBlockOptin"),
        shared_memory_per_multiprocessor: number("sharedMemPerMultiprocessor")
            .or_else(|| number("maxSharedMemoryPerMultiProcessor")),
        multiprocessors: number("numSms"),
    })
}

fn distributed(info: &Map<String, Value>) -> Distributed {
    let groups = match info.get("pg_config") {
        Some(Value::Array(groups)) => groups.iter().filter_map(process_group).collect(),
        _ => Vec::new(),
    };
    Distributed {
        backend: info.get("backend").and_then(text),
        rank: info.get("rank").and_then(int),
        world_size: info.get("world_size").and_then(int),
        nccl_version: info.get("nccl_version").and_then(text),
        groups,
    }
}

fn process_group(value: &Value) -> Option<ProcessGroup> {
    let group = value.as_object()?;
    let ranks = match group.get("ranks") {
        Some(Value::Array(ranks)) => IntList {
            values: ranks.iter().filter_map(int).collect(),
            // torch ends a list it cut off with "...".
            cut: ranks.iter().any(|rank| rank.as_str().is_some_and(|rank| rank.contains("..."))),
        },
        Some(Value::String(text)) => IntList::parse(text).unwrap_or_default(),
        _ => IntList::default(),
    };
    Some(ProcessGroup {
        name: group.get("pg_name").and_then(text).unwrap_or_default(),
        description: group.get("pg_desc").and_then(text),
        backend: group.get("backend_config").and_then(text),
        size: group.get("pg_size").and_then(int),
        ranks: ranks.values,
        ranks_cut: ranks.cut,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_devices_are_read_quoted_or_not() {
        let mut metadata = Metadata::default();
        let devices =
            br#"[{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85, "numSms": 132}, {"id": 1}, 7]"#;
        assert_eq!(take(&mut metadata, b"deviceProperties", devices), Taken::Known);
        let info = br#"{"rank": "3", "world_size": 8, "pg_config": [
            {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 8, "ranks": [0, 1, 29, "..."]},
            {"pg_name": "1", "ranks": "[0, 1]"}]}"#;
        assert_eq!(take(&mut metadata, b"distributedInfo", info), Taken::Known);
        assert_eq!(metadata.devices.len(), 2);
        assert_eq!(metadata.devices[0].multiprocessors, Some(132));
        let distributed = metadata.distributed.unwrap();
        assert_eq!((distributed.rank, distributed.world_size), (Some(3), Some(8)));
        assert_eq!((distributed.groups[0].ranks_cut, distributed.groups[1].ranks.len()), (true, 2));
    }

    #[test]
    fn broken_entries_are_left_out() {
        let mut metadata = Metadata::default();
        assert_eq!(take(&mut metadata, b"INFO", b"[\"unterminated]"), Taken::Unreadable);
        assert_eq!(take(&mut metadata, b"other", b"[1]"), Taken::Foreign);
        assert_eq!(take(&mut metadata, b"with_stack", b"1"), Taken::Known);
        assert_eq!(take(&mut metadata, b"cuda_runtime_version", b"12040"), Taken::Known);
        assert_eq!(metadata.recording.stacks, Some(true));
        assert_eq!(metadata.versions["cuda_runtime_version"], "12040");
    }
}
