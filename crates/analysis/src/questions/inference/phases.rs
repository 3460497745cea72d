//! Steps taken together by what they work on.

use std::collections::BTreeMap;

use gpuscope_trace::{Ns, ServingPhase};
use serde::Serialize;

use super::steady::per_second;
use super::steps::InferenceStep;
use crate::shared::median::median;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseRow {
    pub rank: u32,
    pub phase: ServingPhase,
    /// Whether only steps of the steady state are counted.
    pub steady: bool,
    pub steps: u64,
    /// Mean over steps that tell.
    pub mean_requests: Option<f64>,
    /// Summed over steps that tell.
    pub tokens: Option<i64>,
    pub busy_ns: Ns,
    pub idle_ns: Ns,
    pub gap_ns: Ns,
    pub median_busy_ns: Ns,
    /// Of the steps that have one.
    pub median_period_ns: Option<Ns>,
    /// Tokens over the time of the steps that have a period.
    pub tokens_per_s: Option<f64>,
    /// Of the GPU events, those that a graph replayed.
    pub replayed_pct: f64,
}

pub(super) fn of(rank: u32, steps: &[InferenceStep]) -> Vec<PhaseRow> {
    let mut by_phase: BTreeMap<(bool, ServingPhase), Vec<&InferenceStep>> = BTreeMap::new();
    for step in steps {
        by_phase.entry((false, step.phase)).or_default().push(step);
        if step.steady {
            by_phase.entry((true, step.phase)).or_default().push(step);
        }
    }
    by_phase.into_iter().map(|((steady, phase), steps)| row(rank, phase, steady, &steps)).collect()
}

fn row(rank: u32, phase: ServingPhase, steady: bool, steps: &[&InferenceStep]) -> PhaseRow {
    let requests: Vec<i64> = steps.iter().filter_map(|step| step.requests).collect();
    let sum = |of: fn(&InferenceStep) -> Ns| steps.iter().map(|step| of(step)).sum::<Ns>();
    let periods: Vec<Ns> = steps.iter().filter_map(|step| step.period_ns).collect();
    let timed = steps.iter().filter(|step| step.period_ns.is_some()).map(|step| step.tokens);
    let timed = timed.flatten().reduce(i64::saturating_add);
    let events: u64 = steps.iter().map(|step| step.gpu_events).sum();
    let replayed: u64 = steps.iter().map(|step| step.replayed).sum();
    PhaseRow {
        rank,
        phase,
        steady,
        steps: steps.len() as u64,
        mean_requests: (!requests.is_empty())
            .then(|| requests.iter().map(|n| *n as f64).sum::<f64>() / requests.len() as f64),
        tokens: steps.iter().filter_map(|step| step.tokens).reduce(i64::saturating_add),
        busy_ns: sum(|step| step.busy_ns),
        idle_ns: sum(|step| step.idle_ns),
        gap_ns: sum(|step| step.gap_ns.unwrap_or_default()),
        median_busy_ns: median(steps.iter().map(|step| step.busy_ns).collect()).unwrap_or_default(),
        tokens_per_s: per_second(timed, periods.iter().copied().sum()),
        median_period_ns: median(periods),
        replayed_pct: if events == 0 { 0.0 } else { 100.0 * replayed as f64 / events as f64 },
    }
}
