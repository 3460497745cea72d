//! What each planted fault cost: the job is simulated once more without it, with the same chance everywhere else.

use crate::engine::simulate;
use crate::fault::Fault;
use crate::groups::Groups;
use crate::plan::{JOB_START_NS, Plan};
use crate::truth::{PlantedFault, RankTruth};
use crate::witness::Witness;

/// True time from the job's start to its last rank's end.
pub(crate) fn makespan(plan: &Plan) -> i64 {
    let groups = Groups::new(plan);
    simulate(plan, &groups, &|_| false, &mut |_, _| Ok(())).map_or(0, |end| end - JOB_START_NS)
}

/// One row per fault of the plan, in its order, one if blocks are shared, and one per rank of a pipeline.
pub(crate) fn planted(plan: &Plan, ranks: &[RankTruth], makespan_ns: i64) -> Vec<PlantedFault> {
    let mut rows: Vec<PlantedFault> = plan
        .faults
        .iter()
        .enumerate()
        .map(|(index, &fault)| row(plan, ranks, makespan_ns, index, fault))
        .collect();
    rows.extend(exposed_tensor_parallel(plan, ranks, makespan_ns));
    rows.extend(pipeline_bubbles(plan, ranks));
    rows
}

fn row(plan: &Plan, ranks: &[RankTruth], makespan_ns: i64, index: usize, fault: Fault) -> PlantedFault {
    let sites = || ranks.iter().flat_map(|rank| &rank.fault_sites).filter(|site| site.fault == index);
    let concerned = || ranks.iter().filter(|rank| fault.rank().is_none_or(|only| only == rank.rank));
    let starts =
        sites().map(|site| site.start_ns).min().or_else(|| concerned().map(|rank| rank.start_ns).min());
    let ends = sites().map(|site| site.end_ns).max().or_else(|| concerned().map(|rank| rank.end_ns).max());
    let mut planted = PlantedFault {
        fault: Some(fault),
        rank: fault.rank(),
        step: fault.step(),
        host_ns: sites().map(|site| site.end_ns - site.start_ns).sum(),
        ..unmeasured(fault.code(), starts.unwrap_or(0), ends.unwrap_or(0))
    };
    let watched = fault.rank().unwrap_or(0);
    if fault.costs_time() {
        let mut without = plan.clone();
        without.faults.remove(index);
        compare(&mut planted, ranks, makespan_ns, &without, watched);
    }
    planted
}

/// The lower median over the steps that have one before them.
fn median_period(rank: &RankTruth) -> i64 {
    let mut periods: Vec<i64> = rank.steps.iter().filter_map(|step| step.period_ns).collect();
    periods.sort_unstable();
    periods.get(periods.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// Fills in what the job loses against another.
fn compare(planted: &mut PlantedFault, ranks: &[RankTruth], makespan_ns: i64, other: &Plan, watched: u32) {
    let Some(with) = ranks.get(watched as usize) else { return };
    let (without_ns, without) = outcome(other, watched);
    planted.lost_ns = makespan_ns - without_ns;
    planted.step_lost_ns = median_period(with) - median_period(&without);
    planted.idle_ns = with.total.idle_ns - without.total.idle_ns;
    planted.exposed_comm_ns = with.total.exposed_comm_ns - without.total.exposed_comm_ns;
}

/// How long a job takes, and what is true of one rank.
fn outcome(plan: &Plan, watched: u32) -> (i64, RankTruth) {
    let groups = Groups::new(plan);
    let mut witness = Witness::new(plan, &groups, watched);
    let end = simulate(plan, &groups, &|rank| rank == watched, &mut |_, mut batch| {
        witness.observe(&mut batch);
        Ok(())
    });
    let truth = witness.finish(0, 0, std::iter::empty());
    (end.map_or(0, |end| end - JOB_START_NS), truth)
}

/// A row that says nothing yet but its name and place.
fn unmeasured(code: &'static str, start_ns: i64, end_ns: i64) -> PlantedFault {
    PlantedFault {
        code,
        fault: None,
        rank: None,
        step: None,
        start_ns,
        end_ns,
        host_ns: 0,
        lost_ns: 0,
        step_lost_ns: 0,
        idle_ns: 0,
        exposed_comm_ns: 0,
    }
}

/// What the ranks that share blocks lose because nothing runs beside their transfers.
fn exposed_tensor_parallel(plan: &Plan, ranks: &[RankTruth], makespan_ns: i64) -> Option<PlantedFault> {
    let first = ranks.first().filter(|_| plan.tensor_size() > 1)?;
    let mut row = unmeasured("exposed_tensor_parallel", first.start_ns, first.end_ns);
    compare(&mut row, ranks, makespan_ns, &plan.clone().with_perfect_overlap("tp"), 0);
    Some(row)
}

/// What each stage waited in sends and receives.
fn pipeline_bubbles(plan: &Plan, ranks: &[RankTruth]) -> Vec<PlantedFault> {
    if plan.stage_count() < 2 {
        return Vec::new();
    }
    let bubble = |rank: &RankTruth| PlantedFault {
        rank: Some(rank.rank),
        lost_ns: rank.collectives.iter().filter(|row| row.peers.is_some()).map(|row| row.true_wait_ns).sum(),
        ..unmeasured("pipeline_bubble", rank.start_ns, rank.end_ns)
    };
    ranks.iter().map(bubble).collect()
}
