//! GPU work follows its launch, the work before it on its stream, and the events its stream waited for; calls
//! that wait return after the work they waited for.

use gpuscope_trace::{Ns, Row, ThreadId, View};
use rustc_hash::FxHashMap;

use super::build::NodeOf;
use super::{Edge, Node, NodeId, What, Why};
use crate::syncs::{Awaited, StreamKey, Sync};

/// What a call that synchronises costs when there is nothing to wait for.
const OWN_COST: Ns = Ns(5_000);
/// A call returns within this after the work it waited for.
const RETURN: Ns = Ns(30_000);
/// What a launch takes where none can be measured, and what it takes at most: all beyond is a delay.
const LAUNCH: Ns = Ns(5_000);
const MOST_LAUNCH: Ns = Ns(30_000);
/// Kernels further apart than this do not simply follow each other.
const MOST_GAP: Ns = Ns(10_000);
/// Work begins within this after the event it waited for.
const AFTER_EVENT: Ns = Ns(10_000);

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
    pub(super) fn link_gpu(&self, into: &mut Vec<(NodeId, Edge)>) {
        let records_events = self.syncs.iter().any(|sync| sync.held_back.is_some());
        let mut held_back: FxHashMap<Row, Vec<Row>> = FxHashMap::default();
        for sync in self.syncs {
            if let (Some(held), Awaited::Event(Some(source))) = (sync.held_back, sync.awaited) {
                held_back.entry(held).or_default().push(source);
            }
        }
        if !records_events {
            for (held, source) in waits_by_call_order(self.view) {
                held_back.entry(held).or_default().push(source);
            }
        }
        for stream in self.streams.values() {
            let mut before: Option<NodeId> = None;
            for &id in stream {
                let mut ready = Ns(i64::MIN);
                let mut add = |edge: Edge, reached: Ns| {
                    ready = ready.max(reached + edge.lag);
                    into.push((id, edge));
                };
                let node = self.node(id);
                if let Some(call) = self.view.launch(node.row).and_then(|call| self.node_of.get(call)) {
                    let launched = self.node(call).start;
                    let lag = (node.start - launched).min(self.usual.launch);
                    add(
                        Edge { from: call, from_end: false, why: Why::Launch, inferred: false, lag },
                        launched,
                    );
                }
                if let Some(before) = before {
                    add(self.after(before, node, Why::Stream, false), self.node(before).end);
                }
                for source in held_back.get(&node.row).into_iter().flatten() {
                    if let Some(source) =
                        self.node_of.get(*source).filter(|id| self.node(*id).end <= node.start)
                    {
                        add(self.after(source, node, Why::Event, !records_events), self.node(source).end);
                    }
                }
                if !records_events && let Some(source) = self.released_by(id, ready) {
                    into.push((id, self.after(source, node, Why::Event, true)));
                }
                before = Some(id);
            }
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

    /// Edges into every return; answers for those that had something to wait for what they cost without it.
    pub(super) fn link_returns(&self, returns: &[NodeId], into: &mut Vec<(NodeId, Edge)>) -> Vec<Option<Ns>> {
        let mut own_cost = vec![None; self.nodes.len()];
        let recorded: FxHashMap<Row, &Sync> =
            self.syncs.iter().filter_map(|sync| Some((sync.call?, sync))).collect();
        for &id in returns {
            let node = self.node(id);
            let called = self.view.trace.start(node.row).unwrap_or(node.start);
            let (sources, inferred) = match recorded.get(&node.row) {
                Some(sync) => (self.awaited(sync.awaited, node.end), false),
                None => self.awaited_by_name(node, called),
            };
            let Some(done) = sources.iter().map(|source| self.node(*source).end).max() else { continue };
            let after = node.start - done;
            // Giving memory back is work once the GPU is done; a call that only waits has nothing left to do.
            let works = self.view.trace.name(node.row).ends_with("Free");
            if done > called {
                let usual = (node.start - called).min(OWN_COST);
                own_cost[id as usize] = Some(if works { after.max(usual) } else { usual });
            }
            let lag = if works { after } else { after.min(RETURN) };
            for source in sources {
                let edge = Edge { from: source, from_end: true, why: Why::Synchronisation, inferred, lag };
                into.push((id, edge));
            }
        }
        own_cost
    }

    fn awaited(&self, awaited: Awaited, until: Ns) -> Vec<NodeId> {
        match awaited {
            Awaited::Event(source) => {
                let source = source.and_then(|row| self.node_of.get(row));
                source.filter(|source| self.node(*source).end <= until).into_iter().collect()
            }
            Awaited::Stream(stream) => self.last_done_on(stream, until).into_iter().collect(),
            Awaited::Device(device) => {
                let mut streams: Vec<StreamKey> =
                    self.streams.keys().copied().filter(|stream| stream.0 == device).collect();
                streams.sort_unstable();
                streams.into_iter().filter_map(|stream| self.last_done_on(stream, until)).collect()
            }
        }
    }

    fn awaited_by_name(&self, node: &Node, called: Ns) -> (Vec<NodeId>, bool) {
        let launched = self.view.index.launches(self.view.trace).launched(node.row);
        let own: Vec<NodeId> = launched
            .iter()
            .filter_map(|row| self.node_of.get(*row))
            .filter(|id| self.node(*id).end <= node.end)
            .collect();
        if !own.is_empty() {
            return (own, false);
        }
        // So short a call may just as well have had nothing to wait for, whatever ended meanwhile.
        if node.end - called <= RETURN {
            return (Vec::new(), true);
        }
        let done = self.by_end.partition_point(|(end, _)| *end <= node.end);
        let last = self.by_end[..done].last().filter(|(end, _)| *end > called);
        (last.map(|(_, id)| *id).into_iter().collect(), true)
    }

    fn last_done_on(&self, stream: StreamKey, until: Ns) -> Option<NodeId> {
        let nodes = self.streams.get(&stream)?;
        let begun = nodes.partition_point(|id| self.node(*id).start < until);
        nodes[..begun].iter().rev().copied().find(|id| self.node(*id).end <= until)
    }
}

fn stream_of(view: View<'_>, row: Row) -> StreamKey {
    (view.device(row), view.stream(row).unwrap_or(-1))
}

impl Usual {
    fn of(view: View<'_>, nodes: &[Node], streams: &FxHashMap<StreamKey, Vec<NodeId>>) -> Usual {
        let (mut latencies, mut gaps) = (Vec::new(), Vec::new());
        for stream in streams.values() {
            // What the first of a stream waited for may lie before the window.
            let Some(first) = stream.first() else { continue };
            let mut free = nodes[*first as usize].end;
            for node in stream[1..].iter().map(|id| &nodes[*id as usize]) {
                match view.launch_start(node.row) {
                    Some(called) if called >= free => latencies.push((node.start - called).max(Ns::ZERO)),
                    Some(_) => gaps.push((node.start - free).max(Ns::ZERO)),
                    None => {}
                }
                free = free.max(node.end);
            }
        }
        Usual {
            launch: quantile(&mut latencies, 4).unwrap_or(LAUNCH).min(MOST_LAUNCH),
            gap: quantile(&mut gaps, 2).unwrap_or_default().min(MOST_GAP),
        }
    }
}

/// The value below which one in `part` lies.
fn quantile(values: &mut [Ns], part: usize) -> Option<Ns> {
    let at = values.len() / part;
    (!values.is_empty()).then(|| *values.select_nth_unstable(at).1)
}

/// Without synchronisation rows: after `cudaStreamWaitEvent` the next launch on that thread goes to the stream that
/// waits, and the event was marked after the last launch on another stream.
fn waits_by_call_order(view: View<'_>) -> Vec<(Row, Row)> {
    #[derive(Clone, Copy)]
    enum Role {
        Record,
        Wait,
        Other,
    }
    let trace = view.trace;
    let launches = view.index.launches(trace);
    let mut roles: Vec<Option<Role>> = vec![None; trace.strings.len()];
    let mut calls: Vec<(ThreadId, Ns, Row, Role)> = Vec::new();
    for row in trace.rows().filter(|row| trace.class(*row).is_call()) {
        let Some((start, _)) = trace.span(row) else { continue };
        let name = trace.name_id(row);
        let role = *roles[name.index()].get_or_insert_with(|| {
            let name = trace.strings.get(name);
            if name.contains("EventRecord") {
                Role::Record
            } else if name.contains("StreamWaitEvent") {
                Role::Wait
            } else {
                Role::Other
            }
        });
        if !matches!(role, Role::Other) || launches.has_work(row) {
            calls.push((trace.track(row).thread, start, row, role));
        }
    }
    calls.sort_by_key(|(thread, start, row, _)| (*thread, *start, *row));
    let mut found = Vec::new();
    for thread in calls.chunk_by(|a, b| a.0 == b.0) {
        // The last launch, and the last one on another stream than that.
        let mut last: [Option<(StreamKey, Row)>; 2] = [None, None];
        let mut marked = last;
        let mut waiting = false;
        for &(_, _, row, role) in thread {
            match role {
                Role::Record => marked = last,
                Role::Wait => waiting = true,
                Role::Other => {
                    let Some(&work) = launches.launched(row).first() else { continue };
                    let stream = stream_of(view, work);
                    if std::mem::take(&mut waiting) {
                        let source = marked.iter().flatten().find(|(other, _)| *other != stream);
                        found.extend(source.map(|(_, source)| (work, *source)));
                    }
                    if last[0].is_some_and(|(other, _)| other != stream) {
                        last[1] = last[0];
                    }
                    last[0] = Some((stream, launches.launched(row).last().copied().unwrap_or(work)));
                }
            }
        }
    }
    found
}
