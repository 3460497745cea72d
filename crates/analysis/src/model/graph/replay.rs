//! The same graph, re-timed: when would everything have happened if some of it had taken another time?

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use gpuscope_trace::{Kind, Ns};

use super::couple::{Coupled, Place};
use super::{Edge, Graph, Hold, Node, NodeId, What, Why};

/// Up to this, what lies between a launch and a kernel is the price of launching.
const LAUNCHING: Ns = Ns(30_000);

/// A host that takes longer from one launch to the next does something else, which fusing kernels does not save.
const NEXT_LAUNCH: Ns = Ns(200_000);

/// How communication that no other rank answers for is taken: its waiting is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Alone {
    /// All of it is transfer.
    #[default]
    Transfers,
    /// All of it is waiting, which no change here shortens.
    Waits,
}

/// What would be different.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a change of its own that a user can ask for")]
pub(crate) struct Scenario {
    /// For each mark, what its time is multiplied with.
    pub factors: Vec<f64>,
    /// The same for what is part of the first step, if that is different.
    pub first_factors: Option<Vec<f64>>,
    /// For each graph and node of it; empty for no change. A return with 0 waits for nothing, and a launch with 0 is
    /// gone, with what its thread did since the one before.
    pub node_factors: Vec<Vec<f32>>,
    /// The same for a few nodes: graph, node and factor.
    pub few_factors: Vec<(u32, NodeId, f32)>,
    /// For each graph, what its threads' own work is multiplied with; empty for no change.
    pub host_factors: Vec<f64>,
    pub no_launch_overhead: bool,
    pub no_sync: bool,
    /// Calls with these marks do not wait for the GPU.
    pub not_awaited: u32,
    /// Launches with these marks cost the host nothing, nor does what it did since the one before.
    pub fused: u32,
    /// Calls that come at once: what their thread did before them, however long, takes no time. Graph and node.
    pub at_once: Vec<(u32, NodeId)>,
    /// Nothing but the communication after it on its stream waits for GPU work of these marks.
    pub hidden: u32,
    /// By group of ranks: what its transfers are multiplied with, and whether nothing waits for them.
    pub groups: Vec<GroupChange>,
    pub no_delays: bool,
    /// Streams that are only inferred to have waited for others wait as long as they did.
    pub keep_inferred: bool,
    pub alone: Alone,
}

/// What would be different about the communication of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupChange {
    pub factor: f64,
    pub hidden: bool,
}

impl Default for GroupChange {
    fn default() -> Self {
        GroupChange { factor: 1.0, hidden: false }
    }
}

impl Scenario {
    /// Communication of one group is different.
    pub(crate) fn of_group(group: u16, change: GroupChange) -> Scenario {
        let mut groups = vec![GroupChange::default(); usize::from(group) + 1];
        groups[usize::from(group)] = change;
        Scenario { groups, ..Scenario::default() }
    }

    /// Work of one mark takes so much of its time.
    pub(crate) fn scaling(mark: u32, factor: f64) -> Scenario {
        let place = mark.trailing_zeros() as usize;
        let mut factors = vec![1.0; place + 1];
        factors[place] = factor;
        Scenario { factors, ..Scenario::default() }
    }

    /// With the factors of a few nodes among those of all, for a replay.
    pub(crate) fn spread_out(&self, coupled: &Coupled) -> Cow<'_, Scenario> {
        if self.few_factors.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut scenario = self.clone();
        scenario.node_factors.resize(coupled.graphs.len(), Vec::new());
        for (graph, node, factor) in std::mem::take(&mut scenario.few_factors) {
            let factors = &mut scenario.node_factors[graph as usize];
            factors.resize(coupled.graphs[graph as usize].nodes.len(), 1.0);
            factors[node as usize] *= factor;
        }
        Cow::Owned(scenario)
    }

    /// Both at once.
    #[must_use]
    pub(crate) fn and(mut self, other: &Scenario) -> Scenario {
        multiply(&mut self.factors, &other.factors, 1.0);
        multiply(&mut self.host_factors, &other.host_factors, 1.0);
        if self.node_factors.len() < other.node_factors.len() {
            self.node_factors.resize(other.node_factors.len(), Vec::new());
        }
        for (own, others) in self.node_factors.iter_mut().zip(&other.node_factors) {
            multiply(own, others, 1.0);
        }
        self.few_factors.extend_from_slice(&other.few_factors);
        self.at_once.extend_from_slice(&other.at_once);
        self.no_launch_overhead |= other.no_launch_overhead;
        self.no_sync |= other.no_sync;
        self.no_delays |= other.no_delays;
        self.not_awaited |= other.not_awaited;
        self.fused |= other.fused;
        self.hidden |= other.hidden;
        if self.groups.len() < other.groups.len() {
            self.groups.resize(other.groups.len(), GroupChange::default());
        }
        for (own, other) in self.groups.iter_mut().zip(&other.groups) {
            own.factor *= other.factor;
            own.hidden |= other.hidden;
        }
        self
    }

    /// Whether work of some marks takes less time, and none more.
    pub(crate) fn shortens(&self) -> bool {
        let has_others = !(self.node_factors.is_empty() && self.host_factors.is_empty());
        !self.factors.is_empty() && !has_others && self.factors.iter().all(|factor| *factor <= 1.0)
    }

    fn group(&self, node: &Node) -> GroupChange {
        self.groups.get(usize::from(node.group)).copied().filter(|_| node.group != 0).unwrap_or_default()
    }

    fn hides(&self, node: &Node) -> bool {
        node.marks & self.hidden != 0 || self.group(node).hidden
    }

    /// Whether a launch is gone, with what its thread did since the one before.
    fn is_fused(&self, place: Place, node: &Node) -> bool {
        node.what == What::Call && (node.marks & self.fused != 0 || self.node_factor(place) == 0.0)
    }

    fn factor(&self, node: &Node, marks: u32) -> f64 {
        if marks == 0 {
            return 1.0;
        }
        let each = self.factors_of(node).iter().enumerate().filter(|(mark, _)| marks >> mark & 1 == 1);
        each.map(|(_, factor)| *factor).product()
    }

    fn factors_of(&self, node: &Node) -> &[f64] {
        match &self.first_factors {
            Some(factors) if node.hold == Hold::First => factors,
            _ => &self.factors,
        }
    }

    fn of_node(&self, place: Place, node: &Node) -> f64 {
        if node.marks == 0 && node.group == 0 && self.node_factors.is_empty() {
            return 1.0;
        }
        self.factor(node, node.marks) * self.group(node).factor * self.node_factor(place)
    }

    fn node_factor(&self, place: Place) -> f64 {
        let own = self.node_factors.get(place.graph as usize).and_then(|of| of.get(place.node as usize));
        own.map_or(1.0, |factor| f64::from(*factor))
    }
}

fn multiply<T: Copy + std::ops::MulAssign>(own: &mut Vec<T>, others: &[T], one: T) {
    if own.len() < others.len() {
        own.resize(others.len(), one);
    }
    for (own, other) in own.iter_mut().zip(others) {
        *own *= *other;
    }
}

/// When every node of a graph begins and ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replayed {
    pub start: Vec<Ns>,
    pub end: Vec<Ns>,
}

pub(crate) fn replay(coupled: &Coupled, scenario: &Scenario) -> Vec<Replayed> {
    let empty = |graph: &Graph| Replayed {
        start: vec![Ns::ZERO; graph.nodes.len()],
        end: vec![Ns::ZERO; graph.nodes.len()],
    };
    let mut state = State {
        coupled,
        scenario,
        lags: coupled.graphs.iter().enumerate().map(|(i, graph)| lags(graph, i, scenario)).collect(),
        times: coupled.graphs.iter().map(empty).collect(),
    };
    state.run();
    state.times
}

/// When the host of a graph is done if it never waits for the GPU.
pub(crate) fn host_alone(graph: &Graph, i: usize, scenario: &Scenario) -> Option<Ns> {
    let end = graph.host_end?;
    let (lags, mut times) = (lags(graph, i, scenario), vec![graph.span.start; end as usize + 1]);
    for id in 0..=end {
        let node = &graph.nodes[id as usize];
        if matches!(node.what, What::Gpu(_)) {
            continue;
        }
        if node.hold == Hold::Whole {
            times[id as usize] = node.start;
            continue;
        }
        let mut start = None;
        for at in graph.edge_range(id) {
            let edge = &graph.edges[at];
            if matches!(edge.why, Why::Thread | Why::Handover) {
                let from = &graph.nodes[edge.from as usize];
                let ran = match edge.from_end {
                    true if from.hold == Hold::Whole => from.end - from.start,
                    true => call_time(from, edge.from, i, scenario),
                    false => Ns::ZERO,
                };
                start = start.max(Some(times[edge.from as usize] + ran + lags[at]));
            }
        }
        times[id as usize] = start.unwrap_or(node.start);
    }
    Some(times[end as usize])
}

/// What a node on the host takes itself.
fn call_time(node: &Node, id: NodeId, graph: usize, scenario: &Scenario) -> Ns {
    let place = Place { graph: graph as u32, node: id };
    if node.what != What::Call || scenario.no_launch_overhead || scenario.is_fused(place, node) {
        return if node.what == What::Call { Ns::ZERO } else { node.end - node.start };
    }
    let all = scenario.host_factors.get(graph).copied().unwrap_or(1.0);
    scaled(node.end - node.start, all * scenario.factor(node, node.host_marks))
}

/// What the lags of edges become: host work of a mark shrinks or grows with it.
pub(super) fn lags(graph: &Graph, i: usize, scenario: &Scenario) -> Vec<Ns> {
    let all = scenario.host_factors.get(i).copied().unwrap_or(1.0);
    let mut lags: Vec<Ns> = graph
        .edges
        .iter()
        .map(|edge| match edge.why {
            Why::Thread => scaled(edge.lag, all),
            Why::Launch if scenario.no_launch_overhead => Ns::ZERO.min(edge.lag),
            _ => edge.lag,
        })
        .collect();
    if scenario.fused != 0 || scenario.node_factors.get(i).is_some_and(|factors| !factors.is_empty()) {
        for (id, node) in graph.nodes.iter().enumerate() {
            if scenario.is_fused(Place { graph: i as u32, node: id as NodeId }, node) {
                let edges = graph.edge_range(id as NodeId);
                let short = |edge: &Edge| edge.why == Why::Thread && edge.lag <= NEXT_LAUNCH;
                for i in edges.filter(|i| short(&graph.edges[*i])) {
                    lags[i] = Ns::ZERO;
                }
            }
        }
    }
    let mut node = 0;
    for part in &graph.host_parts {
        // Parts come in the order of edges, and edges in that of the nodes they lead to.
        while graph.edge_range(node).end <= part.edge as usize {
            node += 1;
        }
        let factors = scenario.factors_of(&graph.nodes[node as usize]);
        let factor = factors.get(part.mark as usize).copied().unwrap_or(1.0);
        let lag = &mut lags[part.edge as usize];
        *lag = (*lag - part.time + scaled(part.time, factor)).max(Ns::ZERO);
    }
    for (_, node) in scenario.at_once.iter().filter(|(graph, _)| *graph as usize == i) {
        for edge in graph.edge_range(*node).filter(|edge| graph.edges[*edge].why == Why::Thread) {
            lags[edge] = Ns::ZERO;
        }
    }
    lags
}

/// Whether the way from the host to the GPU may be what held the work up.
fn is_launched_just_before(graph: &Graph, node: NodeId) -> bool {
    let start = graph.nodes[node as usize].start;
    let launch = graph.edges_into(node).iter().find(|edge| edge.why == Why::Launch);
    launch.is_some_and(|edge| start - graph.reached(edge) <= edge.lag + LAUNCHING)
}

fn scaled(time: Ns, factor: f64) -> Ns {
    // Floats hold times up to 104 days to the nanosecond; what does not change must not change at all.
    if (factor - 1.0).abs() < f64::EPSILON { time } else { Ns((time.as_f64() * factor).round() as i64) }
}

struct State<'a> {
    coupled: &'a Coupled,
    scenario: &'a Scenario,
    lags: Vec<Vec<Ns>>,
    times: Vec<Replayed>,
}

impl State<'_> {
    /// Nodes of all graphs in the recorded order, so that everybody's arrival is known before a meeting ends.
    fn run(&mut self) {
        let start = |place: Place| Reverse((self.coupled.start(place), place.graph, place.node));
        let first = |graph: usize| {
            let some = !self.coupled.graphs[graph].nodes.is_empty();
            some.then(|| start(Place { graph: graph as u32, node: 0 }))
        };
        let mut next: BinaryHeap<_> = (0..self.coupled.graphs.len()).filter_map(first).collect();
        while let Some(Reverse((_, graph, node))) = next.pop() {
            // The others' next bounds how far this one may go on by itself.
            let until = next.peek().map(|Reverse((time, _, _))| *time);
            let nodes = self.coupled.graphs[graph as usize].nodes.len() as NodeId;
            let mut node = node;
            loop {
                self.time(Place { graph, node });
                node += 1;
                if node == nodes {
                    break;
                }
                let Some(until) = until else { continue };
                let begins = self.coupled.start(Place { graph, node });
                if begins > until {
                    next.push(Reverse((begins, graph, node)));
                    break;
                }
            }
        }
    }

    fn time(&mut self, place: Place) {
        let graph = &self.coupled.graphs[place.graph as usize];
        let node = &graph.nodes[place.node as usize];
        if node.hold == Hold::Whole {
            let times = &mut self.times[place.graph as usize];
            (times.start[place.node as usize], times.end[place.node as usize]) = (node.start, node.end);
            self.close_meeting(place);
            return;
        }
        let times = &self.times[place.graph as usize];
        let mut ready: Option<Ns> = None;
        let mut lifted: Option<Ns> = None;
        for i in graph.edge_range(place.node) {
            let edge = &graph.edges[i];
            if self.is_lifted(place, node, edge) {
                lifted = lifted.max(Some(graph.reached(edge) + edge.lag));
                continue;
            }
            let from = edge.from as usize;
            let mut reached = if edge.from_end { times.end[from] } else { times.start[from] };
            if self.scenario.keep_inferred && edge.inferred && edge.why == Why::Event {
                reached = reached.max(graph.reached(edge));
            }
            ready = Some(ready.unwrap_or(Ns(i64::MIN)).max(reached + self.lags[place.graph as usize][i]));
        }
        // Whatever else delayed a wait is gone with it. What waits for nothing inside the window begins as it did.
        let lifted = lifted.is_some_and(|ready| ready + node.delay >= node.start);
        let delay = if lifted { Ns::ZERO } else { self.delay(graph, place.node) };
        let mut start = ready.map_or(node.start, |ready| ready + delay);
        if node.hold == Hold::Start {
            start = start.max(node.start);
        }
        let end = self.end(place, node, start);
        let times = &mut self.times[place.graph as usize];
        (times.start[place.node as usize], times.end[place.node as usize]) = (start, end);
        if matches!(node.what, What::Gpu(_)) {
            self.close_meeting(place);
        }
    }

    fn is_lifted(&self, place: Place, node: &Node, edge: &Edge) -> bool {
        let graph = &self.coupled.graphs[place.graph as usize];
        match edge.why {
            Why::Synchronisation => {
                self.scenario.no_sync
                    || node.marks & self.scenario.not_awaited != 0
                    || self.scenario.node_factor(place) == 0.0
                    || self.is_hidden(graph, edge)
            }
            Why::Event => self.is_hidden(graph, edge),
            _ => false,
        }
    }

    fn is_hidden(&self, graph: &Graph, edge: &Edge) -> bool {
        self.scenario.hides(&graph.nodes[edge.from as usize])
    }

    fn delay(&self, graph: &Graph, node: NodeId) -> Ns {
        let delay = graph.nodes[node as usize].delay;
        if self.scenario.no_delays {
            Ns::ZERO
        } else if self.scenario.no_launch_overhead && is_launched_just_before(graph, node) {
            (delay - LAUNCHING).max(Ns::ZERO)
        } else {
            delay
        }
    }

    /// When a node ends, the meeting of a collective left aside.
    fn end(&self, place: Place, node: &Node, start: Ns) -> Ns {
        let end = start + self.duration(place, node);
        // Others come no sooner because nobody here waits for them any more.
        let waits_for_absent = self.scenario.alone == Alone::Waits
            && node.what == What::Gpu(Kind::Communication)
            && self.scenario.hides(node);
        if waits_for_absent { end.max(node.end) } else { end }
    }

    fn duration(&self, place: Place, node: &Node) -> Ns {
        let recorded = node.end - node.start;
        match node.what {
            What::Call => call_time(node, place.node, place.graph as usize, self.scenario),
            What::Return | What::Moment => recorded,
            What::Gpu(Kind::Communication) if self.scenario.alone == Alone::Waits => recorded,
            What::Gpu(_) => scaled(recorded, self.scenario.of_node(place, node)),
        }
    }

    /// Once all are there, a collective ends for each as long after the last arrival as it took then.
    fn close_meeting(&mut self, place: Place) {
        let Some(meeting) = self.coupled.meeting(place).filter(|meeting| meeting.last == place) else {
            return;
        };
        let on_common_clock = |place: &Place| {
            self.times[place.graph as usize].start[place.node as usize]
                + self.coupled.offsets[place.graph as usize]
        };
        let Some(all_there) = meeting.places.iter().map(on_common_clock).max() else { return };
        for member in &meeting.places {
            let Some(transfer) = self.coupled.transfer(*member) else { continue };
            let node = &self.coupled.graphs[member.graph as usize].nodes[member.node as usize];
            if node.hold == Hold::Whole {
                continue;
            }
            let end = all_there - self.coupled.offsets[member.graph as usize]
                + scaled(transfer, self.scenario.of_node(*member, node));
            let times = &mut self.times[member.graph as usize];
            let start = times.start[member.node as usize];
            times.end[member.node as usize] = end.max(start);
        }
    }
}
