//! Ranks joined by their collectives: nobody's transfer begins before everybody has arrived.

use gpuscope_trace::{Kind, Ns};
use rustc_hash::FxHashMap;

use super::replay::{Replayed, Scenario, lags};
use super::{Graph, Node, NodeId, What};

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
            meetings: Vec::new(),
            meeting_of: vec![FxHashMap::default(); ranks],
        }
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

    /// Whether some communication has no counterpart here.
    pub(crate) fn lone_communication(&self) -> bool {
        let is_lone = |(graph, nodes): (usize, &Vec<Node>)| {
            let communicates = |node: &Node| node.what == What::Gpu(Kind::Communication);
            nodes
                .iter()
                .enumerate()
                .any(|(id, node)| communicates(node) && !self.meeting_of[graph].contains_key(&(id as NodeId)))
        };
        self.graphs.iter().map(|graph| &graph.nodes).enumerate().any(is_lone)
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
        let mut retimed = Coupled { offsets: self.offsets.clone(), ..Coupled::apart(graphs) };
        for meeting in &self.meetings {
            retimed.meet(meeting.places.clone());
        }
        retimed
    }
}
