//! The longest path as HTA weighs it, for comparison.
//!
//! Every operator, call and GPU event has a start and an end node. Time passes along nested host nodes, along
//! GPU events, from a launch to a kernel that found its stream empty, and between kernels that follow each other;
//! other dependencies, and waiting between top-level host events, weigh nothing. The path is therefore not
//! contiguous, and its weight is less than the window.

use gpuscope_trace::{Class, Interval, Kind, Ns, Row, View};
use rustc_hash::{FxHashMap, FxHashSet};

use super::dag::{Dag, Edge};
use super::{Bounds, PathEvent};
use crate::idle::Causes;
use crate::model::syncs::{self, Awaited, StreamKey, Sync};

/// Kernels further apart than this do not follow each other.
const FOLLOWS_WITHIN: Ns = Ns(1_500_000);

#[derive(Debug)]
pub(super) struct Weighed {
    pub path: Ns,
    pub bounds: Bounds,
    pub events: Vec<PathEvent>,
}

/// What the time of an edge is spent on.
#[derive(Clone, Copy)]
enum Spent {
    Host(Row),
    Gpu(Row, Kind),
    Launch(Row),
    BetweenKernels(Row),
    Nothing,
}

#[derive(Clone, Copy)]
struct Event {
    row: Row,
    start: Ns,
    end: Ns,
}

pub(super) fn weigh(view: View<'_>, window: Interval) -> Weighed {
    let mut graph = Graph::new(view, window);
    graph.hold_the_runtime_lock();
    graph.follow_call_stacks();
    graph.follow_streams();
    graph.longest_path()
}

struct Graph<'a> {
    view: View<'a>,
    window: Interval,
    events: Vec<Event>,
    /// Events from here on ran on a GPU.
    first_gpu: usize,
    gpu_kinds: Vec<Kind>,
    event_of: EventOf,
    edges: Vec<Edge<Spent>>,
}

/// The event of each row that has one.
struct EventOf(Vec<u32>);

impl EventOf {
    fn get(&self, row: Row) -> Option<usize> {
        Some(self.0[row as usize]).filter(|event| *event != u32::MAX).map(|event| event as usize)
    }
}

fn start_of(event: usize) -> u32 {
    event as u32 * 2
}

fn end_of(event: usize) -> u32 {
    event as u32 * 2 + 1
}

fn is_end(node: u32) -> bool {
    node % 2 == 1
}

impl<'a> Graph<'a> {
    fn new(view: View<'a>, window: Interval) -> Graph<'a> {
        let trace = view.trace;
        let begins_inside = |row| {
            let (start, end) = trace.span(row)?;
            (window.start <= start && start <= window.end && start < end).then_some(Event { row, start, end })
        };
        let is_node =
            |row: &Row| matches!(trace.class(*row), Class::Operator | Class::Runtime | Class::Driver);
        let mut events: Vec<Event> = trace.rows().filter(is_node).filter_map(begins_inside).collect();
        let first_gpu = events.len();
        let mut gpu_kinds = Vec::new();
        for event in view.gpu() {
            if view.launch(event.row).is_some_and(|call| begins_inside(call).is_some()) {
                events.push(Event { row: event.row, start: event.start, end: event.end });
                gpu_kinds.push(event.kind);
            }
        }
        let mut event_of = EventOf(vec![u32::MAX; trace.len()]);
        for (i, event) in events.iter().enumerate() {
            event_of.0[event.row as usize] = i as u32;
        }
        Graph { view, window, events, first_gpu, gpu_kinds, event_of, edges: Vec::new() }
    }

    fn name(&self, event: usize) -> &'a str {
        self.view.trace.name(self.events[event].row)
    }

    fn time(&self, node: u32) -> Ns {
        let event = &self.events[node as usize / 2];
        if is_end(node) { event.end } else { event.start }
    }

    fn link(&mut self, from: u32, to: u32, spent: Spent) {
        let weight = match spent {
            Spent::Nothing => Ns::ZERO,
            _ => (self.time(to) - self.time(from)).max(Ns::ZERO),
        };
        self.edges.push(Edge { from, to, weight, what: spent });
    }

    fn takes_lock(&self, event: usize) -> bool {
        matches!(self.name(event), "cudaHostAlloc" | "cudaLaunchKernel" | "cudaMemcpyAsync")
    }

    /// Some calls exclude one another, whatever thread they are on.
    fn hold_the_runtime_lock(&mut self) {
        let mut nodes: Vec<(Ns, Row, u32)> = Vec::new();
        for event in (0..self.first_gpu).filter(|event| self.takes_lock(*event)) {
            let Event { row, start, end } = self.events[event];
            nodes.extend([(start, row, start_of(event)), (end, row, end_of(event))]);
        }
        nodes.sort_unstable();
        let mut waiting: Vec<u32> = Vec::new();
        let mut last: Option<u32> = None;
        for (_, row, node) in nodes {
            if let Some(last) = last.filter(|last| is_end(*last)) {
                self.link(last, node, Spent::Nothing);
            }
            if is_end(node) {
                for start in std::mem::take(&mut waiting) {
                    let own = start + 1 == node;
                    self.link(start, node, if own { Spent::Host(row) } else { Spent::Nothing });
                }
            } else {
                waiting.push(node);
            }
            last = Some(node);
        }
    }

    fn follow_call_stacks(&mut self) {
        let trace = self.view.trace;
        let joined = self.backward_joins_forward();
        let thread = |event: &Event| {
            let own = trace.track(event.row).thread;
            if joined.is_some_and(|(backward, _)| backward == own) {
                joined.map_or(own, |j| j.1)
            } else {
                own
            }
        };
        let mut order: Vec<usize> = (0..self.first_gpu).collect();
        order.sort_by_key(|i| {
            let event = &self.events[*i];
            (thread(event), event.start, std::cmp::Reverse(event.end), event.row)
        });
        let threads: Vec<Vec<usize>> = order
            .chunk_by(|a, b| thread(&self.events[*a]) == thread(&self.events[*b]))
            .map(<[usize]>::to_vec)
            .collect();
        for events in threads {
            self.follow_call_stack(&events);
        }
    }

    fn follow_call_stack(&mut self, events: &[usize]) {
        let mut open: Vec<usize> = Vec::new();
        let mut last: Option<u32> = None;
        for &event in events {
            while let Some(done) = open.pop_if(|open| self.events[*open].end <= self.events[event].start) {
                self.leave(done, &mut last);
            }
            if let Some(last) = last {
                let spent =
                    open.last().map_or(Spent::Nothing, |around| Spent::Host(self.events[*around].row));
                self.link_host(last, start_of(event), spent);
            }
            last = Some(start_of(event));
            open.push(event);
        }
        while let Some(done) = open.pop() {
            self.leave(done, &mut last);
        }
    }

    fn leave(&mut self, event: usize, last: &mut Option<u32>) {
        let spent = if self.blocks(event) { Spent::Nothing } else { Spent::Host(self.events[event].row) };
        if let Some(last) = last.replace(end_of(event)) {
            self.link_host(last, end_of(event), spent);
        }
    }

    fn link_host(&mut self, from: u32, to: u32, spent: Spent) {
        let both_lock = self.takes_lock(from as usize / 2) && self.takes_lock(to as usize / 2);
        let one_after_another = is_end(from) && !is_end(to);
        if !both_lock || one_after_another {
            self.link(from, to, spent);
        }
    }

    fn blocks(&self, event: usize) -> bool {
        matches!(
            self.name(event),
            "cudaDeviceSynchronize"
                | "cudaStreamSynchronize"
                | "cudaEventQuery"
                | "cudaEventSynchronize"
                | "cudaMemcpy"
                | "cudaMemcpyAsync"
        )
    }

    /// A thread of its own for the backward pass carries on where the forward one stopped.
    fn backward_joins_forward(&self) -> Option<(gpuscope_trace::ThreadId, gpuscope_trace::ThreadId)> {
        let trace = self.view.trace;
        let inside = |row: &Row| {
            matches!(trace.class(*row), Class::Operator | Class::Annotation)
                && trace
                    .start(*row)
                    .is_some_and(|start| self.window.start <= start && start <= self.window.end)
        };
        let (mut backward, mut forward) = (FxHashSet::default(), FxHashSet::default());
        for row in trace.rows().filter(inside) {
            let name = trace.name(row);
            if name.contains("autograd") {
                backward.insert(trace.track(row).thread);
            }
            if name.contains("forward") {
                forward.insert(trace.track(row).thread);
            }
        }
        let only = |threads: &FxHashSet<_>| (threads.len() == 1).then(|| threads.iter().next().copied())?;
        only(&backward).zip(only(&forward)).filter(|(backward, forward)| backward != forward)
    }

    fn follow_streams(&mut self) {
        let found_empty = self.found_their_stream_empty();
        let syncs = self.syncs_inside();
        let mut held_back: FxHashMap<Row, usize> = FxHashMap::default();
        let mut last_on: FxHashMap<StreamKey, usize> = FxHashMap::default();
        let mut syncs = syncs.into_iter().peekable();
        for event in self.first_gpu..self.events.len() {
            let Event { row, start, .. } = self.events[event];
            while let Some((_, sync)) = syncs.next_if(|(end, _)| *end <= start) {
                self.synchronise(sync, &last_on, &mut held_back);
            }
            let kind = self.gpu_kinds[event - self.first_gpu];
            self.link(start_of(event), end_of(event), Spent::Gpu(row, kind));
            let Some(stream) = self.view.stream(row) else { continue };
            let last = last_on.insert((self.view.device(row), stream), event);
            let source = held_back.remove(&row);
            self.link_kernel(event, last, source, found_empty.contains(&row));
        }
        for (_, sync) in syncs {
            self.synchronise(sync, &last_on, &mut held_back);
        }
    }

    fn link_kernel(&mut self, event: usize, last: Option<usize>, source: Option<usize>, found_empty: bool) {
        let Event { row, start, .. } = self.events[event];
        let end = |event: usize| self.events[event].end;
        let launch = self.view.launch(row).and_then(|call| self.event_of.get(call));
        if let Some(launch) = launch.filter(|launch| {
            let launched = self.events[*launch].start;
            found_empty && [last, source].iter().flatten().all(|before| end(*before) < launched)
        }) {
            self.link(start_of(launch), start_of(event), Spent::Launch(row));
        } else if let Some(last) = last.filter(|last| {
            start - end(*last) < FOLLOWS_WITHIN && source.is_none_or(|source| end(source) < end(*last))
        }) {
            self.link(end_of(last), start_of(event), Spent::BetweenKernels(row));
        }
        if let Some(source) = source {
            self.link(end_of(source), start_of(event), Spent::Nothing);
        }
    }

    fn synchronise(
        &mut self,
        sync: Sync,
        last_on: &FxHashMap<StreamKey, usize>,
        held_back: &mut FxHashMap<Row, usize>,
    ) {
        if let Some(held) = sync.held_back {
            if let Awaited::Event(Some(source)) = sync.awaited
                && let Some(source) = self.event_of.get(source)
            {
                held_back.insert(held, source);
            }
            return;
        }
        let Some(call) = sync.call.and_then(|call| self.event_of.get(call)) else { return };
        let awaited: Vec<usize> = match sync.awaited {
            Awaited::Event(source) => source.and_then(|row| self.event_of.get(row)).into_iter().collect(),
            Awaited::Stream(stream) => last_on.get(&stream).copied().into_iter().collect(),
            Awaited::Device(device) => {
                last_on.iter().filter(|((d, _), _)| *d == device).map(|(_, last)| *last).collect()
            }
        };
        for event in awaited {
            if self.events[event].end <= self.events[call].end {
                self.link(end_of(event), end_of(call), Spent::Nothing);
            }
        }
    }

    /// Synchronisation of this window, by its end.
    fn syncs_inside(&self) -> Vec<(Ns, Sync)> {
        let trace = self.view.trace;
        let inside = |sync: &Sync| {
            sync.held_back.is_some() || sync.call.is_some_and(|call| self.event_of.get(call).is_some())
        };
        let mut syncs: Vec<(Ns, Sync)> = syncs::recorded(self.view)
            .iter()
            .copied()
            .filter(inside)
            .filter_map(|sync| Some((trace.span(sync.row)?.1, sync)))
            .collect();
        syncs.sort_by_key(|(end, _)| *end);
        syncs
    }

    /// GPU events whose stream had nothing before them when they were launched, and nothing behind them when
    /// they started.
    fn found_their_stream_empty(&self) -> FxHashSet<Row> {
        let view = self.view;
        let mut streams: FxHashMap<StreamKey, Vec<(Ns, Ns, Row)>> = FxHashMap::default();
        for event in view.gpu() {
            if let (Some(stream), Some(launched)) = (view.stream(event.row), view.launch_start(event.row)) {
                let key = (view.device(event.row), stream);
                streams.entry(key).or_default().push((launched, event.start, event.row));
            }
        }
        let mut found = FxHashSet::default();
        for events in streams.values_mut() {
            let starts: Vec<Ns> = events.iter().map(|(_, start, _)| *start).collect();
            let position: FxHashMap<Row, usize> =
                events.iter().enumerate().map(|(i, event)| (event.2, i)).collect();
            events.sort_by_key(|(launched, _, _)| *launched);
            for (i, (launched, start, row)) in events.iter().enumerate() {
                let at_launch = i + 1 - starts.partition_point(|other| other < launched).min(i + 1);
                let launched_by_then = events.partition_point(|(other, _, _)| other <= start);
                if at_launch == 1 && launched_by_then == position[row] + 1 {
                    found.insert(*row);
                }
            }
        }
        found
    }

    fn longest_path(self) -> Weighed {
        let path = Dag::new(self.events.len() * 2, self.edges).longest_path();
        let mut causes = Causes::new(self.view);
        let mut weighed = Weighed { path: Ns::ZERO, bounds: Bounds::default(), events: Vec::new() };
        for edge in path {
            let (row, bound) = match edge.what {
                Spent::Nothing => continue,
                Spent::Host(row) => (row, super::host_bound(&mut causes, row)),
                Spent::Gpu(row, kind) => (row, super::gpu_bound(kind)),
                Spent::Launch(row) => (row, super::Bound::KernelLaunch),
                Spent::BetweenKernels(row) => (row, super::Bound::KernelKernel),
            };
            weighed.path += edge.weight;
            weighed.bounds.add(bound, edge.weight);
            weighed.events.push(PathEvent::new(self.view, row, bound, edge.weight));
        }
        weighed
    }
}
