//! Which lines of the program put the work on the GPU? The call tree of a trace, equal paths merged.
//!
//! A path leads from a thread over Python frames, annotations, modules and operators to the call that launched
//! something, and to the kernel: by nesting in time on the launching thread, spans that bleed over their parent's end
//! going to the innermost one that holds all of them, and by the launch's correlation, so that a graph's kernels hang
//! on the call that replayed it. GPU work whose launching call is not in the trace is `unlinked`, and the share is said.
//! Paths that launched nothing are left out unless asked for; their host time is then their parent's own.
//!
//! `gpu_ns` is the summed time of all GPU work below a node, `direct_gpu_ns` of what it launched itself, `host_ns` the
//! summed time of its host events, `host_self_ns` that without what is listed below it. `forward` is the node of the
//! forward operator that a backward one undoes. Merging goes by numbers of names, so a trace is walked once.

mod build;
mod names;
mod pick;
mod table;
mod trie;

use gpuscope_trace::{Ns, View};
use serde::Serialize;

use crate::Question;
use crate::whatif::NamePattern;
use build::{Detail, Parts};

pub(crate) use build::{Detail as PathDetail, Names as PathNames, Parts as PathParts, trie as call_paths};
pub(crate) use names::from_run_to_run;
pub(crate) use pick::own_weights;
pub use trie::NodeKind;
pub(crate) use trie::{NodeId, ROOT, Trie, Weights};

/// What makes a path heavy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    #[default]
    Gpu,
    Host,
    /// Moved by copies and sets.
    Bytes,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StackNode {
    pub name: String,
    pub kind: NodeKind,
    /// Its place in the list, which is before this one's.
    pub parent: Option<u32>,
    pub depth: u32,
    /// Host or GPU events.
    pub count: u64,
    pub gpu_ns: Ns,
    pub direct_gpu_ns: Ns,
    pub host_ns: Ns,
    pub host_self_ns: Ns,
    pub bytes: i64,
    pub forward: Option<u32>,
    /// What of the weight asked for is its own, and of nodes below that are not listed.
    #[serde(skip)]
    pub own: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankStacks {
    pub rank: u32,
    /// All GPU events, added up.
    pub gpu_ns: Ns,
    /// Of these, without a launching call.
    pub unlinked_ns: Ns,
    pub unlinked_pct: f64,
    /// Each node before those below it, heavier ones first.
    pub nodes: Vec<StackNode>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StacksAnswer {
    pub by: Weight,
    pub ranks: Vec<RankStacks>,
}

#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// Only paths with such a name in them, and of these what is below it.
    pub filter: Option<NamePattern>,
    /// Deeper nodes become part of those above; frames that only pass on do not count.
    pub depth: Option<u32>,
    /// Lighter nodes become part of those above.
    pub min: i64,
    pub by: Weight,
    /// Also what launched nothing.
    pub everything: bool,
    /// Where threads were when a profiler looked, each sample with the time it stands for.
    pub samples: bool,
    /// Only the thread with this number, or those with this in their name.
    pub thread: Option<String>,
    /// Backward work below the forward operator that it undoes.
    pub backward_below_forward: bool,
}

impl Question for Stacks {
    type Local = RankStacks;
    type Answer = StacksAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankStacks {
        let parts = Parts {
            everything: self.everything,
            samples: self.samples,
            detail: Detail::Program,
            backward_below_forward: self.backward_below_forward,
            thread: self.thread.clone(),
            ..Parts::default()
        };
        let trie = build::trie(view, &parts, |_| 0);
        let (mut gpu, mut unlinked) = (Ns::ZERO, Ns::ZERO);
        for event in view.gpu() {
            gpu += event.dur();
            if view.launch(event.row).is_none() {
                unlinked += event.dur();
            }
        }
        RankStacks {
            rank,
            gpu_ns: gpu,
            unlinked_ns: unlinked,
            unlinked_pct: unlinked.pct_of(gpu),
            nodes: pick::pick(&trie, self),
        }
    }

    fn merge(&self, locals: Vec<RankStacks>) -> StacksAnswer {
        StacksAnswer { by: self.by, ranks: locals }
    }
}

#[cfg(test)]
mod tests;
