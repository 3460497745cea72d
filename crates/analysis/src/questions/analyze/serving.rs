//! The steps of an inference server: how long reading prompts and producing tokens take, and how much of that time the
//! GPU works.

use std::collections::BTreeMap;

use gpuscope_trace::{Ns, ServingPhase, View};
use serde::Serialize;

use super::top::TopKernel;
use crate::idle::Unrecorded;
use crate::inference::steps;
use crate::inference::{InferenceAnswer, InferenceStep};
use crate::shared::median::median;

/// What is known of a server's steps, over all ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Serving {
    /// The median step that gives every request its next token: a decode step, or a mixed one where there are none.
    pub time_per_output_token_ns: Option<Ns>,
    pub phases: Vec<PhaseTimes>,
    /// What the first step waited for work from before the recording, where most: no time of a phase.
    pub held_up_ns: Ns,
    /// Of the GPU events of these steps, those that a graph replayed.
    pub replayed_pct: f64,
    /// Of the replayed time, that whose operator is known from traces of the capture; none without one.
    pub attributed_pct: Option<f64>,
    pub captures: Vec<String>,
}

/// The steps of one phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseTimes {
    pub phase: ServingPhase,
    pub steps: u64,
    /// From the end of the step before to the end of this one.
    pub median_ns: Ns,
    /// Mean over steps that tell.
    pub mean_requests: Option<f64>,
    /// Of the time of all of them.
    pub gpu_busy_pct: f64,
    pub replayed_pct: f64,
}

/// The steps of one rank, each with its length.
#[derive(Debug, Default)]
pub(super) struct RankServing {
    steps: Vec<(InferenceStep, Ns)>,
    held_up: Ns,
}

impl RankServing {
    pub(super) fn of(rank: u32, view: View<'_>) -> RankServing {
        let steps = steps::of(rank, view);
        if steps.iter().all(|step| step.phase == ServingPhase::Other) {
            return RankServing::default();
        }
        // What ran from before the recording belongs to the steps before.
        let (unrecorded, mut held_up) = (Unrecorded::time(view), Ns::ZERO);
        let length = |(i, step): (usize, InferenceStep)| {
            let is_first = i == 0 && step.period_ns.is_none();
            let earlier = if is_first { unrecorded } else { Ns::ZERO };
            let length = (step.length() - earlier).max(step.busy_ns);
            if is_first {
                held_up = earlier + step.held_up_ns;
            }
            (step, length)
        };
        let steps = steps.into_iter().enumerate().map(length).collect();
        RankServing { steps, held_up }
    }
}

pub(super) fn merge(ranks: Vec<RankServing>) -> Option<Serving> {
    let mut by_phase: BTreeMap<ServingPhase, Vec<(InferenceStep, Ns)>> = BTreeMap::new();
    let held_up_ns = ranks.iter().map(|rank| rank.held_up).max().unwrap_or_default();
    for (step, length) in ranks.into_iter().flat_map(|rank| rank.steps) {
        by_phase.entry(step.phase).or_default().push((step, length));
    }
    if by_phase.is_empty() {
        return None;
    }
    let all = || by_phase.values().flatten().map(|(step, _)| step);
    let replayed_pct = replayed_pct(all());
    let phases: Vec<PhaseTimes> = by_phase.iter().map(|(phase, steps)| times(*phase, steps)).collect();
    let of = |phase| phases.iter().find(|row| row.phase == phase).map(|row| row.median_ns);
    Some(Serving {
        time_per_output_token_ns: of(ServingPhase::Decode).or_else(|| of(ServingPhase::Mixed)),
        phases,
        held_up_ns,
        replayed_pct,
        ..Serving::default()
    })
}

fn times(phase: ServingPhase, steps: &[(InferenceStep, Ns)]) -> PhaseTimes {
    let requests: Vec<i64> = steps.iter().filter_map(|(step, _)| step.requests).collect();
    let busy: Ns = steps.iter().map(|(step, _)| step.busy_ns).sum();
    let whole: Ns = steps.iter().map(|(_, length)| *length).sum();
    PhaseTimes {
        phase,
        steps: steps.len() as u64,
        median_ns: median(steps.iter().map(|(_, length)| *length).collect()).unwrap_or_default(),
        mean_requests: (!requests.is_empty())
            .then(|| requests.iter().map(|n| *n as f64).sum::<f64>() / requests.len() as f64),
        gpu_busy_pct: busy.pct_of(whole),
        replayed_pct: replayed_pct(steps.iter().map(|(step, _)| step)),
    }
}

fn replayed_pct<'s>(steps: impl Iterator<Item = &'s InferenceStep>) -> f64 {
    let sum = |(events, replayed): (u64, u64), step: &InferenceStep| {
        (events + step.gpu_events, replayed + step.replayed)
    };
    match steps.fold((0, 0), sum) {
        (0, _) => 0.0,
        (events, replayed) => 100.0 * replayed as f64 / events as f64,
    }
}

impl Serving {
    /// The steps that the time per output token is of.
    pub fn decode(&self) -> Option<&PhaseTimes> {
        let of = |phase| self.phases.iter().find(|row| row.phase == phase);
        of(ServingPhase::Decode).or_else(|| of(ServingPhase::Mixed))
    }

    /// What traces of the capture tell, read from these files.
    pub(super) fn name_replayed(&mut self, told: &InferenceAnswer, files: Vec<String>) {
        let sum = |of: fn(&crate::inference::Replays) -> Ns| told.replays.iter().map(of).sum::<Ns>();
        self.attributed_pct = Some(sum(|r| r.attributed_ns).pct_of(sum(|r| r.replayed_ns)));
        self.captures = files;
    }
}

/// Kernels that graphs replayed have no operator of their own; the capture may tell which launched most of each.
pub(super) fn name_kernels(kernels: &mut [TopKernel], told: &InferenceAnswer) {
    for kernel in kernels.iter_mut().filter(|kernel| kernel.operator.is_none()) {
        // The longest in sum come first.
        let of_kernel = told.replayed_kernels.iter().find(|replayed| replayed.name == kernel.name);
        kernel.operator = of_kernel.and_then(|replayed| replayed.operator.clone());
    }
}
