//! What the answers say, in the terms of the truth, so that the two can be compared as a whole.

use gpuscope_analysis::breakdown::{StepTimes, Times};
use gpuscope_testkit::{BreakdownTruth, KernelTruth, StepTruth};
use gpuscope_trace::Ns;

use crate::everything::Answers;

pub(crate) fn breakdown(times: &Times) -> BreakdownTruth {
    BreakdownTruth {
        computation_ns: times.computation_ns.0,
        comm_ns: times.comm_ns.0,
        memcpy_ns: times.memcpy_ns.0,
        exposed_comm_ns: times.exposed_comm_ns.0,
        exposed_memcpy_ns: times.exposed_memcpy_ns.0,
        busy_ns: times.busy_ns.0,
        total_ns: times.total_ns.0,
        idle_ns: times.idle_ns.0,
    }
}

/// All that a row says of a step.
#[derive(Debug, PartialEq)]
pub(crate) struct StepFigures {
    step: i64,
    times: BreakdownTruth,
    wall: i64,
    pub(crate) period: Option<i64>,
    window: i64,
    lead: i64,
    tail: i64,
}

pub(crate) fn answered(step: &StepTimes) -> StepFigures {
    StepFigures {
        step: step.step,
        times: breakdown(&step.times),
        wall: step.wall_ns.0,
        period: step.period_ns.map(|ns| ns.0),
        window: step.window_ns.0,
        lead: step.lead_idle_ns.0,
        tail: step.tail_idle_ns.0,
    }
}

pub(crate) fn true_step(step: &StepTruth) -> StepFigures {
    StepFigures {
        step: i64::from(step.step),
        times: step.breakdown,
        wall: step.wall_ns,
        period: step.period_ns,
        window: step.window_ns,
        lead: step.lead_idle_ns,
        tail: step.tail_idle_ns,
    }
}

pub(crate) type KernelFigures = (String, &'static str, u64, i64, i64, i64);

/// By name and type, as the truth has them.
pub(crate) fn kernels(answers: &Answers) -> Vec<KernelFigures> {
    let rows = answers.kernels.kernels.iter().map(|row| {
        let (Ns(sum), Ns(min), Ns(max)) = (row.sum_ns, row.min_ns, row.max_ns);
        (row.name.clone(), row.kernel_type.label(), row.count, sum, min, max)
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    rows
}

pub(crate) fn true_kernels(kernels: &[KernelTruth]) -> Vec<KernelFigures> {
    let rows = kernels
        .iter()
        .map(|row| (row.name.clone(), row.kernel_type, row.count, row.sum_ns, row.min_ns, row.max_ns));
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    rows
}

/// The summed time of memory sets, which are computation for some questions and not for others.
pub(crate) fn memset_ns(kernels: &[KernelTruth]) -> i64 {
    kernels.iter().filter(|row| row.name.starts_with("Memset")).map(|row| row.sum_ns).sum()
}
