//! How much of the GPU's time is forward pass, backward pass, optimizer, and what else?
//!
//! Every GPU event has exactly one phase, that of the call which launched it:
//!
//! * `backward`: inside autograd's engine, by its frames, by the forward thread that operators carry, on a thread that
//!   serves nothing else, or under Python's `backward`. Inside it, what a checkpoint runs again is `recompute`, and
//!   collectives that reduce while no operator's gradient is being computed are `gradient_communication`.
//! * `forward`: inside an operator that the backward pass undoes, a module, a loss, an annotation of the forward pass;
//!   also an operator with a sequence number where nothing else is known.
//! * `optimizer` and `data`: by annotations and Python frames; copies to the device outside all passes are data, too.
//! * `other`: the annotations or Python frames around the launch are there, and they are of no pass.
//! * `unattributed`: the launch is not in the trace, or nothing around it says anything. This is always shown.
//!
//! `sum_ns` adds up durations, so the phases of a rank make up all its GPU time; `union_ns` is the time in which at
//! least one event of the phase ran. An event belongs to the step in which it was launched.

mod clue;
mod events;
mod pass;
mod recomputed;

use gpuscope_table::{Table, Tabular, Unit};
use gpuscope_trace::{Interval, Ns, StepOrigin, View};
use serde::Serialize;

use crate::Question;
use crate::shared::cover::Cover;

pub(crate) use events::of;
pub(crate) use recomputed::recomputed;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Forward,
    Backward,
    Recompute,
    GradientCommunication,
    Optimizer,
    Data,
    Other,
    Unattributed,
}

impl Phase {
    pub const ALL: [Phase; 8] = [
        Phase::Forward,
        Phase::Backward,
        Phase::Recompute,
        Phase::GradientCommunication,
        Phase::Optimizer,
        Phase::Data,
        Phase::Other,
        Phase::Unattributed,
    ];

    pub fn label(self) -> &'static str {
        match self {
            Phase::Forward => "forward",
            Phase::Backward => "backward",
            Phase::Recompute => "recompute",
            Phase::GradientCommunication => "gradient communication",
            Phase::Optimizer => "optimizer",
            Phase::Data => "data",
            Phase::Other => "other",
            Phase::Unattributed => "unattributed",
        }
    }
}

/// The GPU events of one phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PhaseTime {
    pub phase: Phase,
    pub count: u64,
    /// Durations, added up.
    pub sum_ns: Ns,
    /// Time in which at least one of them ran.
    pub union_ns: Ns,
    /// Of the sums of all phases.
    pub pct: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepPhases {
    pub step: i64,
    pub phases: Vec<PhaseTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankPhases {
    pub rank: u32,
    /// Durations of all GPU events, added up.
    pub gpu_ns: Ns,
    pub unattributed_pct: f64,
    /// All phases, in the order of a training step.
    pub phases: Vec<PhaseTime>,
    pub steps: Vec<StepPhases>,
    /// Whether the steps are a guess.
    pub inferred_steps: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PhasesAnswer {
    pub ranks: Vec<RankPhases>,
}

impl Tabular for PhasesAnswer {
    fn tables(&self) -> Vec<Table> {
        let seen = |time: &&PhaseTime| time.count > 0 || time.phase == Phase::Unattributed;
        let rows: Vec<(u32, &PhaseTime)> = self
            .ranks
            .iter()
            .flat_map(|rank| rank.phases.iter().filter(seen).map(move |time| (rank.rank, time)))
            .collect();
        let phases = Table::of("ranks", "GPU time by phase", &rows)
            .int("rank", Unit::None, "The rank", |r| i64::from(r.0))
            .text("phase", "What the GPU worked for", |r| r.1.phase.label().to_owned())
            .int("count", Unit::Count, "GPU events", |r| r.1.count as i64)
            .int("sum_ns", Unit::Ns, "Durations, added up", |r| r.1.sum_ns.0)
            .int("union_ns", Unit::Ns, "Time in which at least one of them ran", |r| r.1.union_ns.0)
            .float("pct", Unit::Percent, "Of the sums of all phases", |r| r.1.pct)
            .build();
        let steps: Vec<(u32, &StepPhases)> =
            self.ranks.iter().flat_map(|rank| rank.steps.iter().map(move |step| (rank.rank, step))).collect();
        vec![phases, step_table(&steps)]
    }
}

/// One column for each phase that occurs.
fn step_table(rows: &[(u32, &StepPhases)]) -> Table {
    const COLUMNS: [(&str, &str); 8] = [
        ("forward_ns", "Summed time of the forward pass"),
        ("backward_ns", "Summed time of the backward pass"),
        ("recompute_ns", "Summed time of forward work that ran again"),
        ("gradient_communication_ns", "Summed time of collectives that reduce gradients"),
        ("optimizer_ns", "Summed time of the optimizer"),
        ("data_ns", "Summed time of loading data"),
        ("other_ns", "Summed time of what is outside all phases"),
        ("unattributed_ns", "Summed time of what is not known"),
    ];
    let mut table = Table::of("steps", "Summed GPU time of each step by phase", rows)
        .int("rank", Unit::None, "The rank", |r| i64::from(r.0))
        .int("step", Unit::None, "The step's number", |r| r.1.step);
    for (i, (name, doc)) in COLUMNS.into_iter().enumerate() {
        let has = rows.iter().any(|(_, step)| step.phases[i].count > 0);
        table = table.when(has, |table| table.int(name, Unit::Ns, doc, |r| r.1.phases[i].sum_ns.0));
    }
    table.build()
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Phases;

impl Question for Phases {
    type Local = RankPhases;
    type Answer = PhasesAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankPhases {
        let steps = view.steps();
        let (mut total, mut by_step) = (Totals::default(), vec![Totals::default(); steps.len()]);
        let mut cursor = steps.cursor();
        let events = view.index.gpu(view.trace).iter().zip(of(view));
        for (event, phase) in events.filter(|(event, _)| view.selection.has(event.row)) {
            total.add(phase, event.interval());
            if let Some(step) = view.launch_start(event.row).and_then(|launched| cursor.at(launched)) {
                by_step[step].add(phase, event.interval());
            }
        }
        let is_asked =
            |(step, _): &(&gpuscope_trace::Step, Totals)| view.selection.has_step(step.number, step.start);
        let steps: Vec<StepPhases> = steps
            .iter()
            .zip(by_step)
            .filter(is_asked)
            .map(|(step, totals)| StepPhases { step: step.number, phases: totals.times() })
            .collect();
        let phases = total.times();
        RankPhases {
            rank,
            gpu_ns: total.sum(),
            unattributed_pct: phases[Phase::Unattributed as usize].pct,
            inferred_steps: !steps.is_empty() && view.steps().origin == StepOrigin::Inferred,
            phases,
            steps,
        }
    }

    fn merge(&self, locals: Vec<RankPhases>) -> PhasesAnswer {
        PhasesAnswer { ranks: locals }
    }
}

/// Count, sum and union per phase.
#[derive(Clone, Copy, Debug, Default)]
struct Totals([(u64, Ns, Cover); Phase::ALL.len()]);

impl Totals {
    fn add(&mut self, phase: Phase, time: Interval) {
        let (count, sum, cover) = &mut self.0[phase as usize];
        *count += 1;
        *sum += time.len();
        cover.add(time);
    }

    fn sum(&self) -> Ns {
        self.0.iter().map(|(_, sum, _)| *sum).sum()
    }

    fn times(&self) -> Vec<PhaseTime> {
        let all = self.sum();
        let time = |phase: Phase| {
            let (count, sum_ns, cover) = self.0[phase as usize];
            PhaseTime { phase, count, sum_ns, union_ns: cover.len(), pct: sum_ns.pct_of(all) }
        };
        Phase::ALL.into_iter().map(time).collect()
    }
}

#[cfg(test)]
mod tests;
