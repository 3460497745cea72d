//! How long does each module of the model take, forward and backward?
//!
//! A module is an instance: torch's Python frames are called `nn.Module: Linear_3`; traces without frames may tell the
//! module of each operator (`Module Hierarchy`). GPU work of the forward pass belongs to the innermost module around
//! its launch; work of the backward pass to the module around the forward operator that it undoes, by autograd's
//! links; what a checkpoint runs again is a pass of its own. `own_ns` is a module's own work, `total_ns` also that of
//! the modules called from it. Communication has columns of its own; all other GPU work counts as compute.
//!
//! Figures are over the calls of a module that have work in the pass. A module's parent is the one around its first
//! call. Work of no module (optimizer, gradients, data, what is not linked, passes of traces without modules) is
//! counted and said; a replayed graph belongs as a whole to the module that replays it. A module that calls itself
//! counts for each call.

mod calls;
pub(crate) mod figures;
mod table;
mod tree;

use gpuscope_trace::{Code, Ns, Quality, View};
use serde::Serialize;

use crate::Question;
use crate::shared::spread::Spread;

pub(crate) use calls::{Calls, Load};
pub(crate) use table::indented;
pub(crate) use tree::{Module, Tree};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    Forward,
    Backward,
    Recompute,
}

impl Pass {
    pub const ALL: [Pass; 3] = [Pass::Forward, Pass::Backward, Pass::Recompute];

    pub fn label(self) -> &'static str {
        match self {
            Pass::Forward => "forward",
            Pass::Backward => "backward",
            Pass::Recompute => "recompute",
        }
    }
}

/// One module in one pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    /// `Linear_3`, or the text of `Module Hierarchy`.
    pub module: String,
    pub parent: Option<String>,
    /// How many modules are around it.
    pub depth: u32,
    pub pass: Pass,
    /// Calls with work in this pass.
    pub calls: u64,
    /// GPU events in them, those of the modules inside included.
    pub gpu_events: u64,
    pub own_ns: Ns,
    pub total_ns: Ns,
    pub own_comm_ns: Ns,
    pub comm_ns: Ns,
    /// `total_ns` by the number of steps.
    pub per_step_ns: f64,
    /// `total_ns` of all compute time of the rank.
    pub pct: f64,
    /// Of the calls.
    #[serde(flatten)]
    pub spread: Spread,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankLayers {
    pub rank: u32,
    /// All GPU time but communication, added up.
    pub compute_ns: Ns,
    pub comm_ns: Ns,
    /// Of these, what belongs to no module.
    pub without_module_ns: Ns,
    pub comm_without_module_ns: Ns,
    pub without_module_pct: f64,
    /// GPU time of replayed graphs, of which only the module that replays them is known.
    pub replayed_ns: Ns,
    pub steps: u64,
    /// As a tree: each module before those called from it.
    pub layers: Vec<Layer>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LayersAnswer {
    pub ranks: Vec<RankLayers>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Layers {
    /// List only modules with fewer others around them.
    pub depth: Option<u32>,
}

impl Question for Layers {
    type Local = RankLayers;
    type Answer = LayersAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankLayers {
        let calls = Calls::of(view, Load::of);
        let steps = view.steps().iter().filter(|step| view.selection.has_step(step.number, step.start));
        let steps = steps.count() as u64;
        let tree = Tree::of(&calls);
        let layers = tree
            .rows(self.depth)
            .map(|(module, pass)| row(view, &calls, &tree, module, pass, steps))
            .collect();
        let (all, outside) = (calls.all, calls.outside);
        RankLayers {
            rank,
            compute_ns: all.compute,
            comm_ns: all.comm,
            without_module_ns: outside.compute,
            comm_without_module_ns: outside.comm,
            without_module_pct: outside.compute.pct_of(all.compute),
            replayed_ns: calls.replayed,
            steps,
            layers,
        }
    }

    fn merge(&self, locals: Vec<RankLayers>) -> LayersAnswer {
        LayersAnswer { ranks: locals }
    }

    fn quality(&self, answer: &LayersAnswer) -> Vec<Quality> {
        let said = |rank: &RankLayers| {
            let seen = Seen { modules: !rank.layers.is_empty(), replayed: rank.replayed_ns };
            seen.missing(rank.rank, rank.compute_ns, rank.comm_ns)
        };
        answer.ranks.iter().filter_map(said).collect()
    }
}

/// Below this share of GPU time nobody misses its module.
const NOT_MISSED_PCT: f64 = 5.0;

/// What there is to tell modules by.
pub(crate) struct Seen {
    pub(crate) modules: bool,
    pub(crate) replayed: Ns,
}

impl Seen {
    /// Why GPU time has no module, or only a large one.
    pub(crate) fn missing(&self, rank: u32, compute: Ns, comm: Ns) -> Option<Quality> {
        let replayed = self.replayed.pct_of(compute + comm);
        let message = if !self.modules && compute > Ns::ZERO {
            "no modules are recorded: profile with with_stack=True, or with_modules=True for TorchScript"
                .to_owned()
        } else if replayed >= NOT_MISSED_PCT {
            format!(
                "{replayed:.0} % of GPU time is of replayed graphs, which belong as a whole to the module that replays them"
            )
        } else {
            return None;
        };
        Some(Quality::new(Code::MissingModules, 1, message).of_rank(rank))
    }
}

fn row(view: View<'_>, calls: &Calls, tree: &Tree, module: &Module, pass: Pass, steps: u64) -> Layer {
    let mut times: Vec<Ns> = module.loads(calls, pass).map(|load| load.compute).collect();
    let (own, total) = (module.own[pass as usize], module.total[pass as usize]);
    Layer {
        module: module.label(view),
        parent: tree.parent(module).map(|parent| parent.label(view)),
        depth: module.depth,
        pass,
        calls: times.len() as u64,
        gpu_events: total.count,
        own_ns: own.compute,
        total_ns: total.compute,
        own_comm_ns: own.comm,
        comm_ns: total.comm,
        per_step_ns: total.compute.as_f64() / steps.max(1) as f64,
        pct: total.compute.pct_of(calls.all.compute),
        spread: Spread::of(&mut times),
    }
}

#[cfg(test)]
mod tests;
