//! How does an inference server spend its GPU: step by step, reading prompts (prefill) and producing tokens (decode)?
//!
//! Steps are the annotations of inference servers (see [`gpuscope_trace::ServingStep`]), or those of `--step-marker`. A step owns the GPU events
//! launched from its beginning to that of the next. `busy_ns` is the time in which any of them ran, `idle_ns` the rest
//! between the first start and the last end, `gap_ns` the time from the end of the step before to the first start,
//! `period_ns` the time from the last end of the step before to that of this one: one token of every request that goes
//! on. The steady state ([`steady`]) leaves the filling and the draining of the batch out.
//!
//! What a graph replays has one launch for all kernels. They are listed, and with traces of the graphs' capture each
//! gets the operator and module that launched it then ([`capture`]).

mod align;
pub mod capture;
mod phases;
mod replay;
mod steady;
pub(crate) mod steps;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use gpuscope_trace::{Code, Quality, View};
use serde::Serialize;

use crate::Question;

pub use capture::{Captures, GraphCapture};
pub use phases::PhaseRow;
pub use replay::{ReplayedKernel, ReplayedOperator, Replays};
pub use steady::Steady;
pub use steps::InferenceStep;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InferenceAnswer {
    /// Prefill, decode and mixed steps of each rank, of all steps and of the steady state.
    pub phases: Vec<PhaseRow>,
    pub steady: Vec<Steady>,
    pub replays: Vec<Replays>,
    /// What replayed kernels belong to, as the capture tells; the longest in sum first.
    pub replayed_operators: Vec<ReplayedOperator>,
    pub replayed_kernels: Vec<ReplayedKernel>,
    pub steps: Vec<InferenceStep>,
}

#[derive(Clone, Debug, Default)]
pub struct Inference {
    /// What was recorded while graphs were captured.
    pub captures: Arc<Captures>,
}

impl Question for Inference {
    type Local = InferenceAnswer;
    type Answer = InferenceAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> InferenceAnswer {
        let mut steps = steps::of(rank, view);
        let steady = steady::find(rank, &mut steps);
        let replayed = replay::of(rank, view, &self.captures);
        InferenceAnswer {
            phases: phases::of(rank, &steps),
            steady: steady.into_iter().collect(),
            replays: replayed.replays.into_iter().collect(),
            replayed_operators: replayed.operators,
            replayed_kernels: replayed.kernels,
            steps,
        }
    }

    fn merge(&self, locals: Vec<InferenceAnswer>) -> InferenceAnswer {
        let mut all = InferenceAnswer::default();
        for local in locals {
            all.phases.extend(local.phases);
            all.steady.extend(local.steady);
            all.replays.extend(local.replays);
            all.replayed_operators.extend(local.replayed_operators);
            all.replayed_kernels.extend(local.replayed_kernels);
            all.steps.extend(local.steps);
        }
        // Stable, so that equal ones stay by rank.
        all.replayed_operators.sort_by_key(|row| std::cmp::Reverse(row.sum_ns));
        all.replayed_kernels.sort_by_key(|row| std::cmp::Reverse(row.sum_ns));
        all
    }

    fn quality(&self, answer: &InferenceAnswer) -> Vec<Quality> {
        let no_steps = answer.steps.is_empty().then(|| {
            let message = "no annotation is named as vLLM, SGLang or xDiT name their steps (execute_…, \
                           step[DECODE …], prefill[…]); --step-marker REGEX says which are steps";
            Quality::new(Code::NoServingSteps, 1, message)
        });
        let uncaptured = answer.replays.iter().any(|replays| replays.captured_graphs == 0).then(|| {
            let message = "what graphs replayed has no operators; a trace of the capture beside it tells them, or \
                           --capture FILE";
            Quality::new(Code::NoGraphCapture, 1, message)
        });
        no_steps.into_iter().chain(uncaptured).collect()
    }
}
