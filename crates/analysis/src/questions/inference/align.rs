//! Which node of a captured graph each replayed event is.
//!
//! Of the graphs captured, the one that shares most kernels with the replay; of equal ones that of the smallest batch
//! which holds the step's requests; of still equal ones (the pieces of a model captured layer by layer) the n-th for
//! the n-th replay in the step. If graph and replay have as many events and no name contradicts, events are nodes in
//! order. Else the n-th kernel of a name is the n-th node of that name: streams may run side by side, but on each the
//! order is that of the capture.

use rustc_hash::FxHashMap;

use super::capture::{Captures, Graph};

/// A name that no capture has.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// Graphs tried for a replay that none fits exactly.
const MOST_TRIED: usize = 64;

/// One replay: the names of its events in order, as places in [`Captures::names`], and its step's requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replay<'a> {
    pub(super) names: &'a [u32],
    pub(super) requests: Option<i64>,
    /// How many replays of the same events came before it in its step.
    pub(super) nth: usize,
}

pub(super) struct Aligner<'c> {
    captures: &'c Captures,
    by_len: FxHashMap<usize, Vec<u32>>,
    /// The nodes of each name, for every graph that was needed.
    by_name: FxHashMap<u32, FxHashMap<u32, Vec<u32>>>,
    /// The best graphs for the replays seen, by their names in any order and by requests.
    chosen: FxHashMap<(u64, Option<i64>), Vec<u32>>,
}

impl<'c> Aligner<'c> {
    pub(super) fn new(captures: &'c Captures) -> Aligner<'c> {
        let mut by_len: FxHashMap<usize, Vec<u32>> = FxHashMap::default();
        for (number, graph) in (0..).zip(&captures.graphs) {
            by_len.entry(graph.nodes.len()).or_default().push(number);
        }
        Aligner { captures, by_len, by_name: FxHashMap::default(), chosen: FxHashMap::default() }
    }

    /// The owner of each event, as a place in [`Captures::owners`].
    pub(super) fn owners(&mut self, replay: Replay<'_>) -> Vec<Option<u32>> {
        let key = (signature(replay.names), replay.requests);
        if !self.chosen.contains_key(&key) {
            let best = self.best(replay);
            self.chosen.insert(key, best);
        }
        let best = &self.chosen[&key];
        let Some(number) = best.get(replay.nth % best.len().max(1)).copied() else {
            return vec![None; replay.names.len()];
        };
        let graph = &self.captures.graphs[number as usize];
        if in_order(graph, replay.names) {
            return graph.nodes.iter().map(|node| Some(node.owner)).collect();
        }
        let nodes = self.by_name.entry(number).or_insert_with(|| by_name(graph));
        let mut used: FxHashMap<u32, usize> = FxHashMap::default();
        let owner = |name: &u32| {
            let of_name = nodes.get(name)?;
            let used = used.entry(*name).or_default();
            *used += 1;
            Some(graph.nodes[*of_name.get(*used - 1)? as usize].owner)
        };
        replay.names.iter().map(owner).collect()
    }

    /// The graphs that fit best.
    fn best(&mut self, replay: Replay<'_>) -> Vec<u32> {
        let graphs = &self.captures.graphs;
        let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
        for name in replay.names {
            *counts.entry(*name).or_default() += 1;
        }
        let shared = |graph: &Graph| {
            if in_order(graph, replay.names) {
                return graph.nodes.len();
            }
            let mut left = counts.clone();
            let takes = |name: &u32| match left.get_mut(name) {
                Some(count) if *count > 0 => {
                    *count -= 1;
                    true
                }
                _ => false,
            };
            graph.nodes.iter().filter_map(|node| node.kernel).filter(takes).count()
        };
        let same_len = self.by_len.get(&replay.names.len()).cloned().unwrap_or_default();
        let tried = if same_len.is_empty() {
            let mut nearest: Vec<u32> = (0..graphs.len() as u32).collect();
            let distance = |number: &u32| graphs[*number as usize].nodes.len().abs_diff(replay.names.len());
            nearest.sort_by_key(distance);
            nearest.truncate(MOST_TRIED);
            nearest
        } else {
            same_len
        };
        // Too small a batch cannot have been it; without one on either side nothing is known.
        let fits = |graph: &Graph| match (graph.batch, replay.requests) {
            (Some(batch), Some(requests)) => {
                (batch < requests, batch.saturating_sub(requests).saturating_abs())
            }
            _ => (false, 0),
        };
        let rank = |number: &u32| {
            let graph = &graphs[*number as usize];
            (std::cmp::Reverse(shared(graph)), fits(graph))
        };
        let mut ranked: Vec<_> = tried.into_iter().map(|number| (rank(&number), number)).collect();
        ranked.sort();
        let Some((first, _)) = ranked.first().copied() else { return Vec::new() };
        if first.0.0 == 0 {
            return Vec::new();
        }
        ranked.into_iter().take_while(|(rank, _)| *rank == first).map(|(_, number)| number).collect()
    }
}

/// Whether events may be nodes one after the other.
fn in_order(graph: &Graph, names: &[u32]) -> bool {
    let agrees =
        |(node, name): (&super::capture::Node, &u32)| node.kernel.is_none_or(|kernel| kernel == *name);
    graph.nodes.len() == names.len() && graph.nodes.iter().zip(names).all(agrees)
}

fn by_name(graph: &Graph) -> FxHashMap<u32, Vec<u32>> {
    let mut nodes: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (i, node) in (0..).zip(&graph.nodes) {
        if let Some(kernel) = node.kernel {
            nodes.entry(kernel).or_default().push(i);
        }
    }
    nodes
}

/// The same for the same names in any order.
pub(super) fn signature(names: &[u32]) -> u64 {
    let mix = |name: &u32| {
        let mixed = (u64::from(*name) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    names.iter().map(mix).fold(names.len() as u64, u64::wrapping_add)
}
