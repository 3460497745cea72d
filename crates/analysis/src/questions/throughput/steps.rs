//! Tokens and samples per second, step by step.

use gpuscope_trace::{Ns, View};
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::breakdown::{RankBreakdown, StepTimes};
use crate::model::step_time::Basis;
use crate::shared::spread::{Quartiles, Spread};
use crate::{Breakdown, Question};

/// What the user says about one rank in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PerStep {
    pub tokens: Option<f64>,
    pub samples: Option<f64>,
}

/// The steps of one rank.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepRates {
    pub rank: u32,
    /// Steps that count; 0 if all of the trace is one.
    pub steps: u64,
    /// What the length of a step is taken from; null if all of the trace is one.
    pub from: Option<Basis>,
    /// Of the steps' lengths.
    #[serde(flatten)]
    pub spread: Spread,
    /// With `--tokens-per-step`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_s: Option<Quartiles>,
    /// With `--samples-per-step`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples_per_s: Option<Quartiles>,
}

impl StepRates {
    /// Absent without GPU work.
    pub(super) fn of(rank: u32, view: View<'_>, per_step: PerStep) -> Option<StepRates> {
        let breakdown = Breakdown::default().local(rank, view);
        let mut lengths = lengths(&breakdown);
        let (steps, from) = (lengths.len() as u64, breakdown.step_time.as_ref().map(|time| time.from));
        if lengths.is_empty() {
            lengths = Some(breakdown.total.total_ns).filter(|whole| *whole > Ns::ZERO).into_iter().collect();
        }
        let rates = |amount: Option<f64>| {
            let amount = amount.filter(|amount| *amount > 0.0)?;
            Quartiles::of(lengths.iter().map(|length| amount * 1e9 / length.as_f64()).collect())
        };
        let (tokens_per_s, samples_per_s) = (rates(per_step.tokens), rates(per_step.samples));
        let from = from.filter(|_| steps > 0);
        let spread = (!lengths.is_empty()).then(|| Spread::of(&mut lengths))?;
        Some(StepRates { rank, steps, from, spread, tokens_per_s, samples_per_s })
    }
}

/// Of the steps that step time is the median of; of all with a length, if it is of none.
fn lengths(breakdown: &RankBreakdown) -> Vec<Ns> {
    let Some(time) = &breakdown.step_time else { return Vec::new() };
    let left_out: FxHashSet<i64> = time.left_out.iter().map(|out| out.step).collect();
    let length = |row: &StepTimes| match time.from {
        Basis::Period => row.period_ns,
        Basis::Window => Some(row.window_ns),
    };
    let rows = || breakdown.steps.iter().chain(&breakdown.inferred_steps);
    let of = |counts: &dyn Fn(&StepTimes) -> bool| -> Vec<Ns> {
        rows().filter(|row| counts(row)).filter_map(length).filter(|length| *length > Ns::ZERO).collect()
    };
    let used = of(&|row| !left_out.contains(&row.step));
    if used.is_empty() { of(&|_| true) } else { used }
}
