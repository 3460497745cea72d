//! The rows of the steps: windows and periods around the times of what each step launched.

use gpuscope_trace::{Interval, Ns, Step, Steps, View};

use super::StepTimes;
use super::scopes::Scope;
use crate::model::lost::launches_without_gpu_work;
use crate::model::step_time::Candidate;

/// The selected steps, and what step time makes of them; `launched` is in the order of `steps`.
pub(super) fn by_step(
    view: View<'_>,
    steps: &Steps,
    launched: Vec<Scope>,
    micro: Option<Ns>,
) -> (Vec<StepTimes>, Vec<Candidate>) {
    let last_is_cut = steps.last().is_some_and(|last| launches_without_gpu_work(view, [last]) != [0]);
    let mut rows = Vec::new();
    let mut candidates = Vec::new();
    let mut before: Option<(i64, Option<Ns>)> = None;
    for (i, (step, work)) in steps.iter().zip(launched).enumerate() {
        if !view.selection.has_step(step.number, step.start) {
            continue;
        }
        let gpu = work.hull();
        let mut row = row(step, work, micro);
        let follows = before.filter(|(number, _)| number.checked_add(1) == Some(step.number));
        let end = gpu.map(|gpu| gpu.end);
        row.period_ns = follows.and_then(|(_, before)| Some(end? - before?));
        before = Some((step.number, end));
        candidates.push(Candidate {
            step: step.number,
            follows: follows.is_some(),
            period: row.period_ns,
            window: row.window_ns,
            has_gpu_work: gpu.is_some(),
            cut: last_is_cut && i + 1 == steps.len(),
        });
        rows.push(row);
    }
    (rows, candidates)
}

fn row(step: &Step, work: Scope, micro: Option<Ns>) -> StepTimes {
    // Without GPU work all of the window lies before it.
    let gpu = work.hull().unwrap_or(Interval::new(step.end, step.end));
    let (start, end) = (step.start.min(gpu.start), step.end.max(gpu.end));
    StepTimes {
        step: step.number,
        times: work.times(micro),
        wall_ns: step.end - step.start,
        period_ns: None,
        window_ns: end - start,
        lead_idle_ns: gpu.start - start,
        tail_idle_ns: end - gpu.end,
    }
}
