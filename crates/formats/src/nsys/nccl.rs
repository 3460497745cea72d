//! What NCCL says of its collectives by NVTX: operation, bytes and communicator.
//!
//! NCCL pushes a range around each call (`ncclAllReduce`), with the communicator and the bytes of the message as binary data
//! where the export has it, and one around the making of a communicator (`ncclCommInitRank`), with its ranks. What is
//! called between `ncclGroupStart` and `ncclGroupEnd` is launched by the latter. So the range in which kernels are
//! launched gets the arguments that torch.profiler gives to the operator around a launch.

use gpuscope_trace::{Arg, Phase, Record, StrId};
use rustc_hash::FxHashMap;

use super::host::thread;
use super::process::{Process, Processes};

/// One range of NCCL's.
#[derive(Debug)]
struct Range {
    /// Its thread.
    global: i64,
    start: i64,
    end: i64,
    name: StrId,
    step: Step,
}

#[derive(Debug)]
enum Step {
    Call(Call),
    GroupStart,
    GroupEnd,
    Other,
}

/// A call that sends or receives.
#[derive(Clone, Copy, Debug)]
struct Call {
    operation: Operation,
    communicator: Option<u64>,
    bytes: Option<i64>,
    /// The other end of a send or a receive.
    peer: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    Broadcast,
    Reduce,
    Gather,
    Scatter,
    Send,
    Recv,
    /// Sends and receives of one group.
    SendRecv,
}

impl Operation {
    fn of(name: &[u8]) -> Option<Operation> {
        Some(match name.strip_prefix(b"nccl")? {
            b"AllReduce" => Operation::AllReduce,
            b"AllGather" => Operation::AllGather,
            b"ReduceScatter" => Operation::ReduceScatter,
            b"AlltoAll" | b"AllToAll" => Operation::AllToAll,
            b"Broadcast" | b"Bcast" => Operation::Broadcast,
            b"Reduce" => Operation::Reduce,
            b"Gather" => Operation::Gather,
            b"Scatter" => Operation::Scatter,
            b"Send" => Operation::Send,
            b"Recv" => Operation::Recv,
            _ => return None,
        })
    }

    fn label(self) -> &'static str {
        match self {
            Operation::AllReduce => "all_reduce",
            Operation::AllGather => "all_gather",
            Operation::ReduceScatter => "reduce_scatter",
            Operation::AllToAll => "all_to_all",
            Operation::Broadcast => "broadcast",
            Operation::Reduce => "reduce",
            Operation::Gather => "gather",
            Operation::Scatter => "scatter",
            Operation::Send => "send",
            Operation::Recv => "recv",
            Operation::SendRecv => "sendrecv",
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Nccl {
    ranges: Vec<Range>,
    /// Ranks of each communicator.
    sizes: FxHashMap<u64, i64>,
}

/// The default domain, in which programs push ranges of their own.
const DEFAULT_DOMAIN: i64 = 0;

impl Nccl {
    /// Takes a range if it is of NCCL; it is pushed later, when the whole group is known.
    pub(super) fn takes(
        &mut self,
        global: Option<i64>,
        domain: Option<i64>,
        (name, text): (StrId, &[u8]),
        (start, end): (i64, i64),
        data: Option<&[u8]>,
    ) -> bool {
        let Some(global) = global else { return false };
        if domain.unwrap_or(DEFAULT_DOMAIN) == DEFAULT_DOMAIN || !text.starts_with(b"nccl") {
            return false;
        }
        let word = |place: usize| Some(u64::from_le_bytes(data?.get(place..place + 8)?.try_into().ok()?));
        let short = |place: usize| Some(u32::from_le_bytes(data?.get(place..place + 4)?.try_into().ok()?));
        let step = match Operation::of(text) {
            Some(operation) => Step::Call(Call {
                operation,
                communicator: word(0),
                bytes: word(8).and_then(|bytes| i64::try_from(bytes).ok()),
                peer: short(16)
                    .filter(|_| matches!(operation, Operation::Send | Operation::Recv))
                    .map(i64::from),
            }),
            None if text == b"ncclGroupStart" => Step::GroupStart,
            None if text == b"ncclGroupEnd" => Step::GroupEnd,
            None => {
                if text.starts_with(b"ncclCommInit") {
                    self.sizes.extend(word(0).zip(short(8).map(i64::from)));
                }
                Step::Other
            }
        };
        self.ranges.push(Range { global, start, end, name, step });
        true
    }

    pub(super) fn push(mut self, processes: &mut Processes) {
        // Those that begin together lie in each other, the longest around the others.
        self.ranges.sort_by_key(|range| (range.global, range.start, std::cmp::Reverse(range.end)));
        for ranges in self.ranges.chunk_by(|a, b| a.global == b.global) {
            let Some((process, _)) = processes.of_host(Some(ranges[0].global)) else { continue };
            let (mut depth, mut group) = (0_u32, Vec::new());
            for range in ranges {
                let told = match range.step {
                    Step::Call(call) if depth > 0 => {
                        group.push(call);
                        None
                    }
                    Step::Call(call) => Some(call),
                    Step::GroupStart => {
                        depth += 1;
                        None
                    }
                    Step::GroupEnd => {
                        depth = depth.saturating_sub(1);
                        if depth == 0 { together(&std::mem::take(&mut group)) } else { None }
                    }
                    Step::Other => None,
                };
                self.push_one(process, range, told);
            }
        }
    }

    fn push_one(&self, process: &mut Process, range: &Range, told: Option<Call>) {
        let tag = process.tag(Phase::Complete, "user_annotation");
        let texts = told.map(|call| {
            let group = call.communicator.map(|id| process.text(format!("{id:#x}").as_bytes()));
            (process.text(call.operation.label().as_bytes()), process.text(b"Byte"), group)
        });
        let Some(record) = process.begin(tag, Some(range.start), Some(range.end)) else { return };
        record.name = range.name;
        (record.pid, record.tid) = thread(range.global);
        if let (Some(call), Some((name, dtype, group))) = (told, texts) {
            let ranks = call.communicator.and_then(|id| self.sizes.get(&id)).copied();
            record.set_text(Arg::CollectiveName, name);
            record.set_text(Arg::Dtype, dtype);
            if let Some(group) = group {
                record.set_text(Arg::GroupName, group);
            }
            describe(record, call, ranks);
        }
        process.push();
    }
}

/// What goes in and out of one rank; NCCL tells the smaller of the two.
fn describe(record: &mut Record, call: Call, ranks: Option<i64>) {
    let all = || Some(call.bytes?.saturating_mul(ranks?));
    let (input, output) = match call.operation {
        Operation::AllGather => (call.bytes, all()),
        Operation::ReduceScatter => (all(), call.bytes),
        _ => (call.bytes, call.bytes),
    };
    let (source, destination) = match call.operation {
        Operation::Send => (None, call.peer),
        Operation::Recv => (call.peer, None),
        _ => (None, None),
    };
    for (arg, value) in [
        (Arg::InMsgNelems, input),
        (Arg::OutMsgNelems, output),
        (Arg::GroupSize, ranks),
        (Arg::SourceRank, source),
        (Arg::DestinationRank, destination),
    ] {
        if let Some(value) = value {
            record.set_int(arg, value);
        }
    }
}

/// The calls of a group as one, as they share a kernel: none if they do different things.
fn together(calls: &[Call]) -> Option<Call> {
    let first = calls.first()?;
    let communicator =
        first.communicator.filter(|id| calls.iter().all(|call| call.communicator == Some(*id)));
    let bytes = |of: Operation| {
        let own = calls.iter().filter(|call| call.operation == of);
        own.map(|call| call.bytes).try_fold(0_i64, |sum, bytes| Some(sum.saturating_add(bytes?)))
    };
    let is_one = calls.iter().all(|call| call.operation == first.operation);
    let is_point_to_point =
        calls.iter().all(|call| matches!(call.operation, Operation::Send | Operation::Recv));
    let operation = match () {
        () if is_one && calls.len() == 1 => return Some(*first),
        () if is_one => first.operation,
        () if is_point_to_point => Operation::SendRecv,
        () => return None,
    };
    let counted = if operation == Operation::SendRecv { Operation::Send } else { operation };
    Some(Call { operation, communicator, bytes: bytes(counted), peer: None })
}
