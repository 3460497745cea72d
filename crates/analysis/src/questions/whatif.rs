//! How long would a step take if something were different?
//!
//! The dependency graph of all recorded steps (see `critical-path`) is run again with some times changed. Without a
//! change it gives back what was recorded; `residual_ns` is how much of a step it holds only because of delays that
//! the model cannot explain, and says how far to trust a prediction.
//!
//! Scaling communication scales its transfer; waiting follows from when the other ranks arrive. Where the other ranks
//! are not here, what was waiting and what transfer is not known, and the prediction is a range; they are taken to
//! arrive as much sooner or later as the rank that is here. Not modelled: that kernels which run at the same time slow
//! each other down, and what a change would do to memory and caches.

mod changes;
mod table;

use gpuscope_trace::{Ns, Quality, View};
use serde::Serialize;

use crate::Question;
use crate::breakdown::FirstSteps;
use crate::model::graph::{Alone, Scenario, unexplained_delays};
use crate::model::job::{JobModel, Prediction, RankModel, Shares};

pub use crate::model::job::NamePattern;
pub use changes::{Changes, Scale, ScaleOf};

#[derive(Clone, Debug, Default)]
pub struct WhatIf {
    pub changes: Changes,
}

/// What a pattern found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Matched {
    pub pattern: String,
    pub gpu_events: u64,
    pub gpu_ns: Ns,
    /// Host work between launches.
    pub host_ns: Ns,
}

/// What the critical path of the slowest rank consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bottleneck {
    pub host_ns: Ns,
    pub computation_ns: Ns,
    pub communication_ns: Ns,
    pub copies_ns: Ns,
    pub launching_ns: Ns,
    pub synchronisation_ns: Ns,
    pub unknown_ns: Ns,
    /// The largest of them.
    pub largest: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RankStep {
    pub rank: u32,
    pub step_time_ns: Ns,
    pub predicted_ns: Ns,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WhatIfAnswer {
    /// As recorded: the median rank's step time.
    pub step_time_ns: Ns,
    pub predicted_ns: Ns,
    /// If what cannot be told apart goes the other way: whether communication with ranks that are not here was
    /// transfer or waiting.
    pub predicted_high_ns: Ns,
    pub saved_ns: Ns,
    pub saved_pct: f64,
    /// Held up by nothing the model knows.
    pub residual_ns: Ns,
    pub residual_pct: f64,
    pub bottleneck_before: Bottleneck,
    pub bottleneck_after: Bottleneck,
    pub matched: Vec<Matched>,
    pub ranks: Vec<RankStep>,
    /// That first steps are set apart.
    #[serde(skip)]
    pub set_apart: Option<Quality>,
}

#[derive(Debug)]
pub struct LocalModel {
    model: Option<RankModel>,
    matched: Vec<Matched>,
}

impl Question for WhatIf {
    type Local = LocalModel;
    type Answer = WhatIfAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> LocalModel {
        let model = self.changes.model(rank, view);
        let matched = model.as_ref().map(|model| self.changes.matched(model)).unwrap_or_default();
        LocalModel { model, matched }
    }

    fn merge(&self, locals: Vec<LocalModel>) -> WhatIfAnswer {
        let mut matched: Vec<Matched> = Vec::new();
        let mut models = Vec::new();
        for local in locals {
            if matched.is_empty() {
                matched = local.matched;
            } else {
                for (all, own) in matched.iter_mut().zip(local.matched) {
                    all.gpu_events += own.gpu_events;
                    all.gpu_ns += own.gpu_ns;
                    all.host_ns += own.host_ns;
                }
            }
            models.push(local.model);
        }
        let model = JobModel::new(models);
        if model.ranks.is_empty() {
            return WhatIfAnswer::default();
        }
        let scenario = self.changes.scenario(&model);
        let (before, after) = (model.as_recorded(), model.predict(&scenario));
        let (low, high) = range(&model, scenario, after.step);
        let residual = (before.step - model.explained_step()).max(Ns::ZERO);
        WhatIfAnswer {
            step_time_ns: before.step,
            predicted_ns: low,
            predicted_high_ns: high,
            saved_ns: before.step - low,
            saved_pct: (before.step - low).pct_of(before.step),
            residual_ns: residual,
            residual_pct: residual.pct_of(before.step),
            bottleneck_before: before.bottleneck.into(),
            bottleneck_after: after.bottleneck.into(),
            matched,
            ranks: ranks(&model, &before, &after),
            set_apart: model.first_steps().map(FirstSteps::quality),
        }
    }

    fn quality(&self, answer: &WhatIfAnswer) -> Vec<Quality> {
        let unexplained = unexplained_delays(answer.residual_ns, answer.step_time_ns, "a step");
        unexplained.into_iter().chain(answer.set_apart.clone()).collect()
    }
}

/// The step time if communication of ranks that are not here was all transfer, and if it was all waiting.
fn range(model: &JobModel, scenario: Scenario, all_transfer: Ns) -> (Ns, Ns) {
    if !model.has_lone_communication() {
        return (all_transfer, all_transfer);
    }
    let all_waiting = model.predicted_step(&Scenario { alone: Alone::Waits, ..scenario });
    (all_transfer.min(all_waiting), all_transfer.max(all_waiting))
}

fn ranks(model: &JobModel, before: &Prediction, after: &Prediction) -> Vec<RankStep> {
    let each = model.ranks.iter().zip(&before.steps).zip(&after.steps);
    each.map(|((rank, before), after)| RankStep {
        rank: rank.rank,
        step_time_ns: *before,
        predicted_ns: *after,
    })
    .collect()
}

impl From<Shares> for Bottleneck {
    fn from(shares: Shares) -> Bottleneck {
        let named = [
            ("host", shares.host),
            ("computation", shares.computation),
            ("communication", shares.communication),
            ("copies", shares.copies),
            ("launching", shares.launching),
            ("synchronisation", shares.synchronisation),
        ];
        let largest = named.iter().rev().max_by_key(|(_, time)| *time).map_or("", |(name, _)| *name);
        Bottleneck {
            host_ns: shares.host,
            computation_ns: shares.computation,
            communication_ns: shares.communication,
            copies_ns: shares.copies,
            launching_ns: shares.launching,
            synchronisation_ns: shares.synchronisation,
            unknown_ns: shares.unknown,
            largest,
        }
    }
}
