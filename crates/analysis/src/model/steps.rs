//! Step time in a graph: the same steps as `breakdown` takes, whatever their times have become.

use gpuscope_trace::{Ns, Step, View};

use crate::breakdown::RankBreakdown;
use crate::graph::{Graph, Replayed, What};
use crate::median::median;
use crate::step_time::{Basis, Reason};

/// Which steps count, as places in the trace's list of steps.
#[derive(Debug)]
pub(crate) struct StepEnds {
    counted: Vec<u32>,
    basis: Basis,
    steps: usize,
    /// Steps before one whose GPU work was cut off.
    whole: usize,
    /// Number and start of each step.
    starts: Vec<(i64, Ns)>,
}

impl StepEnds {
    pub(crate) fn of(view: View<'_>, breakdown: &RankBreakdown) -> StepEnds {
        let steps = view.steps();
        let starts = steps.iter().map(|step| (step.number, step.start)).collect();
        let Some(time) = &breakdown.step_time else {
            return StepEnds {
                counted: Vec::new(),
                basis: Basis::Window,
                steps: steps.len(),
                whole: steps.len(),
                starts,
            };
        };
        let counts = |number: i64| !time.left_out.iter().any(|left| left.step == number);
        let chosen = |i: &u32| {
            counts(steps[*i as usize].number)
                && view.selection.has_step(steps[*i as usize].number, steps[*i as usize].start)
        };
        let counted: Vec<u32> = (0..steps.len() as u32).filter(chosen).collect();
        let is_cut = |step: &Step| {
            time.left_out.iter().any(|left| left.step == step.number && left.reason == Reason::Cut)
        };
        let whole = steps.iter().position(is_cut).unwrap_or(steps.len());
        StepEnds { counted, basis: time.from, steps: steps.len(), whole, starts }
    }

    pub(crate) fn len(&self) -> usize {
        self.steps
    }

    /// The number of a step by its place.
    pub(crate) fn number(&self, place: usize) -> Option<i64> {
        self.starts.get(place).map(|(number, _)| *number)
    }

    /// The median over the steps that count; the whole window if there are none.
    pub(crate) fn step_time(&self, graph: &Graph, times: &Replayed) -> Ns {
        let (ends, last) = self.ends(graph, times);
        let length = |step: &u32| {
            let i = *step as usize;
            match self.basis {
                Basis::Period => Some(ends[i]? - ends[i.checked_sub(1)?]?),
                Basis::Window if self.steps == 1 => Some(last? - self.starts[i].1),
                Basis::Window => Some(ends[i]? - self.starts[i].1),
            }
        };
        let lengths: Vec<Ns> = self.counted.iter().filter_map(length).collect();
        median(lengths).unwrap_or_else(|| last.map_or(Ns::ZERO, |last| last - graph.span.start))
    }

    /// The mean over all steps that have a period, outliers included: what a step costs in the long run.
    pub(crate) fn mean_step(&self, graph: &Graph, times: &Replayed) -> Ns {
        let (ends, _) = self.ends(graph, times);
        let with_work: Vec<Ns> = ends.iter().take(self.whole).copied().flatten().collect();
        match with_work[..] {
            [first, .., last] => Ns((last - first).0 / (with_work.len() as i64 - 1)),
            _ => self.step_time(graph, times),
        }
    }

    /// The last GPU end of each step, and of all.
    fn ends(&self, graph: &Graph, times: &Replayed) -> (Vec<Option<Ns>>, Option<Ns>) {
        let mut ends: Vec<Option<Ns>> = vec![None; self.steps];
        let mut last = graph.host_end.map(|node| times.end[node as usize]);
        for (node, end) in graph.nodes.iter().zip(&times.end) {
            if !matches!(node.what, What::Gpu(_)) {
                continue;
            }
            last = last.max(Some(*end));
            if let Some(latest) = node.step.and_then(|step| ends.get_mut(step as usize)) {
                *latest = (*latest).max(Some(*end));
            }
        }
        (ends, last)
    }
}
