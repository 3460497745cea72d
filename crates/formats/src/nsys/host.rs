//! What the host did: calls of CUDA, synchronisation, annotations, and calls of the operating system.

use gpuscope_trace::{Arg, Id, Phase, StrId};
use rustc_hash::FxHashMap;

use super::nccl::Nccl;
use super::operator::operator;
use super::process::{Process, Processes, Texts, pid, process_of, tid};
use crate::ReadError;
use crate::sqlite::Database;

pub(super) fn read(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    let mut syncs = Syncs::read(database)?;
    calls(database, processes, &mut syncs)?;
    syncs.push(processes);
    annotations(database, processes)?;
    system_calls(database, processes)
}

/// A thread as rows name it.
pub(super) fn thread(global: i64) -> (Id, Id) {
    (Id::Int(pid(process_of(global))), Id::Int(tid(global)))
}

/// Classes of calls in CUDA's tables.
const DRIVER: i64 = 1;
/// The call once more, for the stack it was made from.
const BACKTRACE: i64 = 67;

fn calls(database: &mut Database<'_>, processes: &mut Processes, syncs: &mut Syncs) -> Result<(), ReadError> {
    let columns = ["start", "end", "eventClass", "globalTid", "correlationId", "nameId"];
    let mut names: FxHashMap<i64, Vec<u8>> = FxHashMap::default();
    database.each("CUPTI_ACTIVITY_KIND_RUNTIME", &columns, |row| {
        let class = row.int(2).unwrap_or(0);
        let global = row.int(3);
        if class == BACKTRACE {
            return;
        }
        let Some((process, texts)) = processes.of_host(global) else { return };
        let number = row.int(5).unwrap_or(0);
        let whole = texts.get(number).unwrap_or_default();
        let plain = without_version(whole);
        let name = if plain.len() == whole.len() {
            process.name(number, texts).unwrap_or(StrId::EMPTY)
        } else {
            process.text(plain)
        };
        if let Some(correlation) = row.int(4) {
            syncs.note(global, correlation, names.entry(number).or_insert_with(|| plain.to_owned()));
        }
        let tag = process.tag(Phase::Complete, if class == DRIVER { "cuda_driver" } else { "cuda_runtime" });
        let Some(record) = process.begin(tag, row.int(0), row.int(1)) else { return };
        record.name = name;
        (record.pid, record.tid) = thread(global.unwrap_or(0));
        if let Some(correlation) = row.int(4).filter(|correlation| *correlation > 0) {
            record.set_int(Arg::Correlation, correlation);
        }
        process.push();
    })
}

/// `cudaLaunchKernel` of `cudaLaunchKernel_v7000`.
fn without_version(name: &[u8]) -> &[u8] {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = &name[..name.len() - digits];
    if digits == 0 { name } else { rest.strip_suffix(b"_v").unwrap_or(name) }
}

/// One row of synchronisation.
#[derive(Debug)]
struct Sync {
    cells: [Option<i64>; 9],
    /// What the call that waited is called.
    call: Option<&'static str>,
    /// Its call is in the file.
    is_called: bool,
    /// Nobody waits: the call only asks.
    asks: bool,
}

/// Rows of synchronisation. What they mean is told by the call: the numbers of their types changed from release to release.
#[derive(Debug, Default)]
struct Syncs {
    all: Vec<Sync>,
    by_call: FxHashMap<(i64, i64), Vec<usize>>,
    /// Where events were recorded, by process and handle, and by the number that is not used again.
    records: FxHashMap<(i64, i64), Vec<Mark>>,
    exact: FxHashMap<(i64, i64), Mark>,
}

/// An event that was recorded on a stream.
#[derive(Clone, Copy, Debug)]
struct Mark {
    correlation: i64,
    stream: i64,
}

const START: usize = 0;
const END: usize = 1;
const DEVICE: usize = 2;
const STREAM: usize = 3;
const CORRELATION: usize = 4;
const PROCESS: usize = 5;
const EVENT: usize = 6;
const EVENT_SYNC: usize = 7;
const CONTEXT: usize = 8;

/// Stands for all streams of a device.
const ALL_STREAMS: i64 = u32::MAX as i64;

impl Syncs {
    fn read(database: &mut Database<'_>) -> Result<Syncs, ReadError> {
        let mut syncs = Syncs::default();
        let columns = [
            "start",
            "end",
            "deviceId",
            "streamId",
            "correlationId",
            "globalPid",
            "eventId",
            "eventSyncId",
            "contextId",
        ];
        database.each("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", &columns, |row| {
            let cells: [Option<i64>; 9] = std::array::from_fn(|column| row.int(column));
            if let (Some(global), Some(correlation)) = (cells[PROCESS], cells[CORRELATION]) {
                let place = syncs.all.len();
                syncs.by_call.entry((process_of(global), correlation)).or_default().push(place);
            }
            syncs.all.push(Sync { cells, call: None, is_called: false, asks: false });
        })?;
        let columns = ["streamId", "correlationId", "globalPid", "eventId", "eventSyncId"];
        database.each("CUPTI_ACTIVITY_KIND_CUDA_EVENT", &columns, |row| {
            let (Some(stream), Some(correlation), Some(global)) = (row.int(0), row.int(1), row.int(2)) else {
                return;
            };
            let (process, mark) = (process_of(global), Mark { correlation, stream });
            if let Some(event) = row.int(3) {
                syncs.records.entry((process, event)).or_default().push(mark);
            }
            if let Some(event) = row.int(4).filter(|event| *event > 0) {
                syncs.exact.insert((process, event), mark);
            }
        })?;
        for marks in syncs.records.values_mut() {
            marks.sort_by_key(|mark| mark.correlation);
        }
        Ok(syncs)
    }

    /// A call may be one that a row tells the waiting of.
    #[inline]
    fn note(&mut self, global: Option<i64>, correlation: i64, name: &[u8]) {
        if self.by_call.is_empty() {
            return;
        }
        let Some(places) = global.and_then(|global| self.by_call.get(&(process_of(global), correlation)))
        else {
            return;
        };
        let has = |word: &str| name.windows(word.len()).any(|part| part == word.as_bytes());
        for place in places {
            let sync = &mut self.all[*place];
            sync.is_called = true;
            sync.asks = has("Query");
            sync.call = match () {
                () if has("StreamWaitEvent") => Some("Stream Wait Event"),
                () if has("EventSynchronize") => Some("Event Sync"),
                () if has("StreamSynchronize") => Some("Stream Sync"),
                () if has("DeviceSynchronize") || has("CtxSynchronize") || has("ThreadSynchronize") => {
                    Some("Context Sync")
                }
                () => None,
            };
        }
    }

    /// Where the event was recorded that a row waits for: handles are used again, so the last one before the wait.
    fn mark(&self, process: i64, cells: &[Option<i64>; 9]) -> Option<Mark> {
        if let Some(mark) = cells[EVENT_SYNC].and_then(|event| self.exact.get(&(process, event))) {
            return Some(*mark);
        }
        let marks = self.records.get(&(process, cells[EVENT]?))?;
        let next = marks.partition_point(|mark| Some(mark.correlation) < cells[CORRELATION]);
        marks.get(next.checked_sub(1)?).copied()
    }

    fn push(self, processes: &mut Processes) {
        // Of a row whose call is not in the file nobody knows who waited.
        for sync in self.all.iter().filter(|sync| sync.is_called && !sync.asks) {
            let cells = &sync.cells;
            let stream = cells[STREAM].filter(|stream| (0..ALL_STREAMS).contains(stream));
            let name = sync.call.unwrap_or(if stream.is_some() { "Stream Sync" } else { "Context Sync" });
            let Some((process, _)) = processes.of_host(cells[PROCESS]) else { continue };
            let tag = process.tag(Phase::Complete, "cuda_sync");
            let text = process.text(name.as_bytes());
            let mark = cells[PROCESS].and_then(|global| self.mark(process_of(global), cells));
            // Exports say device 0 of all of them; what ran in the context knows better.
            let of_context = cells[CONTEXT].and_then(|context| process.device_of(context));
            let device = of_context.or(cells[DEVICE]);
            let Some(record) = process.begin(tag, cells[START], cells[END]) else { continue };
            let id = |value: Option<i64>| value.map_or(Id::Absent, Id::Int);
            record.name = text;
            (record.device, record.stream) = (id(device), id(stream.or(Some(-1))));
            (record.pid, record.tid) = (record.device, record.stream);
            record.set_text(Arg::SyncKind, text);
            if let Some(correlation) = cells[CORRELATION] {
                record.set_int(Arg::Correlation, correlation);
            }
            if let Some(event) = cells[EVENT].filter(|_| name.contains("Event")) {
                record.set_int(Arg::WaitOnEventId, event);
            }
            if let Some(mark) = mark.filter(|_| name.contains("Event")) {
                record.set_int(Arg::WaitOnStream, mark.stream);
                record.set_int(Arg::WaitOnRecordCorrelation, mark.correlation);
            }
            process.push();
        }
    }
}

/// Sorts of rows in NVTX's table.
const MARK: i64 = 34;
const PUSH_POP: i64 = 59;
const START_END: i64 = 60;

fn annotations(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    let columns = ["start", "end", "eventType", "text", "textId", "globalTid", "domainId", "binaryData"];
    let mut nccl = Nccl::default();
    database.each("NVTX_EVENTS", &columns, |row| {
        let global = row.int(5);
        let sort = row.int(2).unwrap_or(0);
        if !matches!(sort, MARK | PUSH_POP | START_END) {
            return;
        }
        let Some((process, texts)) = processes.of_host(global) else { return };
        let text = row.text(3).or_else(|| texts.get(row.int(4)?)).unwrap_or_default();
        let name = process.text(text);
        let (of, on) = thread(global.unwrap_or(0));
        if sort == MARK {
            instant(process, row.int(0), name, (of, on));
            return;
        }
        // A range that nobody ended lasts for nobody knows how long.
        let (Some(start), Some(end)) = (row.int(0), row.int(1)) else { return };
        if sort == PUSH_POP
            && nccl.takes(global, row.int(6), (name, text), (start, end), row.blob(7).or_else(|| row.text(7)))
        {
            return;
        }
        let operator = operator(text).filter(|_| sort == PUSH_POP);
        let tag = process.tag(Phase::Complete, if operator.is_some() { "cpu_op" } else { "user_annotation" });
        let called = operator.as_ref().map_or(name, |operator| process.text(operator.name));
        let sizes = operator.as_ref().and_then(|operator| Some(process.text(operator.sizes?)));
        // Ranges with a start and an end of their own may overlap each other, and end on another thread.
        let on = if sort == START_END { Id::Text(process.text(b"NVTX ranges")) } else { on };
        let Some(record) = process.begin(tag, Some(start), Some(end)) else { return };
        record.name = called;
        (record.pid, record.tid) = (of, on);
        if let Some(operator) = operator {
            record.set_text(Arg::NvtxText, name);
            if let Some(sequence) = operator.sequence {
                record.set_int(Arg::SequenceNumber, sequence);
            }
            // Which thread ran the forward pass is not said; that one did, is.
            if operator.is_backward() {
                record.set_int(Arg::FwdThreadId, 1);
            }
            if let Some(sizes) = sizes {
                record.set_text(Arg::InputDims, sizes);
            }
        }
        process.push();
    })?;
    nccl.push(processes);
    Ok(())
}

fn instant(process: &mut Process, time: Option<i64>, name: StrId, (pid, tid): (Id, Id)) {
    let tag = process.tag(Phase::Instant, "user_annotation");
    if let Some(record) = process.begin(tag, time, time) {
        (record.name, record.pid, record.tid) = (name, pid, tid);
        process.push();
    }
}

/// Each thread has a row of its own for them: they lie within calls of CUDA and around them.
fn system_calls(database: &mut Database<'_>, processes: &mut Processes) -> Result<(), ReadError> {
    let mut rows: FxHashMap<i64, StrId> = FxHashMap::default();
    let mut last_process = None;
    database.each("OSRT_API", &["start", "end", "globalTid", "nameId"], |row| {
        let Some(global) = row.int(2) else { return };
        let Some((process, texts)) = processes.of_host(Some(global)) else { return };
        if last_process != Some(process.id) {
            last_process = Some(process.id);
            rows.clear();
        }
        let name = named(process, texts, row.int(3));
        let label = format!("{} OS runtime", tid(global));
        let on = *rows.entry(global).or_insert_with(|| process.text(label.as_bytes()));
        let tag = process.tag(Phase::Complete, "osrt");
        let Some(record) = process.begin(tag, row.int(0), row.int(1)) else { return };
        (record.name, record.pid, record.tid) = (name, thread(global).0, Id::Text(on));
        process.push();
    })
}

fn named(process: &mut Process, texts: &Texts, id: Option<i64>) -> StrId {
    id.and_then(|id| process.name(id, texts)).unwrap_or(StrId::EMPTY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_lose_their_version() {
        assert_eq!(without_version(b"cudaLaunchKernel_v7000"), b"cudaLaunchKernel");
        assert_eq!(without_version(b"cuLaunchKernelEx"), b"cuLaunchKernelEx");
        assert_eq!(without_version(b"cuMemcpy2"), b"cuMemcpy2");
    }
}
