//! How many operations per second does each module of the model get, and how many tokens or samples does the job?
//!
//! Modules, passes and their GPU time are those of [`crate::layers`]; operations are those of the matrix units
//! (products, convolutions, attention) of the operators below a call, each counted once, as for MFU in [`crate::ops`].
//! A call's TFLOP/s are its operations by its compute time, all of it: what surrounds the products costs time, too.
//! `known_pct` is the share of that time in operators whose work is known; where it is low, there may be more
//! operations than are counted. Figures of calls are over those with operations in the pass.
//!
//! Tokens and samples per second are those of one rank, which the user says, by the time of each step that counts for
//! the step time of [`crate::breakdown`]; without steps all of the trace is one.

mod figures;
mod steps;
mod table;

use gpuscope_trace::{Ns, Quality, View};
use gpuscope_work::{Engine, Models};
use serde::Serialize;

use crate::Question;
use crate::layers::{Calls, Load, Module, Pass, Seen, Tree};
use crate::ops::EventWork;
use crate::shared::spread::Quartiles;

pub use steps::{PerStep, StepRates};

/// One module in one pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerRate {
    pub rank: u32,
    /// `Linear_3`, or the text of `Module Hierarchy`.
    pub module: String,
    pub parent: Option<String>,
    /// How many modules are around it.
    pub depth: u32,
    pub pass: Pass,
    /// Calls with GPU work in this pass.
    pub calls: u64,
    /// GPU time of all calls but communication, that of the modules inside included.
    pub compute_ns: Ns,
    /// Of this, the share in operators with known work.
    pub known_pct: f64,
    /// Operations of all calls; null if none are known.
    pub gflops: Option<f64>,
    /// Operations of all calls by their compute time.
    pub tflops_per_s: Option<f64>,
    /// Of the calls with operations.
    pub call_tflops_per_s: Option<Quartiles>,
}

/// How much of a rank's GPU time and operations the modules have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankThroughput {
    pub rank: u32,
    /// All GPU time but communication, added up.
    pub compute_ns: Ns,
    /// Of this, the share in operators with known work.
    pub known_pct: f64,
    pub gflops: f64,
    /// Of no module.
    pub without_module_ns: Ns,
    pub without_module_gflops: f64,
    #[serde(skip)]
    missing: Option<Quality>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ThroughputAnswer {
    /// As a tree: each module before those called from it.
    pub layers: Vec<LayerRate>,
    pub steps: Vec<StepRates>,
    pub ranks: Vec<RankThroughput>,
}

#[derive(Clone, Debug, Default)]
pub struct Throughput {
    /// List only modules with fewer others around them.
    pub depth: Option<u32>,
    /// The built-in ones, if none are given.
    pub models: Option<Models>,
    pub per_step: PerStep,
}

impl Question for Throughput {
    type Local = ThroughputAnswer;
    type Answer = ThroughputAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> ThroughputAnswer {
        let models = self.models.as_ref().unwrap_or_else(|| Models::built_in());
        let work = EventWork::of(view, models, |work| work.engine == Engine::Matrix);
        let calls = Calls::of(view, |event| {
            let load = Load::of(event);
            let known = if work.is_known(event.row) { load.compute } else { Ns::ZERO };
            Load { known, flops: work.flops(event.row), ..load }
        });
        let tree = Tree::of(&calls);
        let row = |(module, pass): (&Module, Pass)| {
            let total = module.total[pass as usize];
            let rates = module.loads(&calls, pass).filter_map(tflops_per_s).collect();
            LayerRate {
                rank,
                module: module.label(view),
                parent: tree.parent(module).map(|parent| parent.label(view)),
                depth: module.depth,
                pass,
                calls: module.loads(&calls, pass).count() as u64,
                compute_ns: total.compute,
                known_pct: total.known.pct_of(total.compute),
                gflops: (total.flops > 0).then(|| giga(total.flops)),
                tflops_per_s: tflops_per_s(total),
                call_tflops_per_s: Quartiles::of(rates),
            }
        };
        let layers: Vec<LayerRate> = tree.rows(self.depth).map(row).collect();
        let (all, outside) = (calls.all, calls.outside);
        let seen = Seen { modules: !layers.is_empty(), replayed: calls.replayed };
        let about = RankThroughput {
            rank,
            compute_ns: all.compute,
            known_pct: all.known.pct_of(all.compute),
            gflops: giga(all.flops),
            without_module_ns: outside.compute,
            without_module_gflops: giga(outside.flops),
            missing: seen.missing(rank, all.compute, all.comm),
        };
        let steps = StepRates::of(rank, view, self.per_step);
        ThroughputAnswer { layers, steps: steps.into_iter().collect(), ranks: vec![about] }
    }

    fn merge(&self, locals: Vec<ThroughputAnswer>) -> ThroughputAnswer {
        let mut all = ThroughputAnswer::default();
        for local in locals {
            all.layers.extend(local.layers);
            all.steps.extend(local.steps);
            all.ranks.extend(local.ranks);
        }
        all
    }

    fn quality(&self, answer: &ThroughputAnswer) -> Vec<Quality> {
        answer.ranks.iter().filter_map(|rank| rank.missing.clone()).collect()
    }
}

fn giga(flops: u128) -> f64 {
    flops as f64 / 1e9
}

fn tflops_per_s(load: Load) -> Option<f64> {
    (load.flops > 0 && load.compute > Ns::ZERO).then(|| load.flops as f64 / load.compute.as_f64() / 1e3)
}

#[cfg(test)]
mod tests;
