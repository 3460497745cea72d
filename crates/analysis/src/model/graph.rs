//! What had to happen before what: the dependency graph of a stretch of a rank's work.
//!
//! A node is something that takes time on one place: a call on a host thread, the end of a call that waited for
//! the GPU, a GPU event. An edge says that a node cannot begin before another one has begun or ended, plus a lag:
//!
//! * a thread does one thing after another (the lag is the host's own work between two calls);
//! * GPU work follows its launch, and the work before it on its stream;
//! * a stream that waits for an event follows the work before that event; a call that synchronises returns after
//!   the work it waited for, and a launch on a full queue once there is room; the backward thread runs while the
//!   forward thread waits for it.
//!
//! Work that was in flight before the first step began stays as it was: its launch is not recorded, and no question
//! about the steps concerns it.
//!
//! What remains between the latest of these and the recorded start is the node's `delay`: the model does not know
//! what it waited for. Replayed without a change, every node therefore begins and ends as recorded, and the sum of
//! delays on the critical path says how far to trust a prediction.
//!
//! Traces without synchronisation rows do not say which stream waited for which. Such edges are inferred from the
//! order of the calls on a thread and from what ended just before a kernel began, and marked as inferred.

mod build;
mod couple;
mod device;
mod handover;
mod host;
mod in_flight;
mod replay;
mod stream_waits;
mod trust;
mod waits;
mod walk;

use gpuscope_trace::{Interval, Kind, Ns, Row, View};

pub(crate) use build::{Marks, for_each_bit};
pub(crate) use couple::{Coupled, Place, RankGraph};
pub(crate) use replay::{Alone, GroupChange, Replayed, Scenario, host_alone, replay};
pub(crate) use trust::unexplained_delays;
pub(crate) use walk::{Spent, Stretch, walk};

/// A stretch of a rank's time, and where its host side ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub span: Interval,
    /// The annotation or event with which the host ends, and when.
    pub host_end: Option<(Row, Ns)>,
}

/// A place in [`Graph::nodes`].
pub(crate) type NodeId = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A call that launches work or begins to wait.
    Call,
    /// The moment at which a waiting call returns.
    Return,
    /// A moment on a thread at which it hands over to another, takes over from it, or the window ends.
    Moment,
    Gpu(Kind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The thread did something else before.
    Thread,
    Launch,
    Stream,
    /// A stream waited for an event of another.
    Event,
    /// A call returned once the GPU was done.
    Synchronisation,
    /// A call returned once there was room in the queue.
    FullQueue,
    /// Another thread was waited for, or started this one.
    Handover,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub from: NodeId,
    /// From its end, or already from its start.
    pub from_end: bool,
    pub why: Why,
    /// Nothing in the trace says so; it follows from order and time.
    pub inferred: bool,
    pub lag: Ns,
}

/// What no change moves, or not every change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hold {
    #[default]
    None,
    /// It begins no sooner than it did: it hangs on work that was in flight before the steps began.
    Start,
    /// It is part of the step that the others are measured from; a change may be another one there.
    First,
    /// It is part of no step that is explained: it was in flight before they began, or belongs to steps set apart.
    Whole,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub row: Row,
    pub what: What,
    pub start: Ns,
    pub end: Ns,
    /// Between the last thing it is known to have waited for and its start.
    pub delay: Ns,
    /// Which of the marks given to [`Graph::new`] its name has, as bits.
    pub marks: u32,
    /// Of a call: the marks of what the host did around it.
    pub host_marks: u32,
    /// The group of ranks that it communicates in; 0 for none.
    pub group: u16,
    /// The step that launched it, as a place in [`View::steps`].
    pub step: Option<u32>,
    pub hold: Hold,
    first_edge: u32,
}

/// Host work of a mark inside the lag of an edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostPart {
    pub edge: u32,
    pub mark: u8,
    pub time: Ns,
}

#[derive(Debug)]
pub(crate) struct Graph {
    pub span: Interval,
    /// In an order in which every edge leads forward.
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    /// By edge.
    pub host_parts: Vec<HostPart>,
    /// Where the window's host side ends.
    pub host_end: Option<NodeId>,
}

impl Graph {
    /// What threads did of their own, over all of them.
    pub(crate) fn host_work(&self) -> Ns {
        let threads = self.edges.iter().filter(|edge| edge.why == Why::Thread);
        threads.map(|edge| edge.lag).sum()
    }

    /// The graph of a window.
    pub(crate) fn new(view: View<'_>, window: &Window, marks: &Marks<'_>) -> Graph {
        build::build(view, window, marks)
    }

    /// What a node had to wait for.
    pub(crate) fn edges_into(&self, node: NodeId) -> &[Edge] {
        &self.edges[self.edge_range(node)]
    }

    fn edge_range(&self, node: NodeId) -> std::ops::Range<usize> {
        let first =
            |node: usize| self.nodes.get(node).map_or(self.edges.len(), |node| node.first_edge as usize);
        first(node as usize)..first(node as usize + 1)
    }

    /// When the far side of an edge was reached.
    fn reached(&self, edge: &Edge) -> Ns {
        let node = &self.nodes[edge.from as usize];
        if edge.from_end { node.end } else { node.start }
    }

    /// The edge that a node waited for longest.
    pub(crate) fn binding(&self, node: NodeId) -> Option<&Edge> {
        let start = self.nodes[node as usize].start;
        let ready = |edge: &Edge| self.reached(edge) + edge.lag;
        // What is ready only later did not hold it: a scenario lifted that edge. Of equals the first is taken, as
        // edges come with the surest first.
        self.edges_into(node).iter().rev().filter(|edge| ready(edge) <= start).max_by_key(|edge| ready(edge))
    }

    /// How many edges to what began inside a window rest on inference.
    pub(crate) fn inferred(&self, window: Interval) -> u64 {
        let inside = (0..self.nodes.len() as NodeId)
            .filter(|id| (window.start..=window.end).contains(&self.nodes[*id as usize].start));
        inside.flat_map(|id| self.edges_into(id)).filter(|edge| edge.inferred).count() as u64
    }
}

#[cfg(test)]
mod tests;
