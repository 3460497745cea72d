//! Puts the graph together: nodes in order of time, then the edges into each.

use gpuscope_trace::{Interval, Kind, Ns, Row, ThreadId, View};

use super::device::Device;
use super::handover;
use super::host::{self, HostNode};
use super::waits::{self, Waits};
use super::{Edge, Graph, Hold, HostPart, Node, NodeId, What, Window, in_flight};
use crate::model::syncs;

/// The marks of a host event, as bits.
type HostMark<'a> = dyn Fn(View<'_>, Row) -> u32 + 'a;

/// What a scenario may later change: which GPU events and which host work carry which mark.
pub(crate) struct Marks<'a> {
    pub gpu: &'a dyn Fn(View<'_>, Row, Kind) -> u32,
    /// The group of ranks that work communicates in, as a number of the caller's; 0 for none.
    pub group: &'a dyn Fn(View<'_>, Row, Kind) -> u16,
    /// None if no mark is about the host: telling what a thread did takes time.
    pub host: Option<&'a HostMark<'a>>,
}

impl Marks<'_> {
    pub(crate) const NONE: Marks<'static> = Marks { gpu: &|_, _, _| 0, group: &|_, _, _| 0, host: None };
}

/// The node of each row that has one.
pub(super) struct NodeOf(Vec<NodeId>);

impl NodeOf {
    pub(super) fn get(&self, row: Row) -> Option<NodeId> {
        Some(self.0[row as usize]).filter(|node| *node != NodeId::MAX)
    }
}

pub(super) fn build(view: View<'_>, window: &Window, marks: &Marks<'_>) -> Graph {
    let syncs = syncs::recorded(view);
    let waits = waits::find(view, &syncs);
    let handovers = handover::find(view, window);
    let threads = host::threads(view, window, &handovers, &waits);
    let (mut nodes, places) = in_order(view, window.span, marks, &threads);
    let mut gpu_or_call = vec![NodeId::MAX; view.trace.len()];
    let mut returns = vec![];
    for (id, node) in nodes.iter().enumerate() {
        match node.what {
            What::Call | What::Gpu(_) => gpu_or_call[node.row as usize] = id as NodeId,
            What::Return => returns.push(id as NodeId),
            What::Moment => {}
        }
    }
    let node_of = NodeOf(gpu_or_call);
    mark_host_nodes(view, marks, &node_of, &mut nodes);
    let mut into: Vec<(NodeId, Edge)> = Vec::with_capacity(nodes.len() * 2);
    link_returns(&nodes, &node_of, &returns, &waits, &mut into);
    Device::new(view, &nodes, &node_of, &syncs).link(&mut into);
    host::link(&nodes, &threads, &places, &waits, &mut into);
    handover::link(&nodes, &handovers, &threads, &places, &mut into);
    let mut graph = Graph {
        span: window.span,
        nodes,
        edges: Vec::new(),
        host_parts: Vec::new(),
        host_end: host_end(&threads, &places),
    };
    graph.take_edges(into);
    graph.find_delays();
    in_flight::hold(view, &mut graph.nodes);
    if let Some(mark) = marks.host {
        graph.host_parts = host_parts(view, &graph, mark);
    }
    graph
}

/// Calls that wait return after what they waited for.
fn link_returns(
    nodes: &[Node],
    node_of: &NodeOf,
    returns: &[NodeId],
    waits: &Waits,
    into: &mut Vec<(NodeId, Edge)>,
) {
    for &id in returns {
        let Some(wait) = waits.get(&nodes[id as usize].row) else { continue };
        for source in &wait.sources {
            let Some(from) = node_of.get(source.row) else { continue };
            let (why, inferred, lag) = (wait.why, wait.inferred, wait.lag);
            into.push((id, Edge { from, from_end: source.at_end, why, inferred, lag }));
        }
    }
}

/// At one instant: a thread that takes over comes after the one that hands over,
const AFTER_ANOTHER: u32 = 1 << 16;
/// and GPU work after the call that launches it.
const AFTER_CALLS: u32 = u32::MAX;

/// The thread of a host node, and its place there.
type OnThread = Option<(u32, u32)>;

/// Where each host node went: per thread, in the thread's order.
pub(super) type Places = Vec<Vec<NodeId>>;

fn in_order(
    view: View<'_>,
    span: Interval,
    marks: &Marks<'_>,
    threads: &[(ThreadId, Vec<HostNode>)],
) -> (Vec<Node>, Places) {
    let steps = view.steps();
    let node = |row, what, start, end| Node {
        row,
        what,
        start,
        end,
        delay: Ns::ZERO,
        marks: 0,
        host_marks: 0,
        group: 0,
        step: None,
        hold: Hold::None,
        first_edge: 0,
    };
    // With each node what comes first at one instant, and its thread and place there.
    let mut found: Vec<(Node, u32, OnThread)> = Vec::new();
    for (thread, (_, nodes)) in threads.iter().enumerate() {
        let mut turn = 0;
        for (i, host) in nodes.iter().enumerate() {
            let at_once = i > 0 && nodes[i - 1].start == host.start;
            turn = if at_once { turn + 1 } else { 0 };
            if host.idle_before {
                turn += AFTER_ANOTHER;
            }
            let place = (thread as u32, i as u32);
            found.push((node(host.row, host.what, host.start, host.end), turn, Some(place)));
        }
    }
    let mut cursor = steps.cursor();
    for event in view.gpu().filter(|event| event.end > span.start && event.start < span.end) {
        let step = view.launch_start(event.row).and_then(|launched| cursor.at(launched));
        let group = (marks.group)(view, event.row, event.kind);
        let marks = (marks.gpu)(view, event.row, event.kind);
        let gpu = node(event.row, What::Gpu(event.kind), event.start, event.end.max(event.start));
        found.push((Node { marks, group, step: step.map(|step| step as u32), ..gpu }, AFTER_CALLS, None));
    }
    found.sort_by_key(|(node, turn, _)| (node.start, *turn));
    let mut places: Places = threads.iter().map(|(_, nodes)| vec![0; nodes.len()]).collect();
    for (id, (_, _, place)) in found.iter().enumerate() {
        if let Some((thread, i)) = place {
            places[*thread as usize][*i as usize] = id as NodeId;
        }
    }
    (found.into_iter().map(|(node, _, _)| node).collect(), places)
}

/// A call has the marks of the work it launches, a return those of what the host did, too.
fn mark_host_nodes(view: View<'_>, marks: &Marks<'_>, node_of: &NodeOf, nodes: &mut [Node]) {
    let launches = view.index.launches(view.trace);
    for id in 0..nodes.len() {
        let Node { row, what, .. } = nodes[id];
        if !matches!(what, What::Call | What::Return) {
            continue;
        }
        let work = launches.launched(row).first().and_then(|row| node_of.get(*row));
        let of_work = work.map_or(0, |work| nodes[work as usize].marks);
        let of_host = marks.host.map_or(0, |mark| mark(view, row));
        if what == What::Return {
            nodes[id].marks = of_work | of_host;
        } else {
            (nodes[id].marks, nodes[id].host_marks) = (of_work, of_host);
        }
    }
}

fn host_end(threads: &[(ThreadId, Vec<HostNode>)], places: &Places) -> Option<NodeId> {
    let of_thread = |(thread, (_, nodes)): (usize, &(ThreadId, Vec<HostNode>))| {
        let i = nodes.iter().rposition(|node| node.ends_window)?;
        Some(places[thread][i])
    };
    threads.iter().enumerate().find_map(of_thread)
}

impl Graph {
    /// Edges that would lead backward are left out: what they say held anyway, or clocks disagree.
    fn take_edges(&mut self, mut into: Vec<(NodeId, Edge)>) {
        into.retain(|(node, edge)| {
            edge.from < *node && self.reached(edge) + edge.lag <= self.nodes[*node as usize].start
        });
        // By node, each one's in the order given; counting is faster than sorting.
        for (node, _) in &into {
            self.nodes[*node as usize].first_edge += 1;
        }
        let mut next = 0;
        for node in &mut self.nodes {
            next += std::mem::replace(&mut node.first_edge, next);
        }
        let mut free: Vec<u32> = self.nodes.iter().map(|node| node.first_edge).collect();
        let mut order = vec![0; into.len()];
        for (i, (node, _)) in into.iter().enumerate() {
            let place = &mut free[*node as usize];
            order[*place as usize] = i as u32;
            *place += 1;
        }
        self.edges = order.into_iter().map(|i| into[i as usize].1).collect();
    }

    fn find_delays(&mut self) {
        for id in 0..self.nodes.len() as NodeId {
            if let Some(edge) = self.binding(id) {
                let ready = self.reached(edge) + edge.lag;
                let node = &mut self.nodes[id as usize];
                node.delay = node.start - ready;
            }
        }
    }
}

/// How much marked work lies in the lag of every edge along a thread.
fn host_parts(view: View<'_>, graph: &Graph, mark: &HostMark<'_>) -> Vec<HostPart> {
    let innermost = view.index.innermost(view.trace);
    let mut parts = Vec::new();
    let mut by_mark = [Ns::ZERO; 32];
    for id in 0..graph.nodes.len() as NodeId {
        let node = &graph.nodes[id as usize];
        if matches!(node.what, What::Gpu(_)) {
            continue;
        }
        for i in graph.edge_range(id) {
            let edge = &graph.edges[i];
            if edge.why != super::Why::Thread {
                continue;
            }
            let until = node.start;
            let worked = Interval::new(until - edge.lag, until);
            let thread = view.trace.track(node.row).thread;
            let mut seen = 0u32;
            for (part, row) in innermost.during(thread, worked) {
                let marks = mark(view, row);
                seen |= marks;
                for_each_bit(marks, |bit| by_mark[bit as usize] += part.len());
            }
            for_each_bit(seen, |bit| {
                let time = std::mem::take(&mut by_mark[bit as usize]);
                parts.push(HostPart { edge: i as u32, mark: bit, time });
            });
        }
    }
    parts
}

pub(crate) fn for_each_bit(mut bits: u32, mut each: impl FnMut(u8)) {
    while bits != 0 {
        each(bits.trailing_zeros() as u8);
        bits &= bits - 1;
    }
}
