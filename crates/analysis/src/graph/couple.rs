//! Ranks joined by their collectives: nobody's transfer begins before everybody has arrived.

use gpuscope_trace::Ns;
use rustc_hash::FxHashMap;

use super::{Graph, NodeId};

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
}
