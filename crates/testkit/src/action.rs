//! The vocabulary of a rank's program: what the host does, in order. Times follow only when it is executed.

use crate::catalog::{CopyKind, KernelSpec, RuntimeCall};
use crate::event::{Link, Name, Stream, Thread};
use crate::experts::Routing;
use crate::purpose::Purpose;
use crate::shapes::Shape;

/// A stretch of host time with a name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope {
    Step(u32),
    Annotation(Name),
    Python(Name),
    Module {
        name: Name,
        id: u32,
    },
    Op {
        name: &'static str,
        shape: Shape,
        link: Link,
    },
    /// The operator that records a transfer's parameters.
    Comm {
        transfer: TransferSpec,
    },
}

/// A collective, or one end of a point-to-point transfer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransferSpec {
    pub(crate) spec: &'static KernelSpec,
    pub(crate) name: &'static str,
    pub(crate) annotation: Name,
    pub(crate) group: usize,
    pub(crate) stream: Stream,
    pub(crate) in_elements: i64,
    pub(crate) out_elements: i64,
    /// Source and destination of a point-to-point transfer.
    pub(crate) peers: Option<(u32, u32)>,
    /// Sizes by member, where they differ.
    pub(crate) routing: Option<Routing>,
    /// Time from the last arrival to the common end.
    pub(crate) ns: i64,
}

/// One thing the host does.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    OnThread(Thread),
    /// What the GPU work that follows is for.
    For(Purpose),
    Open(Scope),
    Close,
    /// Host time, subject to jitter and to a slow host.
    Work(i64),
    /// Planted host time, exact.
    Hold(i64),
    /// An operator that takes no time.
    EmptyOp {
        name: &'static str,
    },
    Launch {
        spec: &'static KernelSpec,
        ns: i64,
    },
    GraphLaunch(Vec<(&'static KernelSpec, i64)>),
    Copy {
        kind: CopyKind,
        bytes: i64,
        stream: Stream,
    },
    Set {
        bytes: i64,
    },
    Record {
        slot: u32,
        stream: Stream,
    },
    Wait {
        stream: Stream,
        slot: u32,
    },
    SyncEvent {
        slot: u32,
    },
    /// The host waits for a stream, and then for so much longer.
    SyncStream {
        stream: Stream,
        extra_ns: i64,
    },
    /// The host waits for all streams, and then for so much longer.
    SyncDevice {
        extra_ns: i64,
    },
    /// A copy whose call returns only once it is done.
    HeldCopy {
        call: RuntimeCall,
        kind: CopyKind,
        bytes: i64,
    },
    /// A call without GPU work that takes the given time.
    Call {
        call: RuntimeCall,
        ns: i64,
    },
    /// The same, for a call that first waits for the device.
    DrainingCall {
        call: RuntimeCall,
        ns: i64,
    },
    Allocate {
        bytes: i64,
        address: i64,
    },
    Free {
        bytes: i64,
        address: i64,
    },
    /// Launches the transfer; the rank goes on once all its members have arrived.
    Transfer,
    /// The profiler's own work holds the host up.
    Overhead(i64),
    /// What follows belongs to this fault and has no jitter.
    Plant(usize),
    Planted,
}
