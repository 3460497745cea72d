//! What is true of the ranks together: who was late where, and whether it was its own doing.

use std::collections::BTreeMap;

use crate::cost;
use crate::plan::Plan;
use crate::truth::{CollectiveTruth, JobCollective, Lateness, RankTruth, Truth};

/// A rank is called late if it was behind for more than this share of the job, in thousandths.
const LATE_PER_MILLE: i64 = 10;

/// The truth of a job that has no ranks.
pub(crate) fn no_ranks() -> Truth {
    Truth {
        ranks: Vec::new(),
        collectives: Vec::new(),
        lateness: Vec::new(),
        latest_rank: None,
        faults: Vec::new(),
        true_makespan_ns: 0,
    }
}

/// Puts the ranks' truths together.
pub(crate) fn combine(plan: &Plan, ranks: Vec<RankTruth>) -> Truth {
    let collectives = match_collectives(&ranks);
    let lateness = lateness(&ranks, &collectives);
    let true_makespan_ns = cost::makespan(plan);
    let latest_rank = lateness
        .iter()
        .filter(|row| row.behind_ns * 1000 > true_makespan_ns * LATE_PER_MILLE)
        .max_by_key(|row| (row.behind_ns, std::cmp::Reverse(row.rank)))
        .map(|row| row.rank);
    let faults = cost::planted(plan, &ranks, true_makespan_ns);
    Truth { ranks, collectives, lateness, latest_rank, faults, true_makespan_ns }
}

type Key = (String, Option<(u32, u32)>, u64);
/// A rank and the place of a collective in its list.
type Part = (u32, usize);

fn match_collectives(ranks: &[RankTruth]) -> Vec<JobCollective> {
    let mut members: BTreeMap<Key, Vec<Part>> = BTreeMap::new();
    for rank in ranks {
        for (place, row) in rank.collectives.iter().enumerate() {
            members.entry((row.group.clone(), row.peers, row.seq)).or_default().push((rank.rank, place));
        }
    }
    let mut rows: Vec<JobCollective> = Vec::with_capacity(members.len());
    for (key, parts) in members {
        let row = matched(ranks, key, parts, rows.last());
        rows.extend(row);
    }
    rows
}

fn row_of(ranks: &[RankTruth], (rank, place): Part) -> Option<&CollectiveTruth> {
    ranks.get(rank as usize)?.collectives.get(place)
}

fn matched(
    ranks: &[RankTruth],
    (group, peers, seq): Key,
    mut parts: Vec<Part>,
    before: Option<&JobCollective>,
) -> Option<JobCollective> {
    let members = parts.iter().map(|(rank, _)| *rank).collect();
    parts.sort_by_key(|&part| (row_of(ranks, part).map(|row| row.true_start_ns), part.0));
    let first = row_of(ranks, *parts.first()?)?;
    let (inherited_ns, inherited_from) = match parts.as_slice() {
        [.., second, last] if peers.is_none() => {
            let carried = before.filter(|row| row.group == group && row.last_rank == last.0);
            inherited(ranks, *last, *second, first.last_behind_ns, carried)
        }
        _ => (0, None),
    };
    Some(JobCollective {
        group,
        seq,
        name: first.name,
        peers,
        members,
        last_rank: first.last_rank,
        skew_ns: first.last_arrival_true_ns - first.true_start_ns,
        last_behind_ns: first.last_behind_ns,
        transfer_ns: first.true_end_ns - first.last_arrival_true_ns,
        inherited_ns,
        inherited_from,
    })
}

/// How much longer than the second last the last rank had waited for others, in other groups, since this group met.
/// If it met no other group since, what it had inherited before is still with it.
fn inherited(
    ranks: &[RankTruth],
    last: Part,
    second: Part,
    behind: i64,
    carried: Option<&JobCollective>,
) -> (i64, Option<u32>) {
    let follows_directly = |(rank, place): Part| {
        let rows = &ranks[rank as usize].collectives;
        place > 0 && rows[place - 1].group == rows[place].group
    };
    if let (true, Some(before)) = (follows_directly(last), carried) {
        let inherited = before.inherited_ns.clamp(0, behind.max(0));
        return (inherited, before.inherited_from.filter(|_| inherited > 0));
    }
    let (mine, others) = (waited_elsewhere(ranks, last), waited_elsewhere(ranks, second));
    let excess = mine.values().sum::<i64>() - others.values().sum::<i64>();
    let inherited = excess.clamp(0, behind.max(0));
    let most = mine.into_iter().max_by_key(|(_, ns)| *ns).map(|(rank, _)| rank);
    (inherited, most.filter(|_| inherited > 0))
}

/// What a rank waited in other groups since this collective's group last met, by the rank it waited for.
fn waited_elsewhere(ranks: &[RankTruth], (rank, place): Part) -> BTreeMap<u32, i64> {
    let rows = &ranks[rank as usize].collectives;
    let group = &rows[place].group;
    let mut waited: BTreeMap<u32, i64> = BTreeMap::new();
    for row in rows[..place].iter().rev().take_while(|row| row.group != *group) {
        *waited.entry(row.last_rank).or_default() += row.true_wait_ns;
    }
    waited
}

/// Point-to-point transfers are left out: in a pipeline one end is always early.
fn lateness(ranks: &[RankTruth], collectives: &[JobCollective]) -> Vec<Lateness> {
    let mut rows: Vec<Lateness> = ranks
        .iter()
        .map(|rank| {
            let synchronising = rank.collectives.iter().filter(|row| row.peers.is_none());
            Lateness {
                rank: rank.rank,
                collectives: synchronising.clone().count() as u64,
                wait_ns: synchronising.map(|row| row.true_wait_ns).sum(),
                ..Lateness::default()
            }
        })
        .collect();
    for collective in collectives.iter().filter(|row| row.members.len() > 1 && row.peers.is_none()) {
        if let Some(row) = rows.get_mut(collective.last_rank as usize) {
            row.arrived_last += 1;
            row.inherited += u64::from(2 * collective.inherited_ns > collective.last_behind_ns);
            row.behind_ns += collective.last_behind_ns - collective.inherited_ns;
        }
    }
    rows
}
