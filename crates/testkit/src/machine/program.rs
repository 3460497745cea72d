//! What the host of a rank does, one instruction after the other, and the work it hands to the GPU.

use crate::event::Name;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    HostToDevice,
    DeviceToHost,
    DeviceToDevice,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Kernel,
    Copy(Direction, i64),
    Set(i64),
    /// The place in the order of all transfers, the same on every rank.
    Collective(usize),
}

/// One piece of GPU work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Task {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) ns: i64,
    /// After the work before it on the stream.
    pub(super) gap_ns: i64,
    /// By how much it may start before the work before it has ended; its own work begins when that has.
    pub(super) early_ns: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Launch {
    pub(super) stream: usize,
    /// More than one for a graph: they take one place in the queue.
    pub(super) tasks: Vec<Task>,
    pub(super) latency_ns: i64,
    /// Whether the call returns only when the work is done.
    pub(super) blocks: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Target {
    Device,
    Stream(usize),
    Event(usize),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    None,
    Launch(Launch),
    Record {
        stream: usize,
        event: usize,
    },
    /// A stream waits for an event.
    Wait {
        stream: usize,
        event: usize,
    },
    Synchronize(Target),
    /// Memory is given back: that waits for the device.
    Free,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) cost_ns: i64,
    pub(super) return_ns: i64,
    pub(super) effect: Effect,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Span {
    Operator(Name),
    /// The operator that describes a transfer.
    Communication(usize),
    Annotation(Name),
    Step(u32),
}

impl Span {
    pub(super) fn name(self) -> Name {
        match self {
            Span::Operator(name) | Span::Annotation(name) => name,
            Span::Communication(_) => Name::plain("record_param_comms"),
            Span::Step(number) => Name::numbered("ProfilerStep#", number),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Instruction {
    Open(Span),
    Close,
    Work(i64),
    Call(Call),
    /// The other host thread takes over; this one waits for it without a trace.
    HandOver {
        thread: usize,
        wake_ns: i64,
    },
    /// The profiler begins to record.
    StartRecording,
}

/// A transfer between ranks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Transfer {
    pub(super) operation: &'static str,
    pub(super) elements: i64,
    pub(super) ns: i64,
}

/// What a rank runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Program {
    pub(super) instructions: Vec<Instruction>,
    pub(super) streams: usize,
    pub(super) events: usize,
    /// What the rank's clock shows at the true time zero.
    pub(super) clock_ns: i64,
}
