//! Step time in a graph: what of it a change saves.
//!
//! The step time is that of `breakdown`, the same in every answer. What a change saves of it is found from when the
//! last step that counts ends: sooner by so much more than the first, over the time that the steps between took. What
//! all steps gain alike, by a shorter way from the host through the GPU, is no shorter step; with a single step it is.
//!
//! First steps that are unlike the others are set apart: they keep their times whatever is changed, and do not count.
//! And where the host ran ahead, a step still takes what the host needs for it, since it cannot run ahead for ever.

use gpuscope_trace::{Ns, Step, View};
use rustc_hash::FxHashMap;

use crate::breakdown::{RankBreakdown, StepTimes};
use crate::model::graph::{Graph, Hold, Node, Replayed, Scenario, What, host_alone};
use crate::model::step_time::{Reason, StepTime};

#[derive(Debug)]
pub(crate) struct StepEnds {
    /// As `breakdown` has it; without steps all that was recorded.
    step_time: Ns,
    /// What the steps that count took, all together, without the one that they are measured from.
    recorded: Ns,
    /// When that one and the last of them ended.
    first_end: Ns,
    end: Ns,
    /// Both as places in the trace's list of steps: none if there is only one, or all that was recorded counts.
    first: Option<u32>,
    last: Option<u32>,
    /// Whether the end is also that of the host: with one step, or none.
    with_host: bool,
    /// When the host began with the steps that count, and how many it went through.
    host_start: Ns,
    host_steps: i64,
    /// What the host needs for a step if it never waits for the GPU.
    host_needs: Ns,
    /// How many are selected, have GPU work and are not set apart.
    steps: usize,
    /// The number of each step of the trace.
    numbers: Vec<i64>,
}

impl StepEnds {
    /// Finds the steps in a graph, and says there what of them keeps its times.
    pub(crate) fn of(view: View<'_>, breakdown: &RankBreakdown, graph: &mut Graph) -> StepEnds {
        let steps = view.steps();
        let time = breakdown.step_time.as_ref();
        let rows: FxHashMap<i64, &StepTimes> =
            breakdown.step_rows().iter().map(|row| (row.step, row)).collect();
        let chosen = chosen(view, &rows);
        let is_cut = |place: &u32| {
            let number = steps[*place as usize].number;
            let cut = |time: &StepTime| {
                time.left_out.iter().any(|left| left.step == number && left.reason == Reason::Cut)
            };
            time.is_some_and(cut)
        };
        let whole = chosen.iter().rposition(|place| !is_cut(place)).map(|last| last + 1);
        let counted = &chosen[..whole.unwrap_or(chosen.len())];
        // Of the steps that are set apart the last is needed: the others begin where it ends.
        let is_apart = |place: &&u32| breakdown.set_apart.contains(&steps[**place as usize].number);
        let apart = counted.iter().take_while(is_apart).count();
        let counted = &counted[apart.saturating_sub(1)..];
        let (first, later) = match counted {
            [first, later @ ..] if !later.is_empty() => (Some(*first), later),
            all => (None, all),
        };
        let mut ends = StepEnds {
            step_time: Ns::ZERO,
            recorded: Ns::ZERO,
            first_end: Ns::ZERO,
            end: Ns::ZERO,
            first,
            last: counted.last().copied(),
            with_host: chosen.len() <= 1,
            host_start: graph.span.start,
            host_steps: 1,
            host_needs: Ns::ZERO,
            steps: chosen.len() - apart,
            numbers: steps.iter().map(|step| step.number).collect(),
        };
        (ends.first_end, ends.end) = ends.ends_of(graph, |id| graph.nodes[id].end);
        let whole = (ends.end - graph.span.start).max(Ns::ZERO);
        ends.step_time = time.map_or(whole, |time| time.ns);
        let of_step = |place: &u32| {
            let period = rows.get(&steps[*place as usize].number).and_then(|row| row.period_ns);
            period.filter(|period| *period > Ns::ZERO).unwrap_or(ends.step_time)
        };
        ends.recorded = match (first, later.len()) {
            (None, 0) => whole,
            (None, 1) => whole.max(ends.step_time),
            _ => later.iter().map(of_step).sum(),
        };
        if let Some(first) = first {
            hold(graph, first, &steps[first as usize], if apart > 0 { Hold::Whole } else { Hold::First });
        }
        let mut host_steps = chosen.len();
        if let Some(first) = first.filter(|_| apart > 0) {
            ends.host_start = steps[first as usize].end;
            host_steps -= apart;
        }
        ends.host_steps = host_steps.max(1) as i64;
        ends.host_needs = ends.on_host(host_alone(graph, 0, &Scenario::default()));
        ends
    }

    pub(crate) fn len(&self) -> usize {
        self.steps
    }

    /// When the host began with the steps that count.
    pub(crate) fn counts_from(&self) -> Ns {
        self.host_start
    }

    /// The number of a step by its place.
    pub(crate) fn number(&self, place: usize) -> Option<i64> {
        self.numbers.get(place).copied()
    }

    pub(crate) fn recorded_step(&self) -> Ns {
        self.step_time
    }

    /// What a step takes when everything happens at other times. `host_alone`: when the host is done with all steps if it
    /// never waits for the GPU.
    pub(crate) fn step_time(
        &self,
        graph: &Graph,
        times: &Replayed,
        host_alone: impl FnOnce() -> Option<Ns>,
    ) -> Ns {
        let step = self.step_since(graph, self.first_end(graph, times), times);
        self.at_least_on_host(step, host_alone)
    }

    /// What a step takes if the one that the others are measured from ends then, for all that the host may need.
    pub(super) fn step_since(&self, graph: &Graph, first_end: Ns, times: &Replayed) -> Ns {
        if self.recorded <= Ns::ZERO {
            return self.step_time;
        }
        let (_, end) = self.ends_of(graph, |id| times.end[id]);
        let sooner = self.end - end;
        let saved = sooner - (self.first_end - first_end);
        // What ends no later is not slower for that its first step gained more than the others.
        let saved = if sooner >= Ns::ZERO { saved.max(Ns::ZERO) } else { saved };
        let share = saved.as_f64() / self.recorded.as_f64();
        self.step_time - Ns((self.step_time.as_f64() * share.min(1.0)).round() as i64)
    }

    /// Whether a node is of the steps that a saving is measured over.
    pub(super) fn counts(&self, node: &Node) -> bool {
        (self.first.is_none() || node.start >= self.first_end) && node.end <= self.end
    }

    /// What comes to one step of what takes so long in all that count: no more than a step takes as it is.
    pub(super) fn of_one(&self, all: Ns) -> Ns {
        if self.recorded <= Ns::ZERO {
            return Ns::ZERO;
        }
        let share = all.as_f64() / self.recorded.as_f64();
        Ns((self.step_time.as_f64() * share.min(1.0)).round() as i64)
    }

    /// When the step that the others are measured from ends.
    pub(super) fn first_end(&self, graph: &Graph, times: &Replayed) -> Ns {
        self.ends_of(graph, |id| times.end[id]).0
    }

    pub(super) fn at_least_on_host(&self, step: Ns, host_alone: impl FnOnce() -> Option<Ns>) -> Ns {
        // With one step the host's end is looked at anyway; and it seldom needs all the time there is.
        if self.with_host || step >= self.host_needs {
            return step;
        }
        step.max(self.on_host(host_alone()))
    }

    /// What the host needs for a step if it is done then: no more than a step takes as it is.
    fn on_host(&self, done: Option<Ns>) -> Ns {
        let needs = done.map_or(Ns::ZERO, |done| (done - self.host_start).max(Ns::ZERO));
        Ns(needs.0 / self.host_steps).min(self.step_time)
    }

    /// When the step that the others are measured from ends, and the last that counts. Without the former, nothing moves it.
    fn ends_of(&self, graph: &Graph, end: impl Fn(usize) -> Ns) -> (Ns, Ns) {
        let all = self.last.is_none() || self.steps <= 1;
        let (mut first, mut last) = (None, None);
        for (id, node) in graph.nodes.iter().enumerate() {
            if !matches!(node.what, What::Gpu(_)) {
                continue;
            }
            if all || node.step.is_some_and(|step| Some(step) <= self.last) {
                last = last.max(Some(end(id)));
            }
            if node.step.is_some() && node.step == self.first {
                first = first.max(Some(end(id)));
            }
        }
        let on_host = graph.host_end.filter(|_| self.with_host || last.is_none()).map(|id| end(id as usize));
        (first.unwrap_or_default(), last.max(on_host).unwrap_or(graph.span.start))
    }
}

/// The selected steps that have GPU work, or all of them if none has: a step without any is over at once.
fn chosen(view: View<'_>, rows: &FxHashMap<i64, &StepTimes>) -> Vec<u32> {
    let steps = view.steps();
    let selected: Vec<u32> = (0..steps.len() as u32)
        .filter(|place| view.selection.has_step(steps[*place as usize].number, steps[*place as usize].start))
        .collect();
    let works = |place: &u32| {
        rows.get(&steps[*place as usize].number).is_some_and(|row| row.times.busy_ns > Ns::ZERO)
    };
    let with_work: Vec<u32> = selected.iter().copied().filter(works).collect();
    if with_work.is_empty() { selected } else { with_work }
}

/// All that belongs to a step, or to those before it, keeps its times.
fn hold(graph: &mut Graph, step: u32, of_host: &Step, hold: Hold) {
    let launched = |node: &&Node| node.step.is_some_and(|launched| launched <= step);
    let gpu_end = graph.nodes.iter().filter(launched).map(|node| node.end).max().unwrap_or(of_host.end);
    let keeps_its_start = |node: &Node| hold == Hold::First && node.hold == Hold::Start;
    for node in graph.nodes.iter_mut().filter(|node| node.hold != Hold::Whole && !keeps_its_start(node)) {
        let is_before = match node.what {
            What::Gpu(_) => node.step.map_or(node.start < gpu_end, |launched| launched <= step),
            What::Call | What::Return | What::Moment => node.start < of_host.end,
        };
        if is_before {
            node.hold = hold;
        }
    }
}
