//! What does the time consist of, drawn: a box for each call path, as wide as it is heavy, below the one it was called from.
//!
//! The boxes are the nodes of the call tree that [`crate::stacks`] makes, of all ranks together: of Python frames and all
//! that is below them, of modules with the operators that they call (backward work below the forward operator that it
//! undoes), or of operators alone. A box weighs what is its own and what is below it: time on the GPU, time on the host,
//! or bytes that copies and sets moved. Own weights add up to the whole.
//!
//! What is lighter than asked for, or deeper, becomes part of what is above; several light kernels below one call are one
//! box, `12 small kernels`. Compared with another run, a box has the weight of the same path there, too.

mod boxes;
mod table;
#[cfg(test)]
mod tests;

use gpuscope_trace::{Kind, Ns, View};
use serde::Serialize;

use crate::Question;
use crate::stacks::{PathDetail, PathNames, PathParts, Trie, call_paths};
use boxes::Boxes;

pub use crate::stacks::{NodeKind, Weight};

/// What boxes are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Paths {
    /// Threads, annotations, Python frames, modules, operators, calls and kernels.
    #[default]
    Python,
    /// Modules, operators and kernels.
    Modules,
    /// Operators and kernels.
    Operators,
}

/// Kernels of one call that take less than this are one box, unless told otherwise.
pub const SMALL_KERNELS: Ns = Ns(10_000);

#[derive(Clone, Debug, Default)]
pub struct Flame {
    pub by: Weight,
    /// Where threads were when a profiler looked, each sample with the time it stands for.
    pub samples: bool,
    pub paths: Paths,
    /// So many boxes below each other, at most.
    pub max_depth: Option<u32>,
    /// What takes less time in all is no box of its own.
    pub min: Ns,
    /// Nor is what takes less than this share of all time.
    pub least_share: f64,
    /// Kernels below one call that take less time than this are one box.
    pub small: Ns,
    /// The run is compared with another: names are those that two versions of a program share.
    pub compared: bool,
}

/// The call tree of one rank.
#[derive(Clone, Debug)]
pub struct RankPaths(Trie);

/// The call tree of a run, not yet cut.
#[derive(Clone, Debug)]
pub struct RunFlame {
    trie: Trie,
    asked: Flame,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlameNode {
    pub name: String,
    pub kind: NodeKind,
    /// Of work on the GPU.
    #[serde(skip)]
    pub work: Option<Kind>,
    /// Its place in the list, which is before this one's.
    pub parent: Option<u32>,
    pub depth: u32,
    /// Host or GPU events.
    pub count: u64,
    #[serde(flatten)]
    pub weight: Weighed,
    /// The same of the run that this one is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Weighed>,
}

/// Own weight, and that with what is below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Weighed {
    Time { total_ns: i64, own_ns: i64 },
    Size { total_bytes: i64, own_bytes: i64 },
}

impl Default for Weighed {
    fn default() -> Weighed {
        Weighed::new(Weight::default(), 0, 0)
    }
}

impl Weighed {
    fn new(by: Weight, total: i64, own: i64) -> Weighed {
        match by {
            Weight::Gpu | Weight::Host => Weighed::Time { total_ns: total, own_ns: own },
            Weight::Bytes => Weighed::Size { total_bytes: total, own_bytes: own },
        }
    }

    pub fn total(self) -> i64 {
        match self {
            Weighed::Time { total_ns: total, .. } | Weighed::Size { total_bytes: total, .. } => total,
        }
    }

    pub fn own(self) -> i64 {
        match self {
            Weighed::Time { own_ns: own, .. } | Weighed::Size { own_bytes: own, .. } => own,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlameAnswer {
    pub by: Weight,
    pub paths: Paths,
    /// All of it; its own is what belongs to no box.
    #[serde(flatten)]
    pub weight: Weighed,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Weighed>,
    /// Each before those below it, in the order of time.
    pub nodes: Vec<FlameNode>,
}

impl Question for Flame {
    type Local = RankPaths;
    type Answer = RunFlame;

    fn local(&self, _rank: u32, view: View<'_>) -> RankPaths {
        let parts = PathParts {
            everything: self.by == Weight::Host,
            samples: self.samples,
            detail: match self.paths {
                Paths::Python => PathDetail::Program,
                Paths::Modules => PathDetail::Modules,
                Paths::Operators => PathDetail::Operators,
            },
            backward_below_forward: self.paths == Paths::Modules,
            thread: None,
            names: if self.compared { PathNames::Runs } else { PathNames::Ranks },
        };
        let mut trie = call_paths(view, &parts, |_| 0);
        trie.start_at_zero();
        RankPaths(trie)
    }

    fn merge(&self, locals: Vec<RankPaths>) -> RunFlame {
        let mut ranks = locals.into_iter();
        let mut trie = ranks.next().map(|first| first.0).unwrap_or_default();
        for rank in ranks {
            trie.merge(&rank.0);
        }
        RunFlame { trie, asked: self.clone() }
    }
}

impl RunFlame {
    pub fn answer(&self) -> FlameAnswer {
        Boxes::of(&self.trie, None, &self.asked).answer()
    }

    /// The same with the weights that another run has on its paths; paths that only the other run has are boxes, too.
    pub fn against(&self, before: &RunFlame) -> FlameAnswer {
        Boxes::of(&self.trie, Some(&before.trie), &self.asked).answer()
    }
}

impl Serialize for RunFlame {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.answer().serialize(serializer)
    }
}
