//! The six numbers that a person looks at first, each with how far the ranks differ in it and how it went over the steps.

use gpuscope_table::Unit;
use gpuscope_trace::Ns;
use serde::Serialize;

use super::DossierAnswer;
use super::per_step::RankSteps;
use crate::breakdown::{RankBreakdown, StepTimes, Times};

/// The rank that is worst off, and how far from the median one. Where no rank is worse off than the median one, the one
/// that is best off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Worst {
    pub rank: u32,
    pub value: f64,
    pub from_median: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeyNumber {
    pub name: &'static str,
    pub label: &'static str,
    pub unit: Unit,
    pub value: Option<f64>,
    /// More about the value, or why there is none.
    pub note: Option<String>,
    /// None of a single rank.
    pub worst: Option<Worst>,
    /// Step by step, on the rank that is the median.
    pub steps: Vec<f64>,
}

/// What is worse: more of it, or less?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Worse {
    More,
    Less,
}

pub(super) fn of(answer: &DossierAnswer, per_step: &[RankSteps]) -> Vec<KeyNumber> {
    let ranks = &answer.analyze.breakdown.ranks;
    let chosen = answer.median_step.as_ref().map(|step| step.rank);
    let place = ranks.iter().position(|rank| Some(rank.rank) == chosen).unwrap_or(0);
    let steps = ranks.get(place).map(steps_of).unwrap_or_default();
    vec![
        step_time(answer, steps),
        busy(ranks, steps),
        exposed(ranks, steps),
        host_idle(answer, steps, per_step.get(place)),
        memory(answer),
        mfu(answer),
    ]
}

fn steps_of(rank: &RankBreakdown) -> &[StepTimes] {
    if rank.steps.is_empty() { &rank.inferred_steps } else { &rank.steps }
}

fn step_time(answer: &DossierAnswer, steps: &[StepTimes]) -> KeyNumber {
    let summary = &answer.analyze.step;
    let ranks = answer.analyze.breakdown.ranks.iter();
    let of_rank = ranks.filter_map(|rank| Some((rank.rank, rank.step_time_ns?.as_f64()))).collect();
    let note = match summary.p99_ns {
        Some(p99) => format!("p99 {}", crate::shared::text::time(p99)),
        None if summary.median_ns.is_none() => "no steps are marked".to_owned(),
        None => "from a single step".to_owned(),
    };
    KeyNumber {
        name: "step_time",
        label: "Step time",
        unit: Unit::Ns,
        value: summary.median_ns.map(Ns::as_f64),
        note: Some(note),
        worst: worst(of_rank, Worse::More),
        steps: steps.iter().filter_map(|step| Some(step.period_ns?.as_f64())).collect(),
    }
}

fn busy(ranks: &[RankBreakdown], steps: &[StepTimes]) -> KeyNumber {
    share("busy", "GPU busy", ranks, steps, Worse::Less, |times| times.busy_ns)
}

fn exposed(ranks: &[RankBreakdown], steps: &[StepTimes]) -> KeyNumber {
    let mut number =
        share("exposed_comm", "Exposed comm", ranks, steps, Worse::More, |times| times.exposed_comm_ns);
    if ranks.iter().all(|rank| rank.total.comm_ns == Ns::ZERO) {
        number.note = Some("no communication".to_owned());
        number.worst = None;
    }
    number
}

/// What shares of a rank's time are of: from its first to its last GPU event, or all of the only step that there is, with
/// what lies before and after its GPU work. Time that older work filled, which was not recorded, is left out.
fn whole(rank: &RankBreakdown) -> Ns {
    let whole = match steps_of(rank) {
        [only] => only.window_ns.max(rank.total.total_ns),
        _ => rank.total.total_ns,
    };
    whole - rank.unrecorded_ns
}

/// A part of the GPUs' time.
fn share(
    name: &'static str,
    label: &'static str,
    ranks: &[RankBreakdown],
    steps: &[StepTimes],
    worse: Worse,
    part: fn(&Times) -> Ns,
) -> KeyNumber {
    let total: Ns = ranks.iter().map(whole).sum();
    let sum: Ns = ranks.iter().map(|rank| part(&rank.total)).sum();
    let of_rank = ranks.iter().map(|rank| (rank.rank, part(&rank.total).pct_of(whole(rank)))).collect();
    KeyNumber {
        name,
        label,
        unit: Unit::Percent,
        value: (total > Ns::ZERO).then(|| sum.pct_of(total)),
        note: (total == Ns::ZERO).then(|| "no GPU work".to_owned()),
        worst: worst(of_rank, worse),
        steps: steps.iter().map(|step| part(&step.times).pct_of(step.times.total_ns)).collect(),
    }
}

fn host_idle(answer: &DossierAnswer, steps: &[StepTimes], per_step: Option<&RankSteps>) -> KeyNumber {
    let ranks = &answer.analyze.breakdown.ranks;
    let devices = &answer.analyze.idle.devices;
    let span = |rank: &RankBreakdown| rank.devices.iter().map(|device| device.times.total_ns).sum::<Ns>();
    let idle_of = |rank: u32| {
        devices.iter().filter(|device| device.rank == rank).map(|device| device.host_ns).sum::<Ns>()
    };
    let all: Ns = ranks.iter().map(span).sum();
    let idle: Ns = devices.iter().map(|device| device.host_ns).sum();
    let unlinked: Ns = devices.iter().map(|device| device.unlinked_ns).sum();
    let of_rank = ranks.iter().map(|rank| (rank.rank, idle_of(rank.rank).pct_of(span(rank)))).collect();
    let in_step = |step: &StepTimes| {
        let idle = per_step?.host_idle.iter().find(|(number, _)| *number == step.step)?.1;
        Some(idle.pct_of(step.period_ns.unwrap_or(step.window_ns)))
    };
    KeyNumber {
        name: "host_idle",
        label: "Idle by host",
        unit: Unit::Percent,
        value: (all > Ns::ZERO).then(|| idle.pct_of(all)),
        note: (unlinked > idle).then(|| "most launches are not recorded".to_owned()),
        worst: worst(of_rank, Worse::More),
        steps: steps.iter().filter_map(in_step).collect(),
    }
}

fn memory(answer: &DossierAnswer) -> KeyNumber {
    let devices = || answer.analyze.memory.devices.iter().filter(|device| device.device != "cpu");
    let highest = devices().max_by_key(|device| device.peak.allocated_bytes);
    let timeline = answer.analyze.memory.timeline.as_ref();
    let bytes = highest.map(|device| device.peak.allocated_bytes).or(timeline.map(|one| one.peak_bytes));
    let of_rank = devices().map(|device| (device.rank, device.peak.allocated_bytes as f64)).collect();
    let note = match highest.and_then(|device| device.capacity_bytes) {
        _ if bytes.is_none() => Some("not recorded: profile_memory=True".to_owned()),
        Some(capacity) => Some(format!("of {}", crate::shared::text::bytes(capacity))),
        None => None,
    };
    KeyNumber {
        name: "memory_peak",
        label: "Memory peak",
        unit: Unit::Bytes,
        value: bytes.map(|bytes| bytes as f64),
        note,
        worst: worst(of_rank, Worse::More),
        steps: Vec::new(),
    }
}

fn mfu(answer: &DossierAnswer) -> KeyNumber {
    let all = &answer.ops.mfu.all;
    let note = match all.mfu_pct {
        Some(_) if all.at_least => format!("at least; {:.0} % of compute counted", all.coverage_pct),
        Some(_) => format!("{:.0} % of compute counted", all.coverage_pct),
        None if all.model_flops == 0 => "no shapes: record_shapes=True".to_owned(),
        None => "GPU not recognised: ops --gpu NAME".to_owned(),
    };
    let of_rank =
        answer.ops.mfu.ranks.iter().filter_map(|rank| Some((rank.rank, rank.of.mfu_pct?))).collect();
    KeyNumber {
        name: "mfu",
        label: "MFU",
        unit: Unit::Percent,
        value: all.mfu_pct,
        note: Some(note),
        worst: worst(of_rank, Worse::Less),
        steps: Vec::new(),
    }
}

fn worst(mut of_rank: Vec<(u32, f64)>, worse: Worse) -> Option<Worst> {
    if of_rank.len() < 2 {
        return None;
    }
    of_rank.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let median = of_rank[(of_rank.len() - 1) / 2].1;
    let (lowest, highest) = (of_rank[0], of_rank[of_rank.len() - 1]);
    let far = |(rank, value): (u32, f64)| Worst { rank, value, from_median: value - median };
    let (badly, well) = if worse == Worse::More { (highest, lowest) } else { (lowest, highest) };
    // A tenth of the distance on the other side is as good as none.
    let is_worse = far(badly).from_median.abs() * 10.0 >= far(well).from_median.abs();
    Some(far(if is_worse { badly } else { well }))
}
