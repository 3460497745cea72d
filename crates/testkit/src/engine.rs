//! Runs all ranks together, one step at a time, and lets them meet in their transfers.
//!
//! Only the ranks asked for are recorded, and what was recorded of a step is handed on before the next begins, so memory
//! does not grow with the length of the job.

use std::io;

use crate::action::Action;
use crate::costs::Costs;
use crate::event::Batch;
use crate::groups::Groups;
use crate::plan::Plan;
use crate::program;
use crate::rank::{Progress, RankSim};
use crate::rng::{jittered, mix};

/// Simulates a plan. `recorded` says which ranks to record; `take` gets their batches, step by step.
/// Returns the true time at which the last rank is done.
pub(crate) fn simulate(
    plan: &Plan,
    groups: &Groups,
    recorded: &dyn Fn(u32) -> bool,
    take: &mut dyn FnMut(u32, Batch) -> io::Result<()>,
) -> io::Result<i64> {
    let world = plan.world();
    let mut ranks: Vec<RankSim<'_>> =
        (0..world).map(|rank| RankSim::new(plan, groups, rank, recorded(rank))).collect();
    let mut sequences = vec![1_u32; world as usize];
    for step in plan.first_step..plan.first_step + plan.steps {
        for (rank, sim) in ranks.iter_mut().enumerate() {
            let (actions, sequence) = program::step(plan, groups, rank as u32, step, sequences[rank]);
            sequences[rank] = sequence;
            sim.load(actions, step);
        }
        run_together(plan, groups, &mut ranks);
        hand_on(&mut ranks, recorded, take)?;
    }
    for sim in &mut ranks {
        sim.load(
            vec![Action::Work(18_000), Action::SyncDevice { extra_ns: 0 }],
            plan.first_step + plan.steps,
        );
    }
    run_together(plan, groups, &mut ranks);
    let end = ranks.iter().map(|sim| sim.now).max().unwrap_or(0);
    hand_on(&mut ranks, recorded, take)?;
    Ok(end)
}

fn hand_on(
    ranks: &mut [RankSim<'_>],
    recorded: &dyn Fn(u32) -> bool,
    take: &mut dyn FnMut(u32, Batch) -> io::Result<()>,
) -> io::Result<()> {
    for (rank, sim) in ranks.iter_mut().enumerate() {
        let batch = sim.take_batch();
        if recorded(rank as u32) {
            take(rank as u32, batch)?;
        }
    }
    Ok(())
}

/// Each rank runs until it has launched a transfer; a transfer whose members are all there is completed.
fn run_together(plan: &Plan, groups: &Groups, ranks: &mut [RankSim<'_>]) {
    let mut waiting = vec![false; ranks.len()];
    let mut finished = vec![false; ranks.len()];
    loop {
        let mut moved = false;
        for rank in 0..ranks.len() {
            if waiting[rank] || finished[rank] {
                continue;
            }
            moved = true;
            match ranks[rank].run() {
                Progress::Arrived => waiting[rank] = true,
                Progress::Finished => finished[rank] = true,
            }
        }
        for rank in 0..ranks.len() {
            if waiting[rank] {
                moved |= try_complete(plan, groups, ranks, rank, &mut waiting);
            }
        }
        if !moved {
            return;
        }
    }
}

/// Completes the transfer this rank waits in, if all its members wait in it.
fn try_complete(
    plan: &Plan,
    groups: &Groups,
    ranks: &mut [RankSim<'_>],
    rank: usize,
    waiting: &mut [bool],
) -> bool {
    let Some(arrival) = ranks[rank].arrival.clone() else { return false };
    let args = &arrival.args;
    let members: Vec<usize> = match args.peers {
        Some((from, to)) => vec![from as usize, to as usize],
        None => groups.all[args.group].ranks.iter().map(|&member| member as usize).collect(),
    };
    let same = |sim: &RankSim<'_>| {
        sim.arrival.as_ref().is_some_and(|other| {
            other.args.group == args.group && other.args.peers == args.peers && other.args.seq == args.seq
        })
    };
    if !members.iter().all(|&member| same(&ranks[member])) {
        return false;
    }
    let mut arrivals: Vec<(i64, u32)> = members
        .iter()
        .filter_map(|&member| ranks[member].arrival.as_ref().map(|other| (other.start, member as u32)))
        .collect();
    arrivals.sort_unstable();
    let Some(&(last, last_rank)) = arrivals.last() else { return false };
    let second = if arrivals.len() > 1 { arrivals[arrivals.len() - 2].0 } else { last };
    let key = mix(plan.seed ^ ((args.group as u64) << 48) ^ args.seq);
    let transfer_ns = jittered(arrival.ns.max(Costs::ring(0, 1, 1)), 30, key);
    let end = last + plan.scaled(arrival.kernel, transfer_ns);
    for member in members {
        ranks[member].complete(end, last_rank, last, second);
        waiting[member] = false;
    }
    true
}
