//! Which nodes of a trie are shown, and in which order.

use gpuscope_trace::Ns;

use super::trie::{NodeId, NodeKind, ROOT, Trie};
use super::{StackNode, Stacks, Weight};

/// Own weights of each node, for each sort of weight.
struct Own([Vec<i64>; 3]);

/// What of a weight is each node's own.
pub(crate) fn own_weights(trie: &Trie, weight: Weight) -> Vec<i64> {
    let Own(mut all) = Own::of(trie);
    std::mem::take(&mut all[weight as usize])
}

impl Own {
    fn of(trie: &Trie) -> Own {
        let nodes = trie.nodes();
        let gpu = nodes.iter().map(|node| node.weights.gpu.0).collect();
        let bytes = nodes.iter().map(|node| node.weights.bytes).collect();
        let mut host: Vec<i64> = nodes.iter().map(|node| node.weights.host.0).collect();
        for node in &nodes[1..] {
            let parent = &mut host[node.parent as usize];
            *parent = parent.saturating_sub(node.weights.host.0);
        }
        // Spans that bleed over their parent's end, and threads, which have no span of their own.
        for own in &mut host {
            *own = (*own).max(0);
        }
        Own([gpu, host, bytes])
    }

    /// Leaves out what is neither below a node that matches nor one itself.
    fn keep(&mut self, trie: &Trie, matches: impl Fn(&str) -> bool) -> Vec<bool> {
        let mut within = vec![false; trie.nodes().len()];
        for (i, node) in trie.nodes().iter().enumerate().skip(1) {
            within[i] = within[node.parent as usize] || matches(trie.text(i as NodeId));
            if !within[i] {
                self.0.iter_mut().for_each(|own| own[i] = 0);
            }
        }
        within
    }
}

pub(super) fn pick(trie: &Trie, asked: &Stacks) -> Vec<StackNode> {
    let nodes = trie.nodes();
    let mut own = Own::of(trie);
    let within = asked.filter.as_ref().map(|filter| own.keep(trie, |name| filter.is_match(name)));
    let totals = [0, 1, 2].map(|weight| trie.subtrees(&own.0[weight]));
    let direct = direct(trie, &own.0[Weight::Gpu as usize]);
    let by = asked.by as usize;

    let counts: Vec<i64> =
        (0..nodes.len()).map(|i| i64::from(within.as_ref().is_none_or(|within| within[i]))).collect();
    let kept = trie.subtrees(&counts);
    let is_kept = |i: usize| kept[i] > 0 && (asked.min == 0 || totals[by][i] >= asked.min);
    let levels = levels(trie, &own.0[by], is_kept);
    let is_shown = |i: usize| is_kept(i) && asked.depth.is_none_or(|most| levels[i] <= most);
    let mut children: Vec<Vec<NodeId>> = vec![Vec::new(); nodes.len()];
    let mut shown = vec![true; nodes.len()];
    for i in 1..nodes.len() {
        let parent = nodes[i].parent as usize;
        shown[i] = shown[parent] && is_shown(i);
        if shown[i] {
            children[parent].push(i as NodeId);
        }
    }
    // What is not shown is part of what is.
    for i in (1..nodes.len()).rev().filter(|i| !shown[*i]) {
        for own in &mut own.0 {
            own[nodes[i].parent as usize] = own[nodes[i].parent as usize].saturating_add(own[i]);
        }
    }

    let mut places = vec![None; nodes.len()];
    let mut listed = Vec::new();
    let mut open: Vec<NodeId> = vec![ROOT];
    while let Some(id) = open.pop() {
        let i = id as usize;
        if id != ROOT {
            places[i] = Some(listed.len() as u32);
            let ns = |sums: &[i64]| Ns(sums[i]);
            listed.push(StackNode {
                name: trie.text(id).to_owned(),
                kind: trie.kind(id),
                parent: places[nodes[i].parent as usize],
                depth: nodes[i].depth - 1,
                count: nodes[i].weights.count,
                gpu_ns: ns(&totals[Weight::Gpu as usize]),
                direct_gpu_ns: ns(&direct),
                host_ns: ns(&totals[Weight::Host as usize]),
                host_self_ns: ns(&own.0[Weight::Host as usize]),
                bytes: totals[Weight::Bytes as usize][i],
                forward: None,
                own: own.0[by][i],
            });
        }
        let mut below = std::mem::take(&mut children[i]);
        below.sort_by(|a, b| {
            let heavier = totals[by][*a as usize].cmp(&totals[by][*b as usize]);
            heavier.then_with(|| trie.text(*b).cmp(trie.text(*a)))
        });
        open.append(&mut below);
    }
    for (i, place) in places.iter().enumerate() {
        if let (Some(place), Some(forward)) = (place, nodes[i].forward) {
            listed[*place as usize].forward = places[forward as usize];
        }
    }
    listed
}

/// How deep each node is for a person: Python frames that only pass on to a single other node do not count.
fn levels(trie: &Trie, own: &[i64], is_kept: impl Fn(usize) -> bool) -> Vec<u32> {
    let nodes = trie.nodes();
    let mut below = vec![0_u32; nodes.len()];
    for i in (1..nodes.len()).filter(|i| is_kept(*i)) {
        below[nodes[i].parent as usize] += 1;
    }
    let mut levels = vec![0; nodes.len()];
    for i in 1..nodes.len() {
        let passes_on = passes_on(trie.kind(i as NodeId), below[i], own[i]);
        levels[i] = levels[nodes[i].parent as usize] + u32::from(!passes_on);
    }
    levels
}

/// A wrapper, of which there are many around Python code.
pub(super) fn passes_on(kind: NodeKind, children: u32, own: i64) -> bool {
    kind == NodeKind::Frame && children == 1 && own == 0
}

/// GPU time of what a node launched itself, be it through a call or with certain arguments.
fn direct(trie: &Trie, gpu: &[i64]) -> Vec<i64> {
    let nodes = trie.nodes();
    let mut direct = vec![0_i64; nodes.len()];
    for (i, own) in gpu.iter().enumerate().filter(|(_, own)| **own != 0) {
        let mut owner = i as NodeId;
        direct[i] = *own;
        loop {
            owner = nodes[owner as usize].parent;
            direct[owner as usize] = direct[owner as usize].saturating_add(*own);
            if owner == ROOT || !matches!(trie.kind(owner), NodeKind::Call | NodeKind::Shapes) {
                break;
            }
        }
    }
    direct
}
