//! Which rank holds the others up, how often, and why?
//!
//! `collectives`, `arrived_last`, `arrived_first` and `wait_ns` compare the starts of synchronising collectives
//! (all-reduce, reduce-scatter, all-gather, all-to-all) on the ranks' own clocks, as other tools do. The rest
//! takes the clocks into account (see [`crate::model::clocks`]): how far the last rank was behind the one before it is
//! its lateness; what it had itself waited for others elsewhere is inherited; the rest is its own. A rank is late
//! if its own lateness exceeds a hundredth of the run. Collectives without metadata count only where there is no
//! metadata at all.

mod cause;
mod lateness;
mod notes;
mod pattern;
mod table;
mod work;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use gpuscope_trace::{Interval, Ns, Quality, View};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::Question;
use crate::collectives::{Arrivals, Collective, Matched, RankParts};
use crate::model::clocks::{Offsets, RankClock};
use lateness::{Late, Lateness};

pub use cause::{Cause, Why};
pub use pattern::Pattern;
pub use work::Work;

/// A rank is late if its own lateness exceeds this share of the run, in thousandths.
const LATE_PER_MILLE: i128 = 10;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RankStraggler {
    pub rank: u32,
    /// Synchronising collectives that another rank's trace has too.
    pub collectives: u64,
    /// On the ranks' own clocks, as are the next two.
    pub arrived_last: u64,
    pub arrived_first: u64,
    pub wait_ns: Ns,
    /// How often it was last for certain, clocks taken into account.
    pub last: u64,
    /// Of these, how often most of it was inherited.
    pub last_inherited: u64,
    /// How far it was behind the rank before it, summed, less what was inherited.
    pub own_lateness_ns: Ns,
    pub inherited_ns: Ns,
    /// Whom it had waited for most.
    pub inherited_from: Option<u32>,
    /// Own lateness as a share of the run.
    pub own_lateness_pct: f64,
    pub late: bool,
    /// What each of the others waited in collectives to which this rank came last for certain: the mean over them.
    pub others_wait_ns: Ns,
    /// That of their time, from their first GPU work to their last.
    pub others_wait_pct: f64,
    /// Whether it is late all the time or now and then; for late ranks.
    pub pattern: Option<Pattern>,
    /// What was slower than on the median of its peers; for late ranks.
    pub cause: Option<Cause>,
    /// Where it was furthest behind; for late ranks.
    #[serde(skip)]
    pub most_behind: Option<MostBehind>,
}

/// From when the others could have gone on to when they did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostBehind {
    /// On the late rank's clock.
    pub time: Interval,
    pub step: Option<i64>,
}

/// A rank that took part but whose trace is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MissingRank {
    pub rank: u32,
    /// Collectives it took part in.
    pub collectives: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StragglersAnswer {
    /// The late rank with the most lateness of its own.
    pub latest_rank: Option<u32>,
    pub notes: Vec<String>,
    pub ranks: Vec<RankStraggler>,
    pub missing: Vec<MissingRank>,
    /// What even the last of those present waited beyond the fastest collective of each sort, where ranks are
    /// missing: perhaps for one of them.
    pub unexplained_wait_ns: Ns,
    pub clocks: Vec<RankClock>,
    #[serde(skip)]
    quality: Vec<Quality>,
}

/// What one rank contributes.
#[derive(Clone, Debug)]
pub struct Local {
    parts: Arc<RankParts>,
    work: Work,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Stragglers;

impl Question for Stragglers {
    type Local = Local;
    type Answer = StragglersAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> Local {
        Local { parts: RankParts::of(rank, view), work: Work::of(view) }
    }

    fn merge(&self, mut locals: Vec<Local>) -> StragglersAnswer {
        locals.dedup_by_key(|local| local.parts.rank);
        let matched = Matched::new(locals.iter().map(|local| &*local.parts));
        let work: Vec<Work> = locals.into_iter().map(|local| local.work).collect();
        let offsets = Offsets::of(&matched);
        let arrivals = Arrivals::of(&matched, &offsets);
        let counted = Counted::of(&matched);
        let mut ranks = as_written(&matched, &counted);
        let lateness = Lateness::new(&matched, &arrivals);
        let late = lateness.all(|i| counted.has(i));
        let run = work.iter().map(|work| work.span).max().unwrap_or(Ns::ZERO);
        own(&mut ranks, &matched, &late, run);
        held_up(&mut ranks, &matched, &arrivals, &late, &work);
        for (member, rank) in (0..).zip(&mut ranks).filter(|(_, rank)| rank.late) {
            let mine = lateness.collectives_of(member).filter(|i| counted.has(*i));
            let own =
                |i: usize| late[i].filter(|late| late.member == member).map_or(Ns::ZERO, |late| late.own());
            let mine: Vec<_> = mine.map(|i| (matched.get(i), own(i))).collect();
            rank.most_behind = most_behind(&matched, member, &mine);
            explain(rank, member, &mine, &work);
        }
        let latest = ranks.iter().filter(|rank| rank.late);
        let latest = latest.max_by_key(|rank| (rank.own_lateness_ns, std::cmp::Reverse(rank.rank)));
        let mut answer = StragglersAnswer {
            latest_rank: latest.map(|rank| rank.rank),
            clocks: offsets.ranks().collect(),
            quality: offsets.quality(),
            ..StragglersAnswer::default()
        };
        (answer.missing, answer.unexplained_wait_ns) = missing(&matched, &counted);
        answer.ranks = ranks;
        answer.notes = notes::of(&answer, &matched, &counted);
        answer
    }

    fn quality(&self, answer: &StragglersAnswer) -> Vec<Quality> {
        answer.quality.clone()
    }
}

fn most_behind(matched: &Matched, member: u32, mine: &[(Collective<'_>, Ns)]) -> Option<MostBehind> {
    let (collective, own) = mine.iter().max_by_key(|(_, own)| *own)?;
    let part = collective.parts().iter().find(|part| part.member == member)?;
    let start = part.start - Ns(matched.ranks[member as usize].base_ns);
    Some(MostBehind { time: Interval::new(start - *own, start), step: part.step() })
}

/// The collectives that say who was late.
struct Counted(Vec<bool>);

impl Counted {
    fn of(matched: &Matched) -> Counted {
        let any_metadata = matched.sorts.iter().any(|sort| sort.has_metadata);
        let counts = |collective: Collective<'_>| {
            let sort = collective.sort();
            sort.op.synchronises() && sort.has_metadata == any_metadata && collective.parts().len() > 1
        };
        Counted(matched.iter().map(counts).collect())
    }

    fn has(&self, i: usize) -> bool {
        self.0[i]
    }

    fn iter<'a>(&'a self, matched: &'a Matched) -> impl Iterator<Item = (usize, Collective<'a>)> {
        matched.iter().enumerate().filter(|(i, _)| self.has(*i))
    }
}

/// The figures that need no alignment.
fn as_written(matched: &Matched, counted: &Counted) -> Vec<RankStraggler> {
    let mut ranks: Vec<RankStraggler> = matched
        .ranks
        .iter()
        .map(|member| RankStraggler { rank: member.rank, ..RankStraggler::default() })
        .collect();
    for (_, collective) in counted.iter(matched) {
        let (parts, latest) = (collective.parts(), collective.last_start());
        for part in parts {
            let rank = &mut ranks[part.member as usize];
            rank.collectives += 1;
            rank.wait_ns += latest - part.start;
        }
        // Of equal ones the lowest rank, as other tools count.
        if let Some(last) = parts.iter().find(|part| part.start == latest) {
            ranks[last.member as usize].arrived_last += 1;
        }
        ranks[collective.first_part().member as usize].arrived_first += 1;
    }
    ranks
}

/// The figures that take clocks and inheritance into account.
fn own(ranks: &mut [RankStraggler], matched: &Matched, late: &[Option<Late>], run: Ns) {
    let mut inherited_from: FxHashMap<(u32, u32), Ns> = FxHashMap::default();
    for late in late.iter().flatten() {
        let rank = &mut ranks[late.member as usize];
        rank.last += 1;
        rank.last_inherited += u64::from(late.is_mostly_inherited());
        rank.own_lateness_ns += late.own();
        rank.inherited_ns += late.inherited;
        if let Some(from) = late.inherited_from {
            *inherited_from.entry((late.member, from)).or_default() += late.inherited;
        }
    }
    let mut most: Vec<_> = inherited_from.into_iter().collect();
    most.sort_unstable_by_key(|((_, from), ns)| (*ns, std::cmp::Reverse(*from)));
    for ((member, from), _) in most {
        ranks[member as usize].inherited_from = Some(matched.ranks[from as usize].rank);
    }
    for rank in ranks {
        rank.own_lateness_pct = rank.own_lateness_ns.pct_of(run);
        rank.late = i128::from(rank.own_lateness_ns.0) * 1000 > i128::from(run.0) * LATE_PER_MILLE;
    }
}

/// What the others lose by waiting for each rank.
fn held_up(
    ranks: &mut [RankStraggler],
    matched: &Matched,
    arrivals: &Arrivals,
    late: &[Option<Late>],
    work: &[Work],
) {
    let mut waited = vec![Ns::ZERO; ranks.len()];
    for (collective, late) in matched.iter().zip(late) {
        let Some(late) = late else { continue };
        // The last one itself waited for nobody.
        let waits = &arrivals.waits[collective.first()..][..collective.parts().len()];
        waited[late.member as usize] += waits.iter().copied().sum::<Ns>();
    }
    let whole: Ns = work.iter().map(|work| work.span).sum();
    let others = ranks.len().saturating_sub(1).max(1) as i64;
    for (member, rank) in ranks.iter_mut().enumerate() {
        rank.others_wait_ns = Ns(waited[member].0 / others);
        rank.others_wait_pct = waited[member].pct_of(whole - work[member].span);
    }
}

/// Says of a late rank whether it is always late, and what was slower; `mine` are its collectives that count.
fn explain(rank: &mut RankStraggler, member: u32, mine: &[(Collective<'_>, Ns)], work: &[Work]) {
    let mut peers: BTreeSet<u32> = BTreeSet::new();
    for (collective, _) in mine.iter().filter(|(_, own)| *own > Ns::ZERO) {
        peers.extend(collective.parts().iter().map(|part| part.member).filter(|peer| *peer != member));
    }
    let peers: Vec<&Work> = peers.into_iter().map(|peer| &work[peer as usize]).collect();
    let pattern = pattern::of(mine);
    rank.cause = cause::of(&work[member as usize], &peers, &pattern.late_steps, rank.own_lateness_ns);
    rank.pattern = Some(pattern);
}

/// The ranks that are not there, and what those present may have waited for them.
fn missing(matched: &Matched, counted: &Counted) -> (Vec<MissingRank>, Ns) {
    let mut counts: FxHashMap<u32, u64> = FxHashMap::default();
    let mut fastest: FxHashMap<u32, Ns> = FxHashMap::default();
    let incomplete = || counted.iter(matched).filter(|(_, collective)| !collective.complete());
    for (_, collective) in incomplete() {
        for rank in collective.missing() {
            *counts.entry(rank).or_default() += 1;
        }
        let latency = collective.latency();
        let own = fastest.entry(collective.parts()[0].sort).or_insert(latency);
        *own = latency.min(*own);
    }
    let beyond = |collective: Collective<'_>| collective.latency() - fastest[&collective.parts()[0].sort];
    let unexplained = incomplete().map(|(_, collective)| beyond(collective)).sum();
    let mut missing: Vec<MissingRank> =
        counts.into_iter().map(|(rank, collectives)| MissingRank { rank, collectives }).collect();
    missing.sort_unstable_by_key(|missing| missing.rank);
    (missing, unexplained)
}
