//! What was sampled or counted beside the calls: memory, counters of GPUs and network cards, and where threads were.

use gpuscope_trace::{Arg, Id, Ns, Phase, StrId};
use rustc_hash::FxHashMap;

use super::process::{Processes, pid, process_of, tid};
use crate::ReadError;
use crate::sqlite::Database;

pub(super) fn read(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    memory(database, processes)?;
    gpu_metrics(database, processes)?;
    network_metrics(database, processes)?;
    stacks(database, processes)
}

/// The GPU, as torch numbers kinds of devices.
const CUDA: i64 = 1;
/// Memory of the device, and such as it shares with the host.
const DEVICE_KINDS: [i64; 3] = [2, 4, 5];

/// Allocations and frees of device memory, as torch.profiler writes them.
fn memory(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    let columns = ["start", "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType"];
    let mut changes: Vec<[Option<i64>; 7]> = Vec::new();
    database.each("CUDA_GPU_MEMORY_USAGE_EVENTS", &columns, |row| {
        changes.push(std::array::from_fn(|column| row.int(column)));
    })?;
    // Sums need the order of time, which exports do not promise.
    changes.sort_by_key(|change| change[0]);
    let mut held: FxHashMap<(i64, i64), i64> = FxHashMap::default();
    for [time, global, device, address, bytes, kind, freed] in changes {
        let (Some(time), Some(global), Some(bytes)) = (time, global, bytes) else { continue };
        if kind.is_some_and(|kind| !DEVICE_KINDS.contains(&kind)) {
            continue;
        }
        let device = device.unwrap_or(0);
        let bytes = if freed == Some(1) { bytes.saturating_neg() } else { bytes };
        let total = held.entry((process_of(global), device)).or_default();
        // What was allocated before the recording is freed in it, too.
        *total = total.saturating_add(bytes).max(0);
        let total = *total;
        let Some((process, _)) = processes.of_host(Some(global)) else { continue };
        let tag = process.tag(Phase::Instant, "cpu_instant_event");
        let name = process.text(b"[memory]");
        let Some(record) = process.begin(tag, Some(time), Some(time)) else { continue };
        (record.name, record.pid) = (name, Id::Int(pid(process_of(global))));
        let values = [
            (Arg::AllocationBytes, bytes),
            (Arg::Address, address.unwrap_or(0)),
            (Arg::TotalAllocated, total),
            (Arg::DeviceType, CUDA),
            (Arg::DeviceId, device),
        ];
        for (arg, value) in values {
            record.set_int(arg, value);
        }
        process.push();
    }
    Ok(())
}

/// One value of one counter.
struct Reading<'n> {
    track: String,
    name: &'n [u8],
    time: i64,
    value: f64,
}

/// Counters are of the machine; the first rank tells them, or the one that used the GPU.
fn count(processes: &mut Processes, device: Option<i64>, reading: &Reading<'_>) {
    let Some(process) = processes.using(device) else { return };
    let tag = process.tag(Phase::Counter, "hardware_counters");
    let (track, name) = (process.text(reading.track.as_bytes()), process.text(reading.name));
    process.record.clear();
    let record = &mut process.record;
    (record.tag, record.name, record.pid) = (tag, name, Id::Text(track));
    record.start = Some(Ns(reading.time));
    record.readings.push((name, reading.value));
    process.push();
}

fn gpu_metrics(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    /// The lowest byte of a type is the GPU.
    const GPU: i64 = 0xff;
    let mut names: FxHashMap<(i64, i64), Vec<u8>> = FxHashMap::default();
    database.each("TARGET_INFO_GPU_METRICS", &["typeId", "metricId", "metricName"], |row| {
        if let (Some(sort), Some(metric), Some(name)) = (row.int(0), row.int(1), row.text(2)) {
            names.insert((sort, metric), name.to_owned());
        }
    })?;
    database.each("GPU_METRICS", &["timestamp", "typeId", "metricId", "value"], |row| {
        let (Some(time), Some(sort), Some(metric)) = (row.int(0), row.int(1), row.int(2)) else { return };
        let (Some(name), Some(value)) = (names.get(&(sort, metric)), row.number(3)) else { return };
        let gpu = sort & GPU;
        count(processes, Some(gpu), &Reading { track: format!("GPU {gpu} metrics"), name, time, value });
    })
}

fn network_metrics(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    let columns = ["start", "nameId", "value", "globalId", "portNumber"];
    database.each("NET_NIC_METRIC", &columns, |row| {
        let (Some(time), Some(name), Some(value)) = (row.int(0), row.int(1), row.number(2)) else { return };
        let Some(name) = processes.texts.get(name).map(<[u8]>::to_owned) else { return };
        let card = row.int(3).unwrap_or(0) & 0xff;
        let port = row.int(4).map_or(String::new(), |port| format!(" port {port}"));
        count(processes, None, &Reading { track: format!("NIC {card}{port}"), name: &name, time, value });
    })
}

/// Deeper stacks are cut.
const DEEPEST: usize = 256;

/// Where threads were when the profiler looked.
fn stacks(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    let mut frames: FxHashMap<i64, Vec<(i64, i64)>> = FxHashMap::default();
    database.each("SAMPLING_CALLCHAINS", &["id", "stackDepth", "symbol"], |row| {
        if let (Some(id), Some(depth), Some(symbol)) = (row.int(0), row.int(1), row.int(2)) {
            let frames = frames.entry(id).or_default();
            if frames.len() < DEEPEST {
                frames.push((depth, symbol));
            }
        }
    })?;
    for frames in frames.values_mut() {
        frames.sort_unstable();
    }
    let mut stack = Vec::new();
    database.each("COMPOSITE_EVENTS", &["id", "start", "globalTid"], |row| {
        let (Some(frames), Some(global)) = (row.int(0).and_then(|id| frames.get(&id)), row.int(2)) else {
            return;
        };
        let Some((process, texts)) = processes.of_host(Some(global)) else { return };
        stack.clear();
        // The innermost has depth 0; stacks are told from the outermost.
        for (_, symbol) in frames.iter().rev() {
            if !stack.is_empty() {
                stack.push(b';');
            }
            stack.extend(
                texts
                    .get(*symbol)
                    .unwrap_or(b"?")
                    .iter()
                    .map(|byte| if *byte == b';' { b',' } else { *byte }),
            );
        }
        let whole = process.text(&stack);
        let innermost =
            frames.first().and_then(|(_, symbol)| process.name(*symbol, texts)).unwrap_or(StrId::EMPTY);
        let tag = process.tag(Phase::Instant, "cpu_sample");
        let Some(record) = process.begin(tag, row.int(1), row.int(1)) else { return };
        record.name = innermost;
        (record.pid, record.tid) = (Id::Int(pid(process_of(global))), Id::Int(tid(global)));
        record.set_text(Arg::CallStack, whole);
        process.push();
    })
}
