//! What ran on the GPUs: kernels, copies, fills, and replays of graphs whose kernels were not recorded.

use gpuscope_trace::metadata::Device;
use gpuscope_trace::{Arg, Id, Phase, Record, StrId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::process::{Process, Processes, process_of};
use crate::ReadError;
use crate::sqlite::{Cells, Database};

/// Where all GPU rows say their times and places; the columns of each table follow.
const COMMON: [&str; 7] = ["start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid"];

/// A call of a process, by its correlation.
type Call = (i64, i64);

pub(super) fn read(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    let mut replays = Replays::read(database)?;
    kernels(database, processes, &mut replays)?;
    copies(database, processes, &mut replays)?;
    fills(database, processes, &mut replays)?;
    replays.push(processes);
    Ok(())
}

/// `COMMON`, and what else a table has.
fn columns<'c>(more: &[&'c str]) -> Vec<&'c str> {
    COMMON.iter().copied().chain(more.iter().copied()).collect()
}

/// Puts a GPU row in its place.
fn place(record: &mut Record, row: Cells<'_>) {
    let id = |column| row.int(column).map_or(Id::Absent, Id::Int);
    (record.device, record.stream) = (id(2), id(4));
    (record.pid, record.tid) = (id(2), id(4));
    if let Some(context) = row.int(3) {
        record.set_int(Arg::Context, context);
    }
    // 0 is no call.
    if let Some(correlation) = row.int(5).filter(|correlation| *correlation > 0) {
        record.set_int(Arg::Correlation, correlation);
    }
}

fn kernels(
    database: &mut Database<'_>,
    processes: &mut Processes,
    replays: &mut Replays,
) -> Result<(), ReadError> {
    let columns = columns(&[
        "demangledName",
        "shortName",
        "registersPerThread",
        "gridX",
        "gridY",
        "gridZ",
        "blockX",
        "blockY",
        "blockZ",
        "staticSharedMemory",
        "dynamicSharedMemory",
        "graphId",
        "graphNodeId",
    ]);
    database.each("CUPTI_ACTIVITY_KIND_KERNEL", &columns, |row| {
        replays.is_recorded(row);
        let (process, texts, devices) = processes.of_gpu(row.int(6));
        let tag = process.tag(Phase::Complete, "kernel");
        let mut named = |column: usize| process.name(row.int(column)?, texts);
        let name = named(7).or_else(|| named(8)).unwrap_or(StrId::EMPTY);
        let size = |x: usize| Some([row.int(x)?, row.int(x + 1)?, row.int(x + 2)?]);
        let (grid, block) = (size(10), size(13));
        let texts = (grid.map(|grid| process.size(grid)), block.map(|block| process.size(block)));
        let Some(record) = process.begin(tag, row.int(0), row.int(1)) else { return };
        place(record, row);
        record.name = name;
        if let (Some(grid_text), Some(block_text)) = texts {
            record.set_text(Arg::Grid, grid_text);
            record.set_text(Arg::Block, block_text);
        }
        for (arg, value) in
            [(Arg::Registers, row.int(9)), (Arg::GraphId, row.int(18)), (Arg::GraphNodeId, row.int(19))]
        {
            if let Some(value) = value {
                record.set_int(arg, value);
            }
        }
        if let (Some(fixed), Some(dynamic)) = (row.int(16), row.int(17)) {
            record.set_int(Arg::SharedMemory, fixed.saturating_add(dynamic));
        }
        if let (Some(grid), Some(block)) = (grid, block) {
            fill_of_sms(record, devices, grid, block);
        }
        process.push_gpu(row.int(3));
    })
}

/// How many blocks and warps each multiprocessor gets, as torch.profiler tells it.
fn fill_of_sms(record: &mut Record, devices: &[Device], grid: [i64; 3], block: [i64; 3]) {
    const WARP: f64 = 32.0;
    let device = devices.iter().find(|device| Id::Int(device.id) == record.device);
    let Some(sms) = device.and_then(|device| device.multiprocessors).filter(|sms| *sms > 0) else { return };
    let product = |size: [i64; 3]| size.iter().map(|side| *side as f64).product::<f64>();
    let blocks = product(grid) / sms as f64;
    record.set_float(Arg::BlocksPerSm, blocks);
    record.set_float(Arg::WarpsPerSm, blocks * product(block) / WARP);
}

fn copies(
    database: &mut Database<'_>,
    processes: &mut Processes,
    replays: &mut Replays,
) -> Result<(), ReadError> {
    let labels = labels(database)?;
    let columns = columns(&["bytes", "copyKind", "graphNodeId", "srcKind", "dstKind"]);
    database.each("CUPTI_ACTIVITY_KIND_MEMCPY", &columns, |row| {
        replays.is_recorded(row);
        let (process, ..) = processes.of_gpu(row.int(6));
        let tag = process.tag(Phase::Complete, "gpu_memcpy");
        let kind = row.int(8).unwrap_or(0);
        let name = match (copy_kind(kind), labels.get(&kind)) {
            (Some(kind), _) => process.text(kind.as_bytes()),
            (None, Some(label)) => process.text(format!("Memcpy {label}").as_bytes()),
            (None, None) => process.text(b"Memcpy"),
        };
        let memory =
            [row.int(10), row.int(11)].map(|kind| Some(process.text(memory_kind(kind?)?.as_bytes())));
        moved(process, row, tag, name, memory);
    })
}

/// As exports number kinds of memory (`ENUM_CUDA_MEM_KIND`).
fn memory_kind(kind: i64) -> Option<&'static str> {
    Some(match kind {
        0 => "Pageable",
        1 => "Pinned",
        2 => "Device",
        3 => "Array",
        4 => "Managed",
        _ => return None,
    })
}

/// As `cudaMemcpyKind` and its kin number them.
fn copy_kind(kind: i64) -> Option<&'static str> {
    Some(match kind {
        1 => "Memcpy HtoD",
        2 => "Memcpy DtoH",
        3 => "Memcpy HtoA",
        4 => "Memcpy AtoH",
        5 => "Memcpy AtoA",
        6 => "Memcpy AtoD",
        7 => "Memcpy DtoA",
        8 => "Memcpy DtoD",
        9 => "Memcpy HtoH",
        10 => "Memcpy PtoP",
        _ => return None,
    })
}

/// What the export calls kinds of copies, of managed memory above all.
fn labels(database: &mut Database<'_>) -> Result<FxHashMap<i64, String>, ReadError> {
    let mut labels = FxHashMap::default();
    database.each("ENUM_CUDA_MEMCPY_OPER", &["id", "label", "name"], |row| {
        let label = row.text(1).or_else(|| row.text(2)).map(String::from_utf8_lossy);
        labels.extend(row.int(0).zip(label.map(std::borrow::Cow::into_owned)));
    })?;
    Ok(labels)
}

fn fills(
    database: &mut Database<'_>,
    processes: &mut Processes,
    replays: &mut Replays,
) -> Result<(), ReadError> {
    let columns = columns(&["bytes", "value", "graphNodeId"]);
    database.each("CUPTI_ACTIVITY_KIND_MEMSET", &columns, |row| {
        replays.is_recorded(row);
        let (process, ..) = processes.of_gpu(row.int(6));
        let tag = process.tag(Phase::Complete, "gpu_memset");
        let name = process.text(b"Memset");
        moved(process, row, tag, name, [None; 2]);
    })
}

/// A copy or a fill, with the kinds of memory that it reads and writes.
fn moved(
    process: &mut Process,
    row: Cells<'_>,
    tag: gpuscope_trace::TagId,
    name: StrId,
    memory: [Option<StrId>; 2],
) {
    let Some(record) = process.begin(tag, row.int(0), row.int(1)) else { return };
    place(record, row);
    record.name = name;
    for (arg, kind) in [Arg::Source, Arg::Destination].into_iter().zip(memory) {
        if let Some(kind) = kind {
            record.set_text(arg, kind);
        }
    }
    if let Some(bytes) = row.int(7) {
        record.set_int(Arg::Bytes, bytes);
        // Bytes in a nanosecond are GB in a second.
        if let Some(dur) = record.dur.filter(|dur| dur.0 > 0) {
            record.set_float(Arg::Bandwidth, bytes as f64 / dur.0 as f64);
        }
    }
    if let Some(node) = row.int(9) {
        record.set_int(Arg::GraphNodeId, node);
    }
    process.push_gpu(row.int(3));
}

/// One replay of a CUDA graph as a whole.
#[derive(Debug)]
struct Replay {
    cells: [Option<i64>; 8],
}

/// Replays that were recorded as a whole. Those whose kernels are there, too, are not counted twice.
#[derive(Debug, Default)]
struct Replays {
    all: Vec<Replay>,
    calls: FxHashSet<Call>,
    with_nodes: FxHashSet<Call>,
}

impl Replays {
    fn read(database: &mut Database<'_>) -> Result<Replays, ReadError> {
        let mut replays = Replays::default();
        let columns = columns(&["graphId"]);
        database.each("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", &columns, |row| {
            replays.calls.extend(call(row.int(6), row.int(5)));
            replays.all.push(Replay { cells: std::array::from_fn(|column| row.int(column)) });
        })?;
        Ok(replays)
    }

    /// Takes note of a row that may be a node of a replay.
    #[inline]
    fn is_recorded(&mut self, row: Cells<'_>) {
        if !self.calls.is_empty()
            && let Some(call) = call(row.int(6), row.int(5))
            && self.calls.contains(&call)
        {
            self.with_nodes.insert(call);
        }
    }

    fn push(self, processes: &mut Processes) {
        for Replay { cells } in self.all {
            let [start, end, device, context, stream, correlation, global, graph] = cells;
            if call(global, correlation).is_some_and(|call| self.with_nodes.contains(&call)) {
                continue;
            }
            let (process, ..) = processes.of_gpu(global);
            let tag = process.tag(Phase::Complete, "kernel");
            let name = process.text(format!("CUDA graph {}", graph.unwrap_or(0)).as_bytes());
            let Some(record) = process.begin(tag, start, end) else { continue };
            let id = |value: Option<i64>| value.map_or(Id::Absent, Id::Int);
            record.name = name;
            (record.device, record.stream) = (id(device), id(stream));
            (record.pid, record.tid) = (id(device), id(stream));
            for (arg, value) in [
                (Arg::Context, context),
                (Arg::Correlation, correlation.filter(|correlation| *correlation > 0)),
                (Arg::GraphId, graph),
            ] {
                if let Some(value) = value {
                    record.set_int(arg, value);
                }
            }
            process.push_gpu(context);
        }
    }
}

fn call(global: Option<i64>, correlation: Option<i64>) -> Option<Call> {
    Some((process_of(global?), correlation?))
}
