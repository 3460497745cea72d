//! Step time in a graph: what of it a change saves.
//!
//! The step time is that of `breakdown`, the same in every answer. What a change saves of it is found from when the
//! last step that counts ends: sooner by so much more than the first, over the time that the steps between took. What
//! all steps gain alike, by a shorter way from the host through the GPU, is no shorter step; with a single step it is.
//! And where the host ran ahead, a step still takes what the host needs for it, since it cannot run ahead for ever.

use gpuscope_trace::{Ns, Step, View};
use rustc_hash::FxHashMap;

use crate::breakdown::RankBreakdown;
use crate::graph::{Graph, NodeId, Replayed, Scenario, What, host_alone};
use crate::step_time::Reason;

#[derive(Debug)]
pub(crate) struct StepEnds {
    /// As `breakdown` has it; without steps all that was recorded.
    step_time: Ns,
    /// What the steps that count took, all together.
    recorded: Ns,
    /// When the last of them ended.
    end: Ns,
    /// What the first of them took, and when it ended.
    first_recorded: Ns,
    first_end: Ns,
    /// The first and the last step that count, as places in the trace's list of steps; none for all that was recorded.
    first: Option<u32>,
    last: Option<u32>,
    /// Whether the end is also that of the host: with one step, or none.
    with_host: bool,
    /// How many steps the host went through, and what it needs for one if it never waits for the GPU.
    host_steps: i64,
    host_needs: Ns,
    /// How many are selected.
    steps: usize,
    /// The number of each step of the trace.
    numbers: Vec<i64>,
}

impl StepEnds {
    pub(crate) fn of(view: View<'_>, breakdown: &RankBreakdown, graph: &Graph) -> StepEnds {
        let steps = view.steps();
        let time = breakdown.step_time.as_ref();
        let is_cut = |step: &Step| {
            let cut = |time: &crate::step_time::StepTime| {
                time.left_out.iter().any(|left| left.step == step.number && left.reason == Reason::Cut)
            };
            time.is_some_and(cut)
        };
        let chosen: Vec<u32> = (0..steps.len() as u32)
            .filter(|i| view.selection.has_step(steps[*i as usize].number, steps[*i as usize].start))
            .collect();
        let whole = chosen.iter().rposition(|i| !is_cut(&steps[*i as usize])).map(|last| last + 1);
        let counted = &chosen[..whole.unwrap_or(chosen.len())];
        let mut ends = StepEnds {
            step_time: Ns::ZERO,
            recorded: Ns::ZERO,
            end: Ns::ZERO,
            first_recorded: Ns::ZERO,
            first_end: Ns::ZERO,
            first: counted.first().copied(),
            last: counted.last().copied(),
            with_host: chosen.len() <= 1,
            host_steps: chosen.len().max(1) as i64,
            host_needs: Ns::ZERO,
            steps: chosen.len(),
            numbers: steps.iter().map(|step| step.number).collect(),
        };
        let recorded_end = |id: NodeId| graph.nodes[id as usize].end;
        (ends.first_end, ends.end) = ends.ends_of(graph, recorded_end);
        let whole = (ends.end - graph.span.start).max(Ns::ZERO);
        ends.step_time = time.map_or(whole, |time| time.ns);
        let rows = if breakdown.steps.is_empty() { &breakdown.inferred_steps } else { &breakdown.steps };
        let periods: FxHashMap<i64, Option<Ns>> = rows.iter().map(|row| (row.step, row.period_ns)).collect();
        let of_step = |place: &u32| {
            let period = periods.get(&steps[*place as usize].number).copied().flatten();
            period.filter(|period| *period > Ns::ZERO).unwrap_or(ends.step_time)
        };
        ends.recorded = match counted.len() {
            0 => whole,
            1 => whole.max(ends.step_time),
            _ => counted.iter().map(of_step).sum(),
        };
        let host = host_alone(graph, 0, &Scenario::default());
        ends.host_needs = host.map_or(Ns::ZERO, |host| Ns(host.0 / ends.host_steps));
        ends.first_recorded = counted.first().map_or(Ns::ZERO, of_step);
        ends
    }

    pub(crate) fn len(&self) -> usize {
        self.steps
    }

    /// The number of a step by its place.
    pub(crate) fn number(&self, place: usize) -> Option<i64> {
        self.numbers.get(place).copied()
    }

    pub(crate) fn recorded_step(&self) -> Ns {
        self.step_time
    }

    /// What a step takes when everything happens at other times. `host_alone`: how long the host takes for all steps if it
    /// never waits for the GPU.
    pub(crate) fn step_time(
        &self,
        graph: &Graph,
        times: &Replayed,
        host_alone: impl FnOnce() -> Option<Ns>,
    ) -> Ns {
        if self.recorded <= Ns::ZERO {
            return self.step_time;
        }
        let (first_end, end) = self.ends_of(graph, |id| times.end[id as usize]);
        let (mut saved, mut of) = (self.end - end, self.recorded);
        let later = self.recorded - self.first_recorded;
        if self.first != self.last && later > Ns::ZERO {
            let sooner = saved > Ns::ZERO;
            (saved, of) = (saved - (self.first_end - first_end), later);
            // What ends sooner is not slower for that its first step gained more than the others.
            saved = if sooner { saved.max(Ns::ZERO) } else { saved };
        }
        let share = saved.as_f64() / of.as_f64();
        let step = self.step_time - Ns((self.step_time.as_f64() * share.min(1.0)).round() as i64);
        // With one step the host's end is looked at anyway; and it seldom needs all the time there is.
        if self.with_host || step >= self.host_needs {
            return step;
        }
        let host_needs = host_alone().map_or(Ns::ZERO, |host| Ns(host.0 / self.host_steps));
        step.max(host_needs.min(self.step_time))
    }

    /// When the first and the last step that count end.
    fn ends_of(&self, graph: &Graph, end: impl Fn(NodeId) -> Ns) -> (Ns, Ns) {
        let all = self.last.is_none() || self.steps <= 1;
        let (mut first, mut last) = (None, None);
        for (id, node) in (0..).zip(&graph.nodes).filter(|(_, node)| matches!(node.what, What::Gpu(_))) {
            if all || node.step.is_some_and(|step| Some(step) <= self.last) {
                last = last.max(Some(end(id)));
            }
            if node.step.is_some() && node.step == self.first {
                first = first.max(Some(end(id)));
            }
        }
        let on_host = graph.host_end.filter(|_| self.with_host || last.is_none()).map(&end);
        let last = last.max(on_host).unwrap_or(graph.span.start);
        (first.unwrap_or(last), last)
    }
}
