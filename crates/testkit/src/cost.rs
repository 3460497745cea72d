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

/// One row per fault of the plan, in its order, and one per rank of a pipeline.
pub(crate) fn planted(plan: &Plan, ranks: &[RankTruth], makespan_ns: i64) -> Vec<PlantedFault> {
    let mut rows: Vec<PlantedFault> = plan
        .faults
        .iter()
        .enumerate()
        .map(|(index, &fault)| row(plan, ranks, makespan_ns, index, fault))
        .collect();
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
        code: fault.code(),
        fault: Some(fault),
        rank: fault.rank(),
        step: fault.step(),
        start_ns: starts.unwrap_or(0),
        end_ns: ends.unwrap_or(0),
        host_ns: sites().map(|site| site.end_ns - site.start_ns).sum(),
        lost_ns: 0,
        step_lost_ns: 0,
        idle_ns: 0,
        exposed_comm_ns: 0,
    };
    let watched = fault.rank().unwrap_or(0);
    if let (true, Some(with)) = (fault.costs_time(), ranks.get(watched as usize)) {
        let (without_ns, without) = counterfactual(plan, index, watched);
        planted.lost_ns = makespan_ns - without_ns;
        planted.step_lost_ns = median_period(with) - median_period(&without);
        planted.idle_ns = with.total.idle_ns - without.total.idle_ns;
        planted.exposed_comm_ns = with.total.exposed_comm_ns - without.total.exposed_comm_ns;
    }
    planted
}

/// The lower median over the steps that have one before them.
fn median_period(rank: &RankTruth) -> i64 {
    let mut periods: Vec<i64> = rank.steps.iter().filter_map(|step| step.period_ns).collect();
    periods.sort_unstable();
    periods.get(periods.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}

/// How long the job would take without one of its faults, and what would be true of one rank then.
fn counterfactual(plan: &Plan, index: usize, watched: u32) -> (i64, RankTruth) {
    let mut rest = plan.clone();
    rest.faults.remove(index);
    let groups = Groups::new(&rest);
    let mut witness = Witness::new(&rest, &groups, watched);
    let end = simulate(&rest, &groups, &|rank| rank == watched, &mut |_, mut batch| {
        witness.observe(&mut batch);
        Ok(())
    });
    let truth = witness.finish(0, 0, std::iter::empty());
    (end.map_or(0, |end| end - JOB_START_NS), truth)
}

/// What each stage waited in sends and receives.
fn pipeline_bubbles(plan: &Plan, ranks: &[RankTruth]) -> Vec<PlantedFault> {
    if plan.stage_count() < 2 {
        return Vec::new();
    }
    let bubble = |rank: &RankTruth| PlantedFault {
        code: "pipeline_bubble",
        fault: None,
        rank: Some(rank.rank),
        step: None,
        start_ns: rank.start_ns,
        end_ns: rank.end_ns,
        host_ns: 0,
        lost_ns: rank.collectives.iter().filter(|row| row.peers.is_some()).map(|row| row.true_wait_ns).sum(),
        step_lost_ns: 0,
        idle_ns: 0,
        exposed_comm_ns: 0,
    };
    ranks.iter().map(bubble).collect()
}
