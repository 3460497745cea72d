//! Ranks joined by their collectives: nobody's transfer begins before everybody has arrived.

use std::sync::Arc;

use gpuscope_trace::{Kind, Ns, Row, View};
use rustc_hash::FxHashMap;

use super::replay::{Replayed, Scenario, lags};
use super::{Edge, Graph, Marks, Node, NodeId, What, Why, Window};
use crate::collectives::{Matched, Member, Part, RankParts};
use crate::model::clocks::Offsets;

/// One rank's graph, and which of its nodes are the rank's parts in collectives.
#[derive(Debug)]
pub(crate) struct RankGraph {
    pub graph: Graph,
    parts: Arc<RankParts>,
    /// By the place of the part; `NodeId::MAX` outside the window.
    node_of_part: Vec<NodeId>,
}

impl RankGraph {
    pub(crate) fn new(rank: u32, view: View<'_>, window: &Window, marks: &Marks<'_>) -> RankGraph {
        let graph = Graph::new(view, window, marks);
        let communicates = |node: &Node| node.what == What::Gpu(Kind::Communication);
        let nodes: FxHashMap<Row, NodeId> = graph
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| communicates(node))
            .map(|(id, node)| (node.row, id as NodeId))
            .collect();
        let events = view.gpu().filter(|event| event.kind == Kind::Communication);
        let node_of_part =
            events.map(|event| nodes.get(&event.row).copied().unwrap_or(NodeId::MAX)).collect();
        RankGraph { graph, parts: RankParts::of(rank, view), node_of_part }
    }
}

/// A node of one of several graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub graph: u32,
    pub node: NodeId,
}

/// The graphs of a job, with what ties them together.
#[derive(Debug, Default)]
pub(crate) struct Coupled {
    pub graphs: Vec<Graph>,
    /// What to add to a rank's times to have them on one clock.
    pub offsets: Vec<Ns>,
    /// Some collective lacks a member.
    incomplete: bool,
    meetings: Vec<Meeting>,
    meeting_of: Vec<FxHashMap<NodeId, u32>>,
}

/// The GPU events of one collective, all its members'.
#[derive(Debug)]
pub(crate) struct Meeting {
    pub places: Vec<Place>,
    /// When the last one arrived, on the common clock.
    pub all_there: Ns,
    pub last: Place,
}

impl Coupled {
    /// Graphs that have nothing to do with each other.
    pub(crate) fn apart(graphs: Vec<Graph>) -> Coupled {
        let ranks = graphs.len();
        Coupled {
            graphs,
            offsets: vec![Ns::ZERO; ranks],
            incomplete: false,
            meetings: Vec::new(),
            meeting_of: vec![FxHashMap::default(); ranks],
        }
    }

    /// Graphs whose collectives are matched, on one clock. Ranks whose clock drifts are put right for the middle of
    /// their window, which is exact enough for some steps.
    pub(crate) fn of(ranks: Vec<RankGraph>) -> Coupled {
        let matched = Matched::new(ranks.iter().map(|rank| &*rank.parts));
        let clocks = Offsets::of(&matched);
        // Of several inputs for one rank only the first is matched.
        let places = |member: &Member| ranks.iter().position(|rank| rank.parts.rank == member.rank);
        let graph_of: Vec<usize> = matched.ranks.iter().map(|member| places(member).unwrap_or(0)).collect();
        let mut offsets = vec![Ns::ZERO; ranks.len()];
        for (member, graph) in graph_of.iter().enumerate() {
            let base = Ns(matched.ranks[member].base_ns);
            let span = ranks[*graph].graph.span;
            let middle = Ns(span.start.0.midpoint(span.end.0)) + base;
            offsets[*graph] = clocks.aligned(member as u32, middle) - middle + base;
        }
        let reference = offsets.first().copied().unwrap_or_default();
        let mut graphs = Vec::new();
        let mut nodes = Vec::new();
        for rank in ranks {
            graphs.push(rank.graph);
            nodes.push(rank.node_of_part);
        }
        let mut coupled = Coupled::apart(graphs);
        coupled.offsets = offsets.into_iter().map(|offset| offset - reference).collect();
        for collective in matched.iter() {
            let place = |part: &Part| {
                let graph = graph_of[part.member as usize];
                let node = *nodes[graph].get(part.place as usize).filter(|node| **node != NodeId::MAX)?;
                Some(Place { graph: graph as u32, node })
            };
            let places: Option<Vec<Place>> = collective.parts().iter().map(place).collect();
            if let Some(places) = places.filter(|places| places.len() > 1 && coupled.all_waited(places)) {
                coupled.incomplete |= !collective.complete();
                coupled.meet(places);
            }
        }
        coupled
    }

    /// Whether nobody ended before everybody had begun; otherwise they did not wait for each other.
    fn all_waited(&self, places: &[Place]) -> bool {
        let end = |place: &Place| {
            let graph = place.graph as usize;
            self.graphs[graph].nodes[place.node as usize].end + self.offsets[graph]
        };
        let all_there = places.iter().map(|place| self.start(*place)).max();
        places.iter().map(end).min() >= all_there
    }

    /// Ties events of several graphs to one collective.
    pub(crate) fn meet(&mut self, places: Vec<Place>) {
        let arrived = |place: &Place| self.start(*place);
        let Some(last) = places.iter().copied().max_by_key(arrived) else { return };
        let all_there = arrived(&last);
        for place in &places {
            self.meeting_of[place.graph as usize].insert(place.node, self.meetings.len() as u32);
        }
        self.meetings.push(Meeting { places, all_there, last });
    }

    pub(crate) fn meeting(&self, place: Place) -> Option<&Meeting> {
        if self.meetings.is_empty() {
            return None;
        }
        let i = self.meeting_of[place.graph as usize].get(&place.node)?;
        Some(&self.meetings[*i as usize])
    }

    /// When it began, on the common clock.
    pub(crate) fn start(&self, place: Place) -> Ns {
        let graph = place.graph as usize;
        self.graphs[graph].nodes[place.node as usize].start + self.offsets[graph]
    }

    /// How long the transfer itself took on this rank; none if the event belongs to no meeting.
    pub(crate) fn transfer(&self, place: Place) -> Option<Ns> {
        let meeting = self.meeting(place)?;
        let node = &self.graphs[place.graph as usize].nodes[place.node as usize];
        let end = node.end + self.offsets[place.graph as usize];
        Some((end - meeting.all_there).max(Ns::ZERO).min(node.end - node.start))
    }

    /// Whether streams are only inferred to have waited for others.
    pub(crate) fn infers_waits(&self) -> bool {
        let is_inferred = |edge: &Edge| edge.inferred && edge.why == Why::Event;
        self.graphs.iter().flat_map(|graph| &graph.edges).any(is_inferred)
    }

    /// Whether some communication has no counterpart here.
    pub(crate) fn lone_communication(&self) -> bool {
        let is_lone = |(graph, nodes): (usize, &Vec<Node>)| {
            let communicates = |node: &Node| node.what == What::Gpu(Kind::Communication);
            nodes
                .iter()
                .enumerate()
                .any(|(id, node)| communicates(node) && !self.meeting_of[graph].contains_key(&(id as NodeId)))
        };
        self.incomplete || self.graphs.iter().map(|graph| &graph.nodes).enumerate().any(is_lone)
    }

    /// The same job with other times.
    pub(crate) fn retimed(&self, replayed: &[Replayed], scenario: &Scenario) -> Coupled {
        let graph = |(i, graph): (usize, &Graph)| {
            let times = &replayed[i];
            let node =
                |(id, node): (usize, &Node)| Node { start: times.start[id], end: times.end[id], ..*node };
            let mut edges = graph.edges.clone();
            for (edge, lag) in edges.iter_mut().zip(lags(graph, i, scenario)) {
                edge.lag = lag;
            }
            let nodes: Vec<Node> = graph.nodes.iter().enumerate().map(node).collect();
            let end = nodes.iter().map(|node| node.end).max().unwrap_or(graph.span.start);
            let span = gpuscope_trace::Interval::new(graph.span.start, end);
            Graph { span, nodes, edges, host_parts: Vec::new(), host_end: graph.host_end }
        };
        let graphs = self.graphs.iter().enumerate().map(graph).collect();
        let mut retimed = Coupled::apart(graphs);
        retimed.offsets.clone_from(&self.offsets);
        for meeting in &self.meetings {
            retimed.meet(meeting.places.clone());
        }
        retimed
    }
}
