//! From a call tree to boxes: what is too light or too deep becomes part of what is above, small kernels become one, and
//! all are put in the order of time.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gpuscope_trace::Ns;

use super::{Flame, FlameAnswer, FlameNode, Weighed};
use crate::stacks::{NodeId, NodeKind, ROOT, Trie, Weight, own_weights};

/// Weights of every node, in one run.
struct Side {
    own: Vec<i64>,
    total: Vec<i64>,
}

pub(super) struct Boxes<'a> {
    trie: Cow<'a, Trie>,
    asked: &'a Flame,
    now: Side,
    before: Option<Side>,
    /// Below each node what is shown of it.
    children: Vec<Vec<NodeId>>,
    /// For a node that stands for several small kernels, how many they are.
    groups: BTreeMap<NodeId, u64>,
}

impl<'a> Boxes<'a> {
    pub(super) fn of(trie: &'a Trie, before: Option<&Trie>, asked: &'a Flame) -> Boxes<'a> {
        let mut trie = Cow::Borrowed(trie);
        let mut own_now = own_weights(&trie, asked.by);
        let mut time = times(&trie, asked.by, &own_now);
        let own_before = before.map(|other| {
            let places = trie.to_mut().paths_of(other);
            let nodes = trie.nodes().len();
            own_now.resize(nodes, 0);
            time.resize(nodes, 0);
            let mut own = vec![0_i64; nodes];
            let weights = own_weights(other, asked.by);
            let times = times(other, asked.by, &weights);
            let weighed = weights.into_iter().zip(times);
            for ((place, node), (weight, other_time)) in places.iter().zip(other.nodes()).zip(weighed) {
                let at = *place as usize;
                own[at] = own[at].saturating_add(weight);
                time[at] = time[at].max(other_time);
                trie.to_mut().met(*place, node.first, node.work);
            }
            own
        });
        let side = |own: Vec<i64>| Side { total: trie.subtrees(&own), own };
        let (now, before) = (side(own_now), own_before.map(side));
        let time = trie.subtrees(&time);
        let children = vec![Vec::new(); trie.nodes().len()];
        let mut boxes = Boxes { trie, asked, now, before, children, groups: BTreeMap::new() };
        boxes.cut(&time);
        boxes.group(&time);
        boxes.by_time();
        boxes
    }

    fn sides(&mut self) -> impl Iterator<Item = &mut Side> {
        std::iter::once(&mut self.now).chain(&mut self.before)
    }

    /// Finds what is shown, and gives what is not to what is above.
    fn cut(&mut self, time: &[i64]) {
        let nodes = self.trie.nodes().len();
        let mut shown = vec![true; nodes];
        let least = self.asked.min.0.max((time[0] as f64 * self.asked.least_share) as i64);
        for i in 1..nodes {
            let node = &self.trie.nodes()[i];
            let parent = node.parent as usize;
            let has_weight =
                self.now.total[i] > 0 || self.before.as_ref().is_some_and(|before| before.total[i] > 0);
            shown[i] = shown[parent]
                && has_weight
                && time[i] >= least
                && self.asked.max_depth.is_none_or(|most| node.depth <= most);
            if shown[i] {
                self.children[parent].push(i as NodeId);
            }
        }
        for i in (1..nodes).rev().filter(|i| !shown[*i]) {
            let parent = self.trie.nodes()[i].parent as usize;
            for side in self.sides() {
                side.own[parent] = side.own[parent].saturating_add(side.own[i]);
            }
        }
    }

    /// The first of several small kernels below one node stands for all of them.
    fn group(&mut self, time: &[i64]) {
        for parent in 0..self.children.len() {
            let is_small = |id: &NodeId| {
                self.trie.kind(*id) == NodeKind::Kernel && time[*id as usize] < self.asked.small.0
            };
            let small: Vec<NodeId> = self.children[parent].iter().copied().filter(is_small).collect();
            let [first, rest @ ..] = small.as_slice() else { continue };
            if rest.is_empty() {
                continue;
            }
            for side in self.sides() {
                for column in [&mut side.own, &mut side.total] {
                    let sum = rest.iter().map(|other| column[*other as usize]).sum::<i64>();
                    column[*first as usize] += sum;
                }
            }
            // Nodes are listed by their number.
            self.children[parent].retain(|id| rest.binary_search(id).is_err());
            self.groups.insert(*first, small.len() as u64);
        }
    }

    fn by_time(&mut self) {
        let nodes = self.trie.nodes();
        let mut first: Vec<Ns> = nodes.iter().map(|node| node.first).collect();
        for i in (1..nodes.len()).rev() {
            let parent = nodes[i].parent as usize;
            first[parent] = first[parent].min(first[i]);
        }
        for children in &mut self.children {
            children.sort_by_key(|id| (first[*id as usize], *id));
        }
    }

    pub(super) fn answer(mut self) -> FlameAnswer {
        let mut nodes = Vec::new();
        let mut open: Vec<(NodeId, Option<u32>, u32)> = vec![(ROOT, None, 0)];
        while let Some((id, parent, depth)) = open.pop() {
            let mut place = None;
            if id != ROOT {
                place = Some(nodes.len() as u32);
                nodes.push(self.node(id, parent, depth - 1));
            }
            let below = std::mem::take(&mut self.children[id as usize]);
            open.extend(below.into_iter().rev().map(|child| (child, place, depth + 1)));
        }
        let whole = |side: &Side| Weighed::new(self.asked.by, side.total[0], side.own[0]);
        FlameAnswer {
            by: self.asked.by,
            paths: self.asked.paths,
            weight: whole(&self.now),
            before: self.before.as_ref().map(whole),
            nodes,
        }
    }

    fn node(&self, id: NodeId, parent: Option<u32>, depth: u32) -> FlameNode {
        let i = id as usize;
        let node = &self.trie.nodes()[i];
        let weighed = |side: &Side| Weighed::new(self.asked.by, side.total[i], side.own[i]);
        let (name, count) = match self.groups.get(&id) {
            Some(kernels) => (format!("{kernels} small kernels"), *kernels),
            None => (self.trie.text(id).to_owned(), node.weights.count),
        };
        FlameNode {
            name,
            kind: self.trie.kind(id),
            work: node.work,
            parent,
            depth,
            count,
            weight: weighed(&self.now),
            before: self.before.as_ref().map(weighed),
        }
    }
}

/// What decides whether a box is worth drawing: bytes are moved by work that takes time, too.
fn times(trie: &Trie, by: Weight, weights: &[i64]) -> Vec<i64> {
    if by == Weight::Bytes { own_weights(trie, Weight::Gpu) } else { weights.to_vec() }
}
