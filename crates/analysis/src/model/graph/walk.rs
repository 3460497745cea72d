//! The critical path: from the end of the window back to its start, always to what was waited for last.

use gpuscope_trace::{Interval, Ns};

use super::couple::{Coupled, Place};
use super::{Graph, NodeId, What, Why};

/// A part of the path. All parts together cover the window without gap or overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub graph: u32,
    /// In the times of that graph's rank.
    pub time: Interval,
    /// The node that was running, or that waited.
    pub node: NodeId,
    pub spent: Spent,
    /// It rests on an edge that nothing in the trace states.
    pub inferred: bool,
    /// The part that nothing explains.
    pub unexplained: Ns,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spent {
    /// The node itself ran.
    Running,
    /// What the node waited for last.
    Before(Why),
    /// Nothing is known of this time.
    Unknown,
}

/// The path that ends with the last event of a graph inside a window.
pub(crate) fn walk(coupled: &Coupled, graph: u32, span: Interval) -> Vec<Stretch> {
    let floor = span.start + coupled.offsets[graph as usize];
    let mut walker = Walker { coupled, floor, graph, now: span.end, path: Vec::new() };
    if let Some(last) = last_node(&coupled.graphs[graph as usize], span.end) {
        walker.from(last);
    }
    walker.back_to_unknown(Ns(i64::MIN), 0);
    walker.path.reverse();
    walker.path
}

/// The node with which a window ends.
fn last_node(graph: &Graph, until: Ns) -> Option<NodeId> {
    let ids = 0..graph.nodes.len() as NodeId;
    let node = |id: &NodeId| &graph.nodes[*id as usize];
    let on_gpu = ids.filter(|id| matches!(node(id).what, What::Gpu(_)) && node(id).end <= until);
    on_gpu.chain(graph.host_end).max_by_key(|id| node(id).end)
}

/// Somewhere on the path, on the way back.
struct Walker<'a> {
    coupled: &'a Coupled,
    /// Where the window starts, on the common clock.
    floor: Ns,
    graph: u32,
    /// In the times of that graph.
    now: Ns,
    path: Vec<Stretch>,
}

impl<'a> Walker<'a> {
    fn graph(&self) -> &'a Graph {
        &self.coupled.graphs[self.graph as usize]
    }

    fn offset(&self) -> Ns {
        self.coupled.offsets[self.graph as usize]
    }

    fn is_done(&self) -> bool {
        self.now + self.offset() <= self.floor
    }

    fn from(&mut self, last: NodeId) {
        let (mut node, mut at_end) = (last, true);
        self.back_to_unknown(self.graph().nodes[last as usize].end, last);
        while !self.is_done() {
            if at_end && let Some(awaited) = self.back_through(node) {
                (node, at_end) = (awaited, false);
                continue;
            }
            let graph = self.graph();
            let Some(edge) = graph.binding(node) else {
                if !matches!(graph.nodes[node as usize].what, What::Gpu(_)) {
                    self.back_to(Ns(i64::MIN), node, Spent::Before(Why::Thread), false, Ns::ZERO);
                }
                return;
            };
            let delay = graph.nodes[node as usize].delay;
            self.back_to(graph.reached(edge), node, Spent::Before(edge.why), edge.inferred, delay);
            (node, at_end) = (edge.from, edge.from_end);
        }
    }

    /// Back through what a node did itself. If that was a collective for which others came later, it goes on with
    /// the last of them, which is answered.
    fn back_through(&mut self, node: NodeId) -> Option<NodeId> {
        let place = Place { graph: self.graph, node };
        let later = self.coupled.meeting(place).filter(|meeting| meeting.last != place);
        let Some(meeting) = later else {
            let start = self.graph().nodes[node as usize].start;
            self.back_to(start, node, Spent::Running, false, Ns::ZERO);
            return None;
        };
        self.back_to(meeting.all_there - self.offset(), node, Spent::Running, false, Ns::ZERO);
        let common = self.now + self.offset();
        self.graph = meeting.last.graph;
        self.now = common - self.offset();
        Some(meeting.last.node)
    }

    fn back_to_unknown(&mut self, time: Ns, node: NodeId) {
        self.back_to(time, node, Spent::Unknown, false, Ns(i64::MAX));
    }

    /// Takes the path back to a time, but not out of the window.
    fn back_to(&mut self, time: Ns, node: NodeId, spent: Spent, inferred: bool, unexplained: Ns) {
        let time = Interval::new(time.max(self.floor - self.offset()), self.now);
        if time.is_empty() {
            return;
        }
        let unexplained = unexplained.min(time.len());
        self.path.push(Stretch { graph: self.graph, time, node, spent, inferred, unexplained });
        self.now = time.start;
    }
}
