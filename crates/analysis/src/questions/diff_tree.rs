//! Which call paths does the change in GPU time from one run to another come from?
//!
//! The call trees of both runs (see [`crate::stacks`]: modules, operators and the arguments of those that launch, with
//! backward work below the forward operator that it undoes) are laid over each other, equal paths on equal paths; what
//! changes from run to run by itself, such as line numbers and addresses, is left out of the names. All ranks of a run
//! are one tree. GPU time on a path that only one run has goes to the nearest path above it that both have: the lowest
//! common ancestor of the difference. Kernels never make a path of their own, since another GPU or library has other
//! names for them; so the same operator with the same arguments is compared whatever ran it.
//!
//! Every nanosecond of GPU time is in exactly one row, so the rows' changes make up the change of the whole. Operations,
//! where a work model knows them, are in the row of the longest kernel of the operator that they are of; `why` tells
//! more work from the same work done more slowly.

mod table;
mod why;

use std::collections::BTreeMap;

use gpuscope_table::{Table, Tabular};
use gpuscope_trace::{Ns, View};
use gpuscope_work::Models;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::Question;
use crate::ops::EventWork;
use crate::stacks::{NodeId, NodeKind, PathDetail, PathNames, PathParts, ROOT, Trie, Weights, call_paths};

pub use why::Why;

/// GPU work of one run on one path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PathSide {
    /// GPU events.
    pub count: u64,
    pub gpu_ns: Ns,
    /// Null if no work model knows.
    pub gflops: Option<f64>,
    /// What it consists of, largest first: kernels, and calls that only this run has.
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    pub name: String,
    pub gpu_ns: Ns,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathChange {
    /// From the outside in; `…` for what is left out in between.
    pub path: Vec<String>,
    pub a: PathSide,
    pub b: PathSide,
    pub delta_ns: Ns,
    /// Of the change of the whole; of the larger whole if that did not change.
    pub change_pct: f64,
    pub why: Why,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TreeDiffAnswer {
    pub a_ns: Ns,
    pub b_ns: Ns,
    pub delta_ns: Ns,
    /// The same by the last name of the path, wherever in the model it is; largest change first, either way.
    pub operators: Vec<OperatorChange>,
    /// Largest change first, either way.
    pub rows: Vec<PathChange>,
}

/// An operator with its arguments, or a module, over all paths that end there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatorChange {
    pub name: String,
    pub paths: u64,
    pub a_count: u64,
    pub b_count: u64,
    pub a_ns: Ns,
    pub b_ns: Ns,
    pub a_gflops: Option<f64>,
    pub b_gflops: Option<f64>,
    pub delta_ns: Ns,
    pub change_pct: f64,
    pub why: Why,
}

/// The call tree of one run, ready to be compared.
#[derive(Clone, Debug, Default)]
pub struct RunTree(Trie);

impl RunTree {
    /// Operators and the GPU work below them, wherever in the model they are: as small as a program's vocabulary.
    pub(crate) fn of_operators(view: View<'_>) -> RunTree {
        let parts =
            PathParts { detail: PathDetail::Operators, names: PathNames::Runs, ..PathParts::default() };
        let work = EventWork::of(view, Models::built_in(), |_| true);
        RunTree(call_paths(view, &parts, |row| work.flops(row)))
    }

    pub(crate) fn merge(&mut self, other: &RunTree) {
        self.0.merge(&other.0);
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct TreeDiff;

impl Question for TreeDiff {
    type Local = RunTree;
    type Answer = RunTree;

    fn local(&self, _rank: u32, view: View<'_>) -> RunTree {
        let detail = PathDetail::Arguments;
        let parts = PathParts {
            detail,
            backward_below_forward: true,
            names: PathNames::Runs,
            ..PathParts::default()
        };
        let work = EventWork::of(view, Models::built_in(), |_| true);
        RunTree(call_paths(view, &parts, |row| work.flops(row)))
    }

    fn merge(&self, locals: Vec<RunTree>) -> RunTree {
        let mut ranks = locals.into_iter();
        let mut all = ranks.next().unwrap_or_default();
        for rank in ranks {
            all.merge(&rank);
        }
        all
    }
}

impl Serialize for RunTree {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TreeDiffAnswer::between(&RunTree::default(), self).serialize(serializer)
    }
}

impl Tabular for RunTree {
    fn tables(&self) -> Vec<Table> {
        TreeDiffAnswer::between(&RunTree::default(), self).tables()
    }
}

/// Parts listed for each run.
const MOST_PARTS: usize = 6;
/// Names of a path that are listed.
const MOST_NAMES: usize = 24;
/// What belongs to no path that both runs have.
const WHOLE: &str = "(whole trace)";

impl TreeDiffAnswer {
    pub fn between(a: &RunTree, b: &RunTree) -> TreeDiffAnswer {
        let mut both = Overlay::new(a, b);
        let rows = both.rows();
        let [a_ns, b_ns] = both.whole;
        let delta_ns = b_ns - a_ns;
        let whole = if delta_ns == Ns::ZERO { a_ns.max(b_ns) } else { delta_ns };
        let mut rows: Vec<PathChange> = rows
            .into_iter()
            .map(|(node, [a, b])| {
                let delta_ns = b.gpu_ns - a.gpu_ns;
                let (change_pct, why) = (delta_ns.pct_of(whole), Why::between(&a, &b));
                PathChange { path: both.path(node), a, b, delta_ns, change_pct, why }
            })
            .collect();
        rows.sort_by(|x, y| {
            let larger = y.delta_ns.0.unsigned_abs().cmp(&x.delta_ns.0.unsigned_abs());
            larger.then_with(|| x.path.cmp(&y.path))
        });
        TreeDiffAnswer { a_ns, b_ns, delta_ns, operators: by_operator(&rows, whole), rows }
    }
}

fn by_operator(rows: &[PathChange], whole: Ns) -> Vec<OperatorChange> {
    let mut sums: BTreeMap<&str, (u64, [PathSide; 2])> = BTreeMap::new();
    for row in rows {
        let name = row.path.last().map_or(WHOLE, String::as_str);
        let (paths, [a, b]) = sums.entry(name).or_default();
        *paths += 1;
        a.add(&row.a);
        b.add(&row.b);
    }
    let change = |(name, (paths, [mut a, mut b])): (&str, (u64, [PathSide; 2]))| {
        let delta_ns = b.gpu_ns - a.gpu_ns;
        (a.parts, b.parts) = (merged(std::mem::take(&mut a.parts)), merged(std::mem::take(&mut b.parts)));
        OperatorChange {
            name: name.to_owned(),
            paths,
            a_count: a.count,
            b_count: b.count,
            a_ns: a.gpu_ns,
            b_ns: b.gpu_ns,
            a_gflops: a.gflops,
            b_gflops: b.gflops,
            delta_ns,
            change_pct: delta_ns.pct_of(whole),
            why: Why::between(&a, &b),
        }
    };
    let mut operators: Vec<OperatorChange> = sums.into_iter().map(change).collect();
    // Stable, so that equal ones stay by name.
    operators.sort_by_key(|sum| std::cmp::Reverse(sum.delta_ns.0.unsigned_abs()));
    operators
}

impl PathSide {
    pub(crate) fn add(&mut self, other: &PathSide) {
        self.count += other.count;
        self.gpu_ns += other.gpu_ns;
        if let Some(more) = other.gflops {
            *self.gflops.get_or_insert(0.0) += more;
        }
        self.parts.extend_from_slice(&other.parts);
    }

    pub(crate) fn of(work: Weights) -> PathSide {
        let gflops = (work.flops > 0).then(|| work.flops as f64 / 1e9);
        PathSide { count: work.count, gpu_ns: work.gpu, gflops, parts: Vec::new() }
    }
}

/// Two trees, one laid over the other.
pub(crate) struct Overlay {
    pub(crate) trie: Trie,
    /// Per node and run its own GPU work; none if the run has no such path.
    pub(crate) sides: [Vec<Option<Weights>>; 2],
    whole: [Ns; 2],
}

impl Overlay {
    pub(crate) fn new(a: &RunTree, b: &RunTree) -> Overlay {
        let mut trie = Trie::default();
        let places = [&a.0, &b.0].map(|side| trie.paths_of(side));
        let mut sides = [vec![None; trie.nodes().len()], vec![None; trie.nodes().len()]];
        let mut whole = [Ns::ZERO; 2];
        for (i, tree) in [&a.0, &b.0].into_iter().enumerate() {
            for (node, place) in tree.nodes().iter().zip(&places[i]) {
                let is_gpu = tree.kind_of(node) == NodeKind::Kernel;
                let work = if is_gpu { node.weights } else { Weights::default() };
                sides[i][*place as usize] = Some(work);
                whole[i] += work.gpu;
            }
        }
        Overlay { trie, sides, whole }
    }

    /// Whether a path is one that work can be put down to: both runs have it, and it is no kernel.
    fn is_common(&self, node: NodeId) -> bool {
        let is_path = !matches!(self.trie.kind(node), NodeKind::Kernel | NodeKind::Call);
        node == ROOT || (is_path && self.sides.iter().all(|side| side[node as usize].is_some()))
    }

    fn rows(&mut self) -> Vec<(NodeId, [PathSide; 2])> {
        let nodes = self.trie.nodes().len();
        // The lowest common ancestor of each node, and what the work below that is called.
        let (mut common, mut part) = (vec![ROOT; nodes], vec![ROOT; nodes]);
        let mut parts: FxHashMap<(NodeId, NodeId), [Ns; 2]> = FxHashMap::default();
        let mut sums: FxHashMap<NodeId, [Weights; 2]> = FxHashMap::default();
        for node in 0..nodes as NodeId {
            let i = node as usize;
            let parent = self.trie.nodes()[i].parent as usize;
            if self.is_common(node) {
                common[i] = node;
            } else {
                common[i] = common[parent];
                let is_call = self.trie.kind(node) == NodeKind::Call;
                part[i] = if part[parent] == ROOT && !is_call { node } else { part[parent] };
            }
            for side in 0..2 {
                let Some(work) = self.sides[side][i].filter(|work| work.count > 0) else { continue };
                sums.entry(common[i]).or_default()[side].add(work);
                parts.entry((common[i], part[i])).or_default()[side] += work.gpu;
            }
        }
        let mut rows: FxHashMap<NodeId, [PathSide; 2]> =
            sums.into_iter().map(|(node, sides)| (node, sides.map(PathSide::of))).collect();
        for ((row, part), times) in parts {
            let Some(row) = rows.get_mut(&row) else { continue };
            for side in 0..2 {
                if times[side] > Ns::ZERO && part != ROOT {
                    let name = self.trie.text(part).to_owned();
                    row[side].parts.push(Part { name, gpu_ns: times[side] });
                }
            }
        }
        for side in rows.values_mut().flatten() {
            side.parts = merged(std::mem::take(&mut side.parts));
        }
        rows.into_iter().collect()
    }

    fn path(&self, node: NodeId) -> Vec<String> {
        let mut path = Vec::new();
        let mut here = node;
        let parent = |node: NodeId| self.trie.nodes()[node as usize].parent;
        while here != ROOT && path.len() < MOST_NAMES {
            let mut name = self.trie.text(here).to_owned();
            if self.trie.kind(here) == NodeKind::Shapes {
                here = parent(here);
                name = format!("{} {name}", self.trie.text(here));
            }
            path.push(name);
            here = parent(here);
        }
        if here != ROOT {
            path.push("…".to_owned());
        }
        path.reverse();
        path
    }
}

/// The largest parts, those of one name together.
pub(crate) fn merged(mut parts: Vec<Part>) -> Vec<Part> {
    parts.sort_by(|a, b| a.name.cmp(&b.name));
    parts.dedup_by(|next, kept| {
        let same = next.name == kept.name;
        if same {
            kept.gpu_ns += next.gpu_ns;
        }
        same
    });
    parts.sort_by_key(|part| std::cmp::Reverse(part.gpu_ns));
    parts.truncate(MOST_PARTS);
    parts
}

#[cfg(test)]
mod tests;
