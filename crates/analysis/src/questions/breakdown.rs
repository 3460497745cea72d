//! Where did the GPU's time go: computing, communicating, copying, or nothing at all?
//!
//! Over a set of GPU events, with COMP, COMM and MEMCPY the times in which at least one event of that kind ran
//! (memory sets count as computation here):
//! `computation_ns` = |COMP|, `comm_ns` = |COMM|, `memcpy_ns` = |MEMCPY|, `exposed_comm_ns` = |COMM − COMP|,
//! `exposed_memcpy_ns` = |MEMCPY − COMP − COMM|, `busy_ns` the time in which anything ran, `total_ns` from the
//! first start to the last end, `idle_ns` the rest. Computation + exposed communication + exposed copies + idle
//! make up the total, to the nanosecond. Gaps shorter than the micro-idle threshold are `micro_idle_ns`, the
//! rest of the idle time is `macro_idle_ns`.
//!
//! `total` takes all devices of a rank together, `devices` each by itself, `steps` the GPU work that each step
//! launched, wherever in time it ran. A step also has its host annotation (`wall_ns`), its period (from the last
//! GPU end of the step before; none if that step was not recorded or either has no GPU work) and its window,
//! from the annotation's start to the later of its end and the last GPU end. `lead_idle_ns` is the part of the
//! window before the first GPU event, `tail_idle_ns` the part after the last. Should a clock artefact put a GPU
//! event before the annotation, the window begins there. A step without GPU work is a row of zeros that leads
//! through its whole window.
//!
//! `est_sm_efficiency_pct` and `est_occupancy_pct` say how far kernels filled the device while they ran; see
//! the module `sm_fill` for the definition.

mod by_step;
mod figures;
mod first_steps;
mod scopes;
mod sweep;
mod table;

use gpuscope_trace::{Ns, StepOrigin, View};
use serde::Serialize;

use crate::Question;
use crate::idle::Unrecorded;
use crate::model::step_time::{Basis, StepTime, step_time};
pub(crate) use first_steps::FirstSteps;
use scopes::Scopes;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    pub computation_ns: Ns,
    pub comm_ns: Ns,
    pub memcpy_ns: Ns,
    pub exposed_comm_ns: Ns,
    pub exposed_memcpy_ns: Ns,
    pub busy_ns: Ns,
    pub total_ns: Ns,
    pub idle_ns: Ns,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micro_idle_ns: Option<Ns>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macro_idle_ns: Option<Ns>,
    pub est_sm_efficiency_pct: Option<f64>,
    pub est_occupancy_pct: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceTimes {
    pub device: i64,
    #[serde(flatten)]
    pub times: Times,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepTimes {
    pub step: i64,
    #[serde(flatten)]
    pub times: Times,
    pub wall_ns: Ns,
    pub period_ns: Option<Ns>,
    pub window_ns: Ns,
    pub lead_idle_ns: Ns,
    pub tail_idle_ns: Ns,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankBreakdown {
    pub rank: u32,
    pub total: Times,
    /// Of the total's idle time, that in which work from before the recording still ran.
    pub unrecorded_ns: Ns,
    pub devices: Vec<DeviceTimes>,
    /// The recorded steps, or those of the user's marker.
    pub steps: Vec<StepTimes>,
    /// A guess, for traces that record no steps.
    pub inferred_steps: Vec<StepTimes>,
    pub step_time_ns: Option<Ns>,
    /// How the step time was found.
    pub step_time: Option<StepTime>,
    /// First steps that are unlike the others, by number: explanations leave them out.
    pub set_apart: Vec<i64>,
}

/// Steps whose length is so much of the step time further from it than the nearest are as good.
const AS_NEAR: i64 = 100;

impl RankBreakdown {
    /// Its steps, recorded or guessed.
    pub(crate) fn step_rows(&self) -> &[StepTimes] {
        if self.steps.is_empty() { &self.inferred_steps } else { &self.steps }
    }

    /// The step that stands for all where one is wanted: of those that the step time is of and that are as long, the one
    /// in the middle. None if no step has GPU work. Where two are so far apart that none is near, it is the longer.
    ///
    /// Ranks that wait for each other have steps of nearly, not exactly, one length. The nearest alone would be another
    /// step on each rank.
    pub(crate) fn median_step(&self) -> Option<&StepTimes> {
        let time = self.step_time.as_ref()?;
        let rows = self.step_rows();
        let length = |row: &StepTimes| match time.from {
            Basis::Period => row.period_ns,
            Basis::Window => Some(row.window_ns),
        };
        let works = |row: &&StepTimes| row.times.busy_ns > Ns::ZERO;
        let used = |row: &&StepTimes| works(row) && !time.left_out.iter().any(|out| out.step == row.step);
        let mut steps: Vec<&StepTimes> = rows.iter().filter(used).collect();
        if steps.is_empty() {
            steps = rows.iter().filter(works).collect();
        }
        let distance =
            |row: &StepTimes| length(row).map_or(i64::MAX, |ns| (ns.0 - time.ns.0).saturating_abs());
        let nearest = steps.iter().map(|row| distance(row)).min()?;
        steps.retain(|row| distance(row) <= nearest.saturating_add(time.ns.0 / AS_NEAR));
        if time.steps_used == 0 {
            // Of two that are far apart the longer has most of the time that there is to explain.
            return steps.into_iter().max_by_key(|row| length(row));
        }
        steps.get(steps.len() / 2).copied()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BreakdownAnswer {
    pub ranks: Vec<RankBreakdown>,
}

/// The question, with its options.
#[derive(Clone, Debug, Default)]
pub struct Breakdown {
    /// Gaps shorter than this are counted apart.
    pub micro_idle: Option<Ns>,
}

impl Breakdown {
    /// With a threshold in microseconds, to the nearest nanosecond.
    #[must_use]
    pub fn micro_idle_us(mut self, us: f64) -> Breakdown {
        self.micro_idle = Some(Ns::from_fractional_us(us));
        self
    }
}

impl Question for Breakdown {
    type Local = RankBreakdown;
    type Answer = BreakdownAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankBreakdown {
        if self.micro_idle.is_some() {
            return self.rank(rank, view);
        }
        // Half of all questions begin with it.
        let shared = view.derived(|| self.rank(rank, view));
        RankBreakdown { rank, ..RankBreakdown::clone(&shared) }
    }

    fn merge(&self, locals: Vec<RankBreakdown>) -> BreakdownAnswer {
        BreakdownAnswer { ranks: locals }
    }
}

impl Breakdown {
    fn rank(&self, rank: u32, view: View<'_>) -> RankBreakdown {
        let steps = view.steps();
        let scopes = Scopes::of(view, steps, self.micro_idle);
        let (total, devices) = scopes.by_device(self.micro_idle);
        let (rows, candidates) = by_step::by_step(view, steps, scopes.steps, self.micro_idle);
        let step_time = step_time(&candidates);
        let set_apart = first_steps::set_apart(view, &rows);
        let (steps, inferred_steps) = match steps.origin {
            StepOrigin::Recorded | StepOrigin::Marker => (rows, Vec::new()),
            StepOrigin::Inferred => (Vec::new(), rows),
        };
        let step_time_ns = step_time.as_ref().map(|time| time.ns);
        let unrecorded_ns = Unrecorded::time(view);
        RankBreakdown {
            rank,
            total,
            unrecorded_ns,
            devices,
            steps,
            inferred_steps,
            step_time_ns,
            step_time,
            set_apart,
        }
    }
}

#[cfg(test)]
mod tests;
