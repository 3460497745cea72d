//! The steps of one rank.

use gpuscope_trace::{Ns, ServingPhase, ServingStep, StepOrigin, Steps, View};
use serde::Serialize;

use crate::shared::cover::Cover;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InferenceStep {
    pub rank: u32,
    pub step: i64,
    /// The annotation.
    pub name: String,
    pub phase: ServingPhase,
    /// Whether it belongs to the steady state.
    pub steady: bool,
    /// Requests in the batch and tokens worked on, of both phases; null where the annotation does not tell.
    pub requests: Option<i64>,
    pub tokens: Option<i64>,
    pub prefill_requests: Option<i64>,
    pub prefill_tokens: Option<i64>,
    pub decode_requests: Option<i64>,
    pub decode_tokens: Option<i64>,
    pub start_ns: Ns,
    /// How long the annotation lasted on the host.
    pub wall_ns: Ns,
    /// The first start and the last end of its GPU work.
    pub gpu_start_ns: Option<Ns>,
    pub gpu_end_ns: Option<Ns>,
    pub busy_ns: Ns,
    pub idle_ns: Ns,
    /// From the last end of the steps before to the first start; 0 if they overlap, null for the first.
    pub gap_ns: Option<Ns>,
    /// From the last end of the step before to that of this one; null for the first.
    pub period_ns: Option<Ns>,
    pub gpu_events: u64,
    /// Of `gpu_events`, those that a graph replayed.
    pub replayed: u64,
    /// How long its first GPU work waited after its launch for work of the steps before.
    #[serde(skip)]
    pub held_up_ns: Ns,
}

/// Work that begins later after its launch waited for other work.
const LAUNCHING: Ns = Ns(100_000);

impl InferenceStep {
    /// From the last end of the step before to that of this one. If that is not recorded, from when the GPU was free
    /// for it: from its annotation's start, or from its first work where that was held up.
    pub(crate) fn length(&self) -> Ns {
        let annotated = self.start_ns + self.wall_ns;
        let free = self.gpu_start_ns.filter(|_| self.held_up_ns > Ns::ZERO).unwrap_or(self.start_ns);
        let window = || self.gpu_end_ns.map_or(annotated, |end| end.max(annotated)) - free;
        self.period_ns.filter(|period| *period > Ns::ZERO).unwrap_or_else(window)
    }
}

#[derive(Clone, Default)]
struct Work {
    busy: Cover,
    first: Option<Ns>,
    last: Option<Ns>,
    held_up: Ns,
    events: u64,
    replayed: u64,
}

/// The server's steps, unless the user marked others.
pub(crate) fn steps_of(view: View<'_>) -> Steps {
    if view.steps().origin == StepOrigin::Marker { view.steps().clone() } else { Steps::serving(view.trace) }
}

pub(crate) fn of(rank: u32, view: View<'_>) -> Vec<InferenceStep> {
    let steps = steps_of(view);
    if steps.is_empty() {
        return Vec::new();
    }
    let mut work = vec![Work::default(); steps.len()];
    let (mut cursor, replays) = (steps.cursor(), super::replay::GraphLaunches::of(view));
    for event in view.gpu() {
        let call = view.launch(event.row);
        let issued = call.and_then(|call| view.trace.start(call)).unwrap_or(event.start);
        let Some(step) = cursor.at(issued) else { continue };
        let own = &mut work[step];
        own.busy.add(event.interval());
        if own.first.is_none() {
            own.first = Some(event.start);
            let launched = call.and_then(|call| view.trace.span(call)).map_or(event.start, |(_, end)| end);
            own.held_up = Some(event.start - launched).filter(|wait| *wait > LAUNCHING).unwrap_or_default();
        }
        own.last = own.last.max(Some(event.end));
        own.events += 1;
        own.replayed += u64::from(call.is_some_and(|call| replays.has(view, call)));
    }
    let mut latest: Option<Ns> = None;
    let mut rows = Vec::with_capacity(steps.len());
    for (step, work) in steps.iter().zip(work) {
        if work.events == 0 && !view.selection.has(step.row) {
            continue;
        }
        let name = view.trace.name(step.row);
        let told = ServingStep::parse(name);
        let busy = work.busy.len();
        rows.push(InferenceStep {
            rank,
            step: step.number,
            name: name.to_owned(),
            phase: told.map_or(ServingPhase::Other, |told| told.phase),
            steady: false,
            requests: told.and_then(|told| told.requests()),
            tokens: told.and_then(|told| told.tokens()),
            prefill_requests: told.and_then(|told| told.prefill.requests),
            prefill_tokens: told.and_then(|told| told.prefill.tokens),
            decode_requests: told.and_then(|told| told.decode.requests),
            decode_tokens: told.and_then(|told| told.decode.tokens),
            start_ns: step.start,
            wall_ns: view.trace.dur(step.row).unwrap_or_default(),
            gpu_start_ns: work.first,
            gpu_end_ns: work.last,
            busy_ns: busy,
            idle_ns: work.last.zip(work.first).map_or(Ns::ZERO, |(last, first)| last - first - busy),
            gap_ns: work.first.zip(latest).map(|(first, before)| (first - before).max(Ns::ZERO)),
            period_ns: work.last.zip(latest).map(|(last, before)| last - before),
            gpu_events: work.events,
            replayed: work.replayed,
            held_up_ns: work.held_up,
        });
        latest = latest.max(work.last);
    }
    rows
}
