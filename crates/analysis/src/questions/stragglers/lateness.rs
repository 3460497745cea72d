//! How much of a rank's lateness is its own.
//!
//! A rank that waited for others elsewhere comes late through no fault of its own. What the last rank of a
//! collective waited in other groups since this group last met, beyond what the second last waited there, is
//! inherited. A rank that met no other group in between still carries what it had inherited then: the group's
//! collectives do not hold up its computation.

use gpuscope_trace::Ns;
use rustc_hash::FxHashMap;

use crate::collectives::{Arrivals, Matched};

/// The last rank of one collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Late {
    /// Places in `Matched::ranks`.
    pub(super) member: u32,
    /// How far it was behind the one before it.
    pub(super) behind: Ns,
    pub(super) inherited: Ns,
    /// Whom it had waited for most.
    pub(super) inherited_from: Option<u32>,
}

impl Late {
    pub(super) fn own(&self) -> Ns {
        self.behind - self.inherited
    }

    pub(super) fn is_mostly_inherited(&self) -> bool {
        self.inherited + self.inherited > self.behind
    }
}

pub(super) struct Lateness<'a> {
    matched: &'a Matched,
    arrivals: &'a Arrivals,
    by_rank: Vec<Vec<u32>>,
    collective_of: Vec<u32>,
    /// By part: what its rank waited in other groups since its group last met.
    elsewhere: Vec<Ns>,
}

impl<'a> Lateness<'a> {
    pub(super) fn new(matched: &'a Matched, arrivals: &'a Arrivals) -> Lateness<'a> {
        let by_rank = matched.by_rank();
        let mut elsewhere = vec![Ns::ZERO; matched.parts.len()];
        let mut waited_by_last_meeting = vec![Ns::ZERO; matched.groups.len()];
        for parts in &by_rank {
            waited_by_last_meeting.fill(Ns::ZERO);
            let mut waited = Ns::ZERO;
            for &part in parts {
                let last_meeting = &mut waited_by_last_meeting[group(matched, part) as usize];
                elsewhere[part as usize] = waited - *last_meeting;
                waited += arrivals.waits[part as usize];
                *last_meeting = waited;
            }
        }
        Lateness { matched, arrivals, by_rank, collective_of: matched.collective_of(), elsewhere }
    }

    /// The last rank of each collective that counts; none where the clocks do not tell it.
    pub(super) fn all(&self, counts: impl Fn(usize) -> bool) -> Vec<Option<Late>> {
        let mut all: Vec<Option<Late>> = vec![None; self.matched.len()];
        for i in (0..self.matched.len()).filter(|i| counts(*i)) {
            all[i] = self.late(i, &all);
        }
        all
    }

    /// The collectives of one rank in order of its starts.
    pub(super) fn collectives_of(&self, member: u32) -> impl Iterator<Item = usize> {
        self.by_rank[member as usize].iter().map(|part| self.collective_of[*part as usize] as usize)
    }

    fn late(&self, i: usize, earlier: &[Option<Late>]) -> Option<Late> {
        let last = self.arrivals.last[i].filter(|last| last.behind >= last.resolution)?;
        let collective = self.matched.get(i);
        let parts = collective.parts();
        let (first, behind) = (collective.first(), last.behind.max(Ns::ZERO));
        let member = parts[last.last].member;
        let part = first + last.last;
        let before = self
            .before(part)
            .filter(|before| group(self.matched, *before) == group(self.matched, part as u32));
        let carried = before
            .and_then(|before| earlier[self.collective_of[before as usize] as usize])
            .filter(|late| late.member == member);
        let (inherited, from) = if let Some(carried) = carried {
            (carried.inherited.min(behind), carried.inherited_from)
        } else {
            let more = self.elsewhere[part] - self.elsewhere[first + last.second];
            let inherited = more.max(Ns::ZERO).min(behind);
            (inherited, if inherited > Ns::ZERO { self.waited_for(part) } else { None })
        };
        Some(Late { member, behind, inherited, inherited_from: from.filter(|_| inherited > Ns::ZERO) })
    }

    /// The part before this one on the same rank.
    fn before(&self, part: usize) -> Option<u32> {
        let part = &self.matched.parts[part];
        self.by_rank[part.member as usize].get((part.place as usize).checked_sub(1)?).copied()
    }

    /// Whom a rank waited for most in other groups since the part's group last met.
    fn waited_for(&self, part: usize) -> Option<u32> {
        let own = group(self.matched, part as u32);
        let part = &self.matched.parts[part];
        let earlier = self.by_rank[part.member as usize][..part.place as usize].iter().rev();
        let mut waited: FxHashMap<u32, Ns> = FxHashMap::default();
        for &other in earlier.take_while(|other| group(self.matched, **other) != own) {
            let collective = self.collective_of[other as usize] as usize;
            if let Some(last) = self.arrivals.last[collective] {
                let rank = self.matched.get(collective).parts()[last.last].member;
                *waited.entry(rank).or_default() += self.arrivals.waits[other as usize];
            }
        }
        waited.into_iter().max_by_key(|(rank, ns)| (*ns, std::cmp::Reverse(*rank))).map(|(rank, _)| rank)
    }
}

fn group(matched: &Matched, part: u32) -> u32 {
    matched.sorts[matched.parts[part as usize].sort as usize].group
}
