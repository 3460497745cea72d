//! What the simulation recorded of one rank, before it becomes text or truth.

use crate::catalog::{CopyKind, KernelSpec};
use crate::experts::Routing;
use crate::purpose::Purpose;
use crate::shapes::Shape;

/// The host threads of a training process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thread {
    Main,
    Autograd,
}

impl Thread {
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// The GPU streams of a training process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Compute,
    Communication,
    Copy,
    /// Where activations are added up: each communicator has a stream of its own.
    TensorParallel,
}

pub(crate) const STREAM_COUNT: usize = 4;
pub(crate) const STREAMS: [Stream; STREAM_COUNT] =
    [Stream::Compute, Stream::Communication, Stream::Copy, Stream::TensorParallel];

impl Stream {
    pub(crate) fn id(self) -> u32 {
        match self {
            Stream::Compute => 7,
            Stream::Communication => 20,
            Stream::Copy => 24,
            Stream::TensorParallel => 28,
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// A name with an optional number at its end: `ProfilerStep#` 12, `nn.Module: Linear_` 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) text: &'static str,
    pub(crate) number: Option<u32>,
}

impl Name {
    pub(crate) const fn plain(text: &'static str) -> Name {
        Name { text, number: None }
    }

    pub(crate) const fn numbered(text: &'static str, number: u32) -> Name {
        Name { text, number: Some(number) }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text)?;
        self.number.map_or(Ok(()), |number| write!(f, "{number}"))
    }
}

/// How an operator takes part in the link from forward to backward pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Link {
    None,
    Forward {
        sequence: u32,
    },
    /// The engine's wrapper around a backward operator.
    Evaluation {
        sequence: u32,
    },
    Backward {
        sequence: u32,
    },
}

/// The arguments of a collective or point-to-point transfer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommArgs {
    pub(crate) name: &'static str,
    pub(crate) in_elements: i64,
    pub(crate) out_elements: i64,
    pub(crate) group: usize,
    pub(crate) seq: u64,
    pub(crate) peers: Option<(u32, u32)>,
    pub(crate) routing: Option<Routing>,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum What {
    Op {
        name: &'static str,
        thread: Thread,
        external: u64,
        shape: Shape,
        link: Link,
        comm: Option<u32>,
    },
    Annotation {
        name: Name,
        thread: Thread,
        external: u64,
    },
    Python {
        name: Name,
        thread: Thread,
        id: u64,
        parent: Option<u64>,
        module: Option<u32>,
    },
    Memory {
        thread: Thread,
        bytes: i64,
        address: i64,
        allocated: i64,
        reserved: i64,
    },
    Runtime {
        name: &'static str,
        cbid: u32,
        thread: Thread,
        correlation: u64,
        external: u64,
        feeds_gpu: bool,
    },
    Kernel {
        spec: &'static KernelSpec,
        stream: Stream,
        graph_node: Option<u32>,
        comm: Option<u32>,
        gpu: Gpu,
    },
    Copy {
        kind: CopyKind,
        stream: Stream,
        bytes: i64,
        gpu: Gpu,
    },
    Set {
        stream: Stream,
        bytes: i64,
        gpu: Gpu,
    },
    Sync {
        kind: SyncKind,
        correlation: u64,
        external: u64,
    },
    Overhead,
    GpuAnnotation {
        name: Name,
        stream: Stream,
        external: u64,
    },
}

/// How GPU work was launched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Gpu {
    pub(crate) correlation: u64,
    pub(crate) external: u64,
    /// The external id of the innermost operator around the launch; 0 for none.
    pub(crate) operator: u64,
    /// Start of the launching call; none if that call is not in the file.
    pub(crate) launched: Option<i64>,
    pub(crate) purpose: Purpose,
}

/// A row of category `cuda_sync`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SyncKind {
    StreamWaitEvent { stream: Stream, on: Stream, record: u64, event: u32 },
    EventSync { on: Stream, record: u64, event: u32 },
    StreamSync { stream: Stream },
    ContextSync,
}

/// One recorded event; an instant has equal ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Event {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) what: What,
}

/// A transfer as one rank saw it, in true time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transfer {
    pub(crate) args: CommArgs,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) last_arrival: i64,
    pub(crate) last_rank: u32,
    pub(crate) second_arrival: i64,
}

/// Where a planted fault showed on one rank's host, in true time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FaultSite {
    pub(crate) fault: usize,
    pub(crate) start: i64,
    pub(crate) end: i64,
}

/// Everything recorded of one rank in one stretch of time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub(crate) events: Vec<Event>,
    pub(crate) comms: Vec<CommArgs>,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) sites: Vec<FaultSite>,
    /// The step annotation's number and its ends, if this stretch is a step.
    pub(crate) step: Option<(u32, i64, i64)>,
    /// Nothing later starts before this.
    pub(crate) horizon: i64,
}
