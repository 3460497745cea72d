//! The steady state: the stretch in which the batch is full.
//!
//! A server fills its batch at the beginning and drains it at the end; figures over all steps mix these with what it
//! does under load. The full batch is the number of requests that one step in ten reaches (for fewer than ten steps the
//! most of any), so that a single burst does not set it. A step is full if it has nine tenths of that. A request that
//! ends leaves a hole until the next takes its place, so up to [`HOLES`] steps in a row may lack some. Of all such
//! stretches, from full step to full step, the one that lasts longest is the steady state; it takes at least
//! [`LEAST`] steps. Where annotations do not tell the requests, as in diffusion, every step is full but the first,
//! which warms up.

use gpuscope_trace::{Ns, ServingPhase};
use serde::Serialize;

use super::steps::InferenceStep;

const HOLES: usize = 2;
const LEAST: usize = 3;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Steady {
    pub rank: u32,
    /// The requests of a full batch; null where nothing tells.
    pub full_batch: Option<i64>,
    pub first_step: i64,
    pub last_step: i64,
    pub steps: u64,
    pub prefill_steps: u64,
    pub decode_steps: u64,
    pub mixed_steps: u64,
    /// From the last GPU end before it to its own last GPU end; from its first GPU start if nothing is before.
    pub time_ns: Ns,
    pub busy_ns: Ns,
    pub busy_pct: f64,
    /// Tokens produced for requests that go on, and tokens of prompts read; null where a step does not tell.
    pub decode_tokens: Option<i64>,
    pub prefill_tokens: Option<i64>,
    pub decode_tokens_per_s: Option<f64>,
    pub prefill_tokens_per_s: Option<f64>,
}

/// Finds the steady state and marks its steps.
pub(super) fn find(rank: u32, steps: &mut [InferenceStep]) -> Option<Steady> {
    let full_batch = full_batch(steps);
    let is_full = |(i, step): (usize, &InferenceStep)| match (full_batch, step.requests) {
        (Some(full), Some(requests)) => i128::from(requests) * 10 >= i128::from(full) * 9,
        (Some(_), None) => false,
        (None, _) => i > 0 && step.gpu_events > 0,
    };
    let full: Vec<bool> = steps.iter().enumerate().map(is_full).collect();
    let lasting = |(first, last): &(usize, usize)| time(steps, *first, *last);
    // Of equal ones the first.
    let longest = stretches(&full)
        .filter(|(first, last)| last - first + 1 >= LEAST)
        .reduce(|best, next| if lasting(&next) > lasting(&best) { next } else { best });
    let (first, last) = longest?;
    let time = time(steps, first, last);
    let own = &mut steps[first..=last];
    for step in &mut *own {
        step.steady = true;
    }
    let count = |phase| own.iter().filter(|step| step.phase == phase).count() as u64;
    let tokens = |of: fn(&InferenceStep) -> Option<i64>| {
        own.iter().map(of).try_fold(0i64, |sum, tokens| Some(sum.saturating_add(tokens?)))
    };
    let busy: Ns = own.iter().map(|step| step.busy_ns).sum();
    let decode = tokens(|step| step.decode_tokens.or((step.phase == ServingPhase::Prefill).then_some(0)));
    let prefill = tokens(|step| step.prefill_tokens.or((step.phase == ServingPhase::Decode).then_some(0)));
    Some(Steady {
        rank,
        full_batch,
        first_step: own[0].step,
        last_step: own[own.len() - 1].step,
        steps: own.len() as u64,
        prefill_steps: count(ServingPhase::Prefill),
        decode_steps: count(ServingPhase::Decode),
        mixed_steps: count(ServingPhase::Mixed),
        time_ns: time,
        busy_ns: busy,
        busy_pct: busy.pct_of(time),
        decode_tokens: decode,
        prefill_tokens: prefill,
        decode_tokens_per_s: per_second(decode, time),
        prefill_tokens_per_s: per_second(prefill, time),
    })
}

pub(super) fn per_second(tokens: Option<i64>, time: Ns) -> Option<f64> {
    (time > Ns::ZERO).then(|| tokens.map(|tokens| tokens as f64 * 1e9 / time.as_f64())).flatten()
}

fn full_batch(steps: &[InferenceStep]) -> Option<i64> {
    let mut requests: Vec<i64> = steps.iter().filter_map(|step| step.requests).filter(|n| *n > 0).collect();
    requests.sort_unstable_by_key(|n| std::cmp::Reverse(*n));
    requests.get(requests.len() / 10).copied()
}

/// From where the work before a stretch ended to where its own did.
fn time(steps: &[InferenceStep], first: usize, last: usize) -> Ns {
    let end = |steps: &[InferenceStep]| steps.iter().filter_map(|step| step.gpu_end_ns).max();
    let before =
        end(&steps[..first]).or_else(|| steps[first..=last].iter().find_map(|step| step.gpu_start_ns));
    end(&steps[first..=last]).zip(before).map_or(Ns::ZERO, |(end, before)| end - before)
}

/// Stretches from full step to full step, with at most so many holes in a row.
fn stretches(full: &[bool]) -> impl Iterator<Item = (usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (i, _) in full.iter().enumerate().filter(|(_, full)| **full) {
        match found.last_mut() {
            Some((_, last)) if i - *last <= HOLES + 1 => *last = i,
            _ => found.push((i, i)),
        }
    }
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_bridged_if_they_are_short() {
        let found = |marks: &str| {
            let full: Vec<bool> = marks.chars().map(|mark| mark == 'x').collect();
            stretches(&full).collect::<Vec<_>>()
        };
        assert_eq!(found("..xx.x..xx...x."), [(2, 9), (13, 13)]);
        assert_eq!(found("..."), []);
    }
}
