//! One side of a comparison: a run, a rank of it, or its median rank.

use std::collections::{BTreeMap, BTreeSet};

use gpuscope_trace::{Ns, View};
use serde::Serialize;

use super::recorded::Recorded;
use super::{DiffAnswer, DiffRow, HostRow, Place, Total, Totals, totals};
use crate::shared::gate::{Measure, Metric};
use crate::shared::median::median_of;
use crate::stacks::from_run_to_run;
use crate::{Bandwidth, Breakdown, Question};

/// The figures that a run is judged by: of one rank, or the median over ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// As `breakdown` defines it; null without steps.
    pub step_time_ns: Option<Ns>,
    pub total_ns: Option<Ns>,
    pub busy_ns: Option<Ns>,
    pub idle_ns: Option<Ns>,
    pub computation_ns: Option<Ns>,
    pub comm_ns: Option<Ns>,
    pub exposed_comm_ns: Option<Ns>,
    pub memcpy_ns: Option<Ns>,
    pub exposed_memcpy_ns: Option<Ns>,
    pub copied_bytes: Option<i64>,
    pub gpu_events: Option<i64>,
}

impl Summary {
    /// The same figures of both sides under the names that a condition uses.
    pub fn metrics(a: &Summary, b: &Summary) -> Vec<Metric> {
        let ns = |name, of: fn(&Summary) -> Option<Ns>| Metric {
            name,
            measure: Measure::Ns,
            a: of(a).map(|ns| ns.0),
            b: of(b).map(|ns| ns.0),
        };
        let copied = Metric { name: "copied", measure: Measure::Bytes, a: a.copied_bytes, b: b.copied_bytes };
        let events = Metric { name: "gpu_events", measure: Measure::Count, a: a.gpu_events, b: b.gpu_events };
        vec![
            ns("step_time", |s| s.step_time_ns),
            ns("total", |s| s.total_ns),
            ns("busy", |s| s.busy_ns),
            ns("idle", |s| s.idle_ns),
            ns("computation", |s| s.computation_ns),
            ns("comm", |s| s.comm_ns),
            ns("exposed_comm", |s| s.exposed_comm_ns),
            ns("memcpy", |s| s.memcpy_ns),
            ns("exposed_memcpy", |s| s.exposed_memcpy_ns),
            copied,
            events,
        ]
    }

    fn median(of: &[&Summary]) -> Summary {
        let ns = |field: fn(&Summary) -> Option<Ns>| {
            median_of(of.iter().filter_map(|summary| Some(field(summary)?.0)).collect()).map(Ns)
        };
        let plain = |field: fn(&Summary) -> Option<i64>| {
            median_of(of.iter().filter_map(|summary| field(summary)).collect())
        };
        Summary {
            step_time_ns: ns(|s| s.step_time_ns),
            total_ns: ns(|s| s.total_ns),
            busy_ns: ns(|s| s.busy_ns),
            idle_ns: ns(|s| s.idle_ns),
            computation_ns: ns(|s| s.computation_ns),
            comm_ns: ns(|s| s.comm_ns),
            exposed_comm_ns: ns(|s| s.exposed_comm_ns),
            memcpy_ns: ns(|s| s.memcpy_ns),
            exposed_memcpy_ns: ns(|s| s.exposed_memcpy_ns),
            copied_bytes: plain(|s| s.copied_bytes),
            gpu_events: plain(|s| s.gpu_events),
        }
    }
}

/// What one rank brings to a comparison.
#[derive(Clone, Debug, Default)]
pub struct RankSide {
    pub rank: u32,
    pub totals: Totals,
    pub summary: Summary,
    /// Period of each step, by number; none for the first.
    pub steps: BTreeMap<i64, Option<Ns>>,
    pub recorded: Recorded,
}

impl RankSide {
    pub(super) fn of(rank: u32, view: View<'_>) -> RankSide {
        let breakdown = Breakdown::default().local(rank, view);
        let copies = Bandwidth::default().local(rank, view).copies;
        let times = &breakdown.total;
        let summary = Summary {
            step_time_ns: breakdown.step_time_ns,
            total_ns: Some(times.total_ns),
            busy_ns: Some(times.busy_ns),
            idle_ns: Some(times.idle_ns),
            computation_ns: Some(times.computation_ns),
            comm_ns: Some(times.comm_ns),
            exposed_comm_ns: Some(times.exposed_comm_ns),
            memcpy_ns: Some(times.memcpy_ns),
            exposed_memcpy_ns: Some(times.exposed_memcpy_ns),
            copied_bytes: Some(copies.iter().fold(0, |sum: i64, kind| sum.saturating_add(kind.total_bytes))),
            gpu_events: Some(view.gpu().count() as i64),
        };
        let steps = breakdown.steps.iter().chain(&breakdown.inferred_steps);
        let steps = steps.map(|step| (step.step, step.period_ns)).collect();
        let recorded = Recorded::of(view, &breakdown);
        RankSide { rank, totals: totals(view), summary, steps, recorded }
    }
}

/// One side of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Side {
    pub totals: Totals,
    pub summary: Summary,
    pub steps: BTreeMap<i64, Option<Ns>>,
    pub recorded: Recorded,
}

impl Side {
    /// A whole run: times of events summed over its ranks, everything else of the median rank.
    pub fn run(ranks: &[RankSide]) -> Side {
        let mut all = Totals::new();
        for (key, total) in ranks.iter().flat_map(|rank| &rank.totals) {
            all.entry(key.clone()).or_default().add(*total);
        }
        let recorded = Recorded::all(ranks.iter().map(|rank| &rank.recorded));
        Side { totals: all, recorded, ..Side::figures(ranks.iter()) }
    }

    pub fn rank(rank: &RankSide) -> Side {
        let RankSide { totals, summary, steps, recorded, .. } = rank.clone();
        Side { totals, summary, steps, recorded }
    }

    /// The median over all ranks but one, of every event and every figure by itself.
    pub fn median_rank(ranks: &[RankSide], but: u32) -> Side {
        let others: Vec<&RankSide> = ranks.iter().filter(|rank| rank.rank != but).collect();
        let names: BTreeSet<_> = others.iter().flat_map(|rank| rank.totals.keys()).collect();
        let totals = names.into_iter().map(|key| {
            let of = |field: fn(&Total) -> i64| {
                median_of(others.iter().map(|rank| rank.totals.get(key).map_or(0, field)).collect())
                    .unwrap_or(0)
            };
            let total = Total {
                count: of(|total| total.count as i64) as u64,
                sum_ns: Ns(of(|total| total.sum_ns.0)),
                own_ns: Ns(of(|total| total.own_ns.0)),
            };
            (key.clone(), total)
        });
        let recorded = Recorded::median(others.iter().map(|rank| &rank.recorded));
        Side { totals: totals.collect(), recorded, ..Side::figures(others.iter().copied()) }
    }

    fn figures<'r>(ranks: impl Iterator<Item = &'r RankSide>) -> Side {
        let mut summaries = Vec::new();
        let mut steps: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for rank in ranks {
            summaries.push(&rank.summary);
            for (step, period) in &rank.steps {
                steps.entry(*step).or_default().extend(period.map(|ns| ns.0));
            }
        }
        let steps = steps.into_iter().map(|(step, periods)| (step, median_of(periods).map(Ns))).collect();
        Side { summary: Summary::median(&summaries), steps, ..Side::default() }
    }
}

/// The time of one step on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StepRow {
    pub a_step: Option<i64>,
    pub b_step: Option<i64>,
    pub a_period_ns: Option<Ns>,
    pub b_period_ns: Option<Ns>,
    pub delta_ns: Option<Ns>,
}

/// Steps side by side: by number if both sides have any number in common, else one after the other.
pub(super) fn steps(a: &Side, b: &Side) -> Vec<StepRow> {
    let common = a.steps.keys().any(|number| b.steps.contains_key(number));
    let pairs: Vec<(Option<i64>, Option<i64>)> = if common {
        let numbers: BTreeSet<i64> = a.steps.keys().chain(b.steps.keys()).copied().collect();
        let here = |side: &Side, number: i64| side.steps.contains_key(&number).then_some(number);
        numbers.into_iter().map(|number| (here(a, number), here(b, number))).collect()
    } else {
        let (mut first, mut second) = (a.steps.keys().copied(), b.steps.keys().copied());
        (0..a.steps.len().max(b.steps.len())).map(|_| (first.next(), second.next())).collect()
    };
    let period = |side: &Side, step: Option<i64>| side.steps.get(&step?).copied().flatten();
    let row = |(a_step, b_step)| {
        let (a_period_ns, b_period_ns) = (period(a, a_step), period(b, b_step));
        let delta_ns = a_period_ns.and_then(|a| Some(b_period_ns? - a));
        StepRow { a_step, b_step, a_period_ns, b_period_ns, delta_ns }
    };
    pairs.into_iter().map(row).collect()
}

/// What the host did, by names that are the same from run to run.
pub(super) fn host(a: &Side, b: &Side) -> Vec<HostRow> {
    let rows = DiffAnswer::rows(&plain_host(&a.totals), &plain_host(&b.totals));
    let own = |row: DiffRow| {
        let (a_own_ns, b_own_ns) = (row.a.own_ns, row.b.own_ns);
        HostRow { a_own_ns, b_own_ns, own_delta_ns: b_own_ns - a_own_ns, row }
    };
    let mut rows: Vec<HostRow> = rows.into_iter().map(own).collect();
    // Stable, so that equal ones stay by the change of their whole time.
    rows.sort_by_key(|row| std::cmp::Reverse(row.own_delta_ns.0.unsigned_abs()));
    rows
}

fn plain_host(totals: &Totals) -> Totals {
    let mut plain = Totals::new();
    for ((name, place), total) in totals.iter().filter(|((_, place), _)| *place == Place::Cpu) {
        plain.entry((from_run_to_run(name).into_owned(), *place)).or_default().add(*total);
    }
    plain
}
