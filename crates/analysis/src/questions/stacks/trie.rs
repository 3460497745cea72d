//! Call paths, equal ones merged: a node for each path, keyed by its parent and its name.

use gpuscope_trace::{Kind, Ns};
use rustc_hash::FxHashMap;
use serde::Serialize;

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    Thread,
    Annotation,
    /// A Python function.
    Frame,
    /// A call of an `nn.Module`.
    Module,
    Operator,
    /// What of the backward pass belongs to the forward operator above.
    Backward,
    /// Arguments of the operator above.
    Shapes,
    /// A call of the runtime or driver.
    Call,
    /// Work on the GPU.
    Kernel,
    /// GPU work whose launching call is not in the trace.
    Unlinked,
}

impl NodeKind {
    pub const COUNT: usize = NodeKind::Unlinked as usize + 1;
}

pub(crate) type NodeId = u32;
/// The root, which stands for the whole trace.
pub(crate) const ROOT: NodeId = 0;
/// Deeper paths end here: Python itself allows for no more than 1000 frames.
const MOST_DEPTH: u32 = 2048;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weights {
    /// Host or GPU events.
    pub(crate) count: u64,
    /// Of the node itself: GPU work has it, what launches it does not.
    pub(crate) gpu: Ns,
    /// Of the host events, what is inside them included.
    pub(crate) host: Ns,
    /// Moved by copies and sets.
    pub(crate) bytes: i64,
    /// Operations of GPU work, where they are asked for.
    pub(crate) flops: u128,
}

impl Weights {
    pub(crate) fn add(&mut self, other: Weights) {
        self.count += other.count;
        self.gpu += other.gpu;
        self.host += other.host;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.flops = self.flops.saturating_add(other.flops);
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// Before this one; the root is its own.
    pub(crate) parent: NodeId,
    pub(crate) name: u32,
    pub(crate) depth: u32,
    pub(crate) weights: Weights,
    /// The node of the forward operator that this one undoes.
    pub(crate) forward: Option<NodeId>,
    /// When it was first met; the end of time if never.
    pub(crate) first: Ns,
    /// Of work on the GPU, its kind.
    pub(crate) work: Option<Kind>,
}

impl Node {
    fn new(parent: NodeId, name: u32, depth: u32) -> Node {
        let first = Ns(i64::MAX);
        Node { parent, name, depth, weights: Weights::default(), forward: None, first, work: None }
    }
}

/// Names and nodes of one trace, or of several that were merged.
#[derive(Clone, Debug)]
pub(crate) struct Trie {
    names: Vec<(NodeKind, String)>,
    name_ids: FxHashMap<(NodeKind, String), u32>,
    nodes: Vec<Node>,
    children: FxHashMap<(NodeId, u32), NodeId>,
}

impl Default for Trie {
    fn default() -> Self {
        let mut trie = Trie {
            names: Vec::new(),
            name_ids: FxHashMap::default(),
            nodes: Vec::new(),
            children: FxHashMap::default(),
        };
        let name = trie.name(NodeKind::Thread, "");
        trie.nodes.push(Node::new(ROOT, name, 0));
        trie
    }
}

impl Trie {
    /// The number of a name, equal ones having one.
    pub(crate) fn name(&mut self, kind: NodeKind, text: &str) -> u32 {
        let next = self.names.len() as u32;
        let id = *self.name_ids.entry((kind, text.to_owned())).or_insert(next);
        if id == next {
            self.names.push((kind, text.to_owned()));
        }
        id
    }

    /// The node below another; itself, where paths end.
    pub(crate) fn child(&mut self, parent: NodeId, name: u32) -> NodeId {
        let is_deep = self.nodes[parent as usize].depth >= MOST_DEPTH;
        if is_deep && self.names[name as usize].0 != NodeKind::Kernel {
            return parent;
        }
        let depth = self.nodes[parent as usize].depth;
        let next = self.nodes.len() as NodeId;
        let id = *self.children.entry((parent, name)).or_insert(next);
        if id == next {
            self.nodes.push(Node::new(parent, name, depth + 1));
        }
        id
    }

    pub(crate) fn add(&mut self, node: NodeId, weights: Weights) {
        self.nodes[node as usize].weights.add(weights);
    }

    /// Something on a node's path began.
    pub(crate) fn met(&mut self, node: NodeId, at: Ns, work: Option<Kind>) {
        let node = &mut self.nodes[node as usize];
        node.first = node.first.min(at);
        node.work = node.work.or(work);
    }

    pub(crate) fn links_to(&mut self, node: NodeId, forward: NodeId) {
        self.nodes[node as usize].forward.get_or_insert(forward);
    }

    /// All nodes, parents before children; the root first.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn kind(&self, node: NodeId) -> NodeKind {
        self.kind_of(&self.nodes[node as usize])
    }

    pub(crate) fn kind_of(&self, node: &Node) -> NodeKind {
        self.names[node.name as usize].0
    }

    pub(crate) fn text(&self, node: NodeId) -> &str {
        &self.names[self.nodes[node as usize].name as usize].1
    }

    /// For each of another trie's nodes the node here with the same path, which is made if need be.
    pub(crate) fn paths_of(&mut self, other: &Trie) -> Vec<NodeId> {
        let names: Vec<u32> = other.names.iter().map(|(kind, text)| self.name(*kind, text)).collect();
        let mut here: Vec<NodeId> = vec![ROOT; other.nodes.len()];
        for (i, node) in other.nodes.iter().enumerate().skip(1) {
            here[i] = self.child(here[node.parent as usize], names[node.name as usize]);
        }
        here
    }

    /// Takes in another trie.
    pub(crate) fn merge(&mut self, other: &Trie) {
        let here = self.paths_of(other);
        for (node, at) in other.nodes.iter().zip(here) {
            self.add(at, node.weights);
            self.met(at, node.first, node.work);
        }
    }

    /// Counts times from the first one, so that ranks can be compared.
    pub(crate) fn start_at_zero(&mut self) {
        let first = self.nodes.iter().map(|node| node.first).min().unwrap_or_default();
        for node in &mut self.nodes {
            node.first -= first;
        }
    }

    /// Per node the sum of its subtree.
    pub(crate) fn subtrees(&self, own: &[i64]) -> Vec<i64> {
        let mut sums = own.to_vec();
        for i in (1..self.nodes.len()).rev() {
            let parent = self.nodes[i].parent as usize;
            sums[parent] = sums[parent].saturating_add(sums[i]);
        }
        sums
    }
}
