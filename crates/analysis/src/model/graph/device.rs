//! GPU work follows its launch, the work before it on its stream, and the events its stream waited for.

use std::sync::Arc;

use gpuscope_trace::{Ns, Row, View};
use rustc_hash::FxHashMap;

use super::build::NodeOf;
use super::waits::stream_of;
use super::{Edge, Node, NodeId, What, Why, stream_waits};
use crate::model::syncs::{StreamKey, Sync};

/// What a launch takes at most: all beyond is a delay.
const MOST_LAUNCH: Ns = Ns(30_000);
/// Kernels further apart than this do not simply follow each other.
const MOST_GAP: Ns = Ns(10_000);
/// Work begins within this after the event it waited for.
const AFTER_EVENT: Ns = Ns(30_000);

pub(super) struct Device<'a> {
    view: View<'a>,
    nodes: &'a [Node],
    node_of: &'a NodeOf,
    syncs: &'a [Sync],
    /// GPU nodes of each stream, by start.
    streams: FxHashMap<StreamKey, Vec<NodeId>>,
    /// All GPU nodes by end.
    by_end: Vec<(Ns, NodeId)>,
    usual: Usual,
}

/// What things take when nothing else holds them up.
#[derive(Clone, Copy, Debug, Default)]
struct Usual {
    /// From the start of a launching call to work on an empty stream.
    launch: Ns,
    /// Between two kernels that were both queued in time.
    gap: Ns,
}

impl<'a> Device<'a> {
    pub(super) fn new(
        view: View<'a>,
        nodes: &'a [Node],
        node_of: &'a NodeOf,
        syncs: &'a [Sync],
    ) -> Device<'a> {
        let mut streams: FxHashMap<StreamKey, Vec<NodeId>> = FxHashMap::default();
        let mut by_end = Vec::new();
        for (id, node) in nodes.iter().enumerate() {
            if matches!(node.what, What::Gpu(_)) {
                streams.entry(stream_of(view, node.row)).or_default().push(id as NodeId);
                by_end.push((node.end, id as NodeId));
            }
        }
        by_end.sort_unstable();
        let usual = Usual::of(view, nodes, &streams);
        Device { view, nodes, node_of, syncs, streams, by_end, usual }
    }

    fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// Edges into every GPU node, the surest first.
    pub(super) fn link(&self, into: &mut Vec<(NodeId, Edge)>) {
        let (waits, inferred) = self.stream_waits();
        let mut held_back: FxHashMap<Row, Vec<Row>> = FxHashMap::default();
        for (held, source) in waits.iter() {
            held_back.entry(*held).or_default().push(*source);
        }
        for stream in self.streams.values() {
            let mut before: Option<NodeId> = None;
            for &id in stream {
                let mut edges = Edges { into: &mut *into, id, ready: Ns(i64::MIN) };
                let node = self.node(id);
                if let Some(call) = self.view.launch(node.row).and_then(|call| self.node_of.get(call)) {
                    let launched = self.node(call).start;
                    let lag = (node.start - launched).min(self.usual.launch);
                    let edge = Edge { from: call, from_end: false, why: Why::Launch, inferred: false, lag };
                    edges.add(edge, launched);
                }
                if let Some(before) = before {
                    self.follow(before, node, &mut edges);
                }
                for source in held_back.get(&node.row).into_iter().flatten() {
                    let source = self.node_of.get(*source);
                    if let Some(source) = source.filter(|id| self.node(*id).end <= node.start) {
                        edges.add(self.after(source, node, Why::Event, inferred), self.node(source).end);
                    }
                }
                let ready = edges.ready;
                if let Some(source) = self.released_by(id, ready) {
                    into.push((id, self.after(source, node, Why::Event, true)));
                }
                before = Some(id);
            }
        }
    }

    /// Streams that waited for others: what had to wait, and for what; and whether that is a guess.
    fn stream_waits(&self) -> (Arc<Vec<(Row, Row)>>, bool) {
        let recorded = |sync: &Sync| sync.held_back.zip(sync.source());
        if self.syncs.iter().any(|sync| sync.held_back.is_some()) {
            return (Arc::new(self.syncs.iter().filter_map(recorded).collect()), false);
        }
        (stream_waits::by_call_order(self.view), true)
    }

    /// After the work before on the stream. What began while that still ran only has to come after its start.
    fn follow(&self, before: NodeId, node: &Node, edges: &mut Edges<'_>) {
        let earlier = self.node(before);
        if node.start >= earlier.end {
            edges.add(self.after(before, node, Why::Stream, false), earlier.end);
            return;
        }
        let overlap = earlier.end - node.start;
        // A kernel may begin shortly before the one it depends on has ended.
        if overlap.0 * 2 <= (earlier.end - earlier.start).0 {
            edges.add(self.after(before, node, Why::Stream, false), earlier.end);
        } else {
            let lag = (node.start - earlier.start).min(self.usual.gap);
            let edge = Edge { from: before, from_end: false, why: Why::Stream, inferred: false, lag };
            edges.add(edge, earlier.start);
        }
    }

    fn after(&self, source: NodeId, node: &Node, why: Why, inferred: bool) -> Edge {
        let lag = (node.start - self.node(source).end).min(self.usual.gap);
        Edge { from: source, from_end: true, why, inferred, lag }
    }

    /// Work on another stream of the device that ended just before this began, when nothing known held it.
    fn released_by(&self, id: NodeId, ready: Ns) -> Option<NodeId> {
        let node = self.node(id);
        if node.start - ready <= self.usual.launch.max(self.usual.gap) {
            return None;
        }
        let own = stream_of(self.view, node.row);
        let ended = self.by_end.partition_point(|(end, _)| *end <= node.start);
        let recent = self.by_end[..ended]
            .iter()
            .rev()
            .take_while(|(end, _)| *end > ready && node.start - *end <= AFTER_EVENT);
        let other = |source: &NodeId| {
            let stream = stream_of(self.view, self.node(*source).row);
            stream.0 == own.0 && stream.1 != own.1 && *source < id
        };
        recent.map(|(_, source)| *source).find(other)
    }
}

/// Edges into one node, and when it could have begun by them.
struct Edges<'a> {
    into: &'a mut Vec<(NodeId, Edge)>,
    id: NodeId,
    ready: Ns,
}

impl Edges<'_> {
    fn add(&mut self, edge: Edge, reached: Ns) {
        self.ready = self.ready.max(reached + edge.lag);
        self.into.push((self.id, edge));
    }
}

impl Usual {
    fn of(view: View<'_>, nodes: &[Node], streams: &FxHashMap<StreamKey, Vec<NodeId>>) -> Usual {
        let (mut latencies, mut gaps) = (Vec::new(), Vec::new());
        let mut shortest = MOST_LAUNCH;
        for stream in streams.values() {
            // What the first of a stream waited for may lie before the window.
            let mut free = stream.first().map_or(Ns::ZERO, |first| nodes[*first as usize].end);
            for node in stream.iter().map(|id| &nodes[*id as usize]) {
                if let Some(called) = view.launch_start(node.row) {
                    let took = (node.start - called).max(Ns::ZERO);
                    shortest = shortest.min(took);
                    if called >= free {
                        latencies.push(took);
                    } else if node.start >= free {
                        gaps.push(node.start - free);
                    }
                }
                free = free.max(node.end);
            }
        }
        Usual {
            launch: quantile(&mut latencies, 4).unwrap_or(shortest).min(MOST_LAUNCH),
            gap: quantile(&mut gaps, 2).unwrap_or_default().min(MOST_GAP),
        }
    }
}

/// The value below which one in `part` lies.
fn quantile(values: &mut [Ns], part: usize) -> Option<Ns> {
    let at = values.len() / part;
    (!values.is_empty()).then(|| *values.select_nth_unstable(at).1)
}
