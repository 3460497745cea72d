//! One collective over the ranks that are there: who, what, how large, how long.

use gpuscope_trace::Ns;

use super::matched::{Matched, Part};
use super::op::{Op, element_bytes};
use super::parts::{Group, Sort};

#[derive(Clone, Copy, Debug)]
pub struct Collective<'a> {
    pub(super) matched: &'a Matched,
    /// Its parts in [`Matched::parts`].
    pub(super) first: usize,
    pub(super) len: usize,
}

impl<'a> Collective<'a> {
    pub fn parts(self) -> &'a [Part] {
        &self.matched.parts[self.first..self.first + self.len]
    }

    /// The place of its first part in [`Matched::parts`]; the others follow.
    pub fn first(self) -> usize {
        self.first
    }

    pub fn sort(self) -> &'a Sort {
        &self.matched.sorts[self.parts()[0].sort as usize]
    }

    pub fn group(self) -> &'a Group {
        &self.matched.groups[self.sort().group as usize]
    }

    pub fn op(self) -> Op {
        self.sort().op
    }

    pub fn rank(self, part: &Part) -> u32 {
        self.matched.ranks[part.member as usize].rank
    }

    /// What the rank's file says, without its base.
    pub fn written_start(self, part: &Part) -> Ns {
        part.start - Ns(self.matched.ranks[part.member as usize].base_ns)
    }

    pub fn group_size(self) -> Option<i64> {
        let group = self.group();
        group.size.or_else(|| Some(group.members.len() as i64).filter(|size| *size > 0))
    }

    /// How many ranks it takes: two from end to end, else the whole group.
    pub fn expected(self) -> Option<i64> {
        if self.sort().peers.is_some() {
            return Some(2);
        }
        let members = Some(self.group().members.len() as i64).filter(|members| *members > 0);
        // Without metadata nobody says who belongs; a collective of the whole job lacks nobody.
        members.or_else(|| self.group_size()).or(self.matched.world_size)
    }

    /// Whether every rank that took part is there.
    pub fn complete(self) -> bool {
        self.expected().is_some_and(|expected| self.len as i64 >= expected)
    }

    /// The members that are not there, as far as they are known.
    pub fn missing(self) -> Vec<u32> {
        let peers = self.sort().peers.map(|(from, to)| [from.min(to), from.max(to)]);
        let members = peers.as_ref().map_or(self.group().members.as_slice(), |peers| peers.as_slice());
        // Both in ascending order.
        let mut present = self.parts().iter().map(|part| self.rank(part)).peekable();
        let is_missing = |rank: &&u32| {
            while present.next_if(|other| other < *rank).is_some() {}
            present.peek() != Some(*rank)
        };
        members.iter().filter(is_missing).copied().collect()
    }

    pub fn size_bytes(self) -> Option<i64> {
        let sort = self.sort();
        let elements = sort.op.message(sort.in_elements, sort.out_elements)?;
        element_bytes(sort.dtype.as_deref()?)?.checked_mul(elements).filter(|bytes| *bytes >= 0)
    }

    /// The shortest duration: nobody waited less than the rank that came last, so this is the transfer, with
    /// what even the last of those present waited for a missing rank on top.
    pub fn latency(self) -> Ns {
        self.parts().iter().map(|part| part.dur).min().unwrap_or(Ns::ZERO)
    }

    pub fn last_start(self) -> Ns {
        self.parts().iter().map(|part| part.start).max().unwrap_or(Ns::ZERO)
    }

    /// The part that began first on the ranks' own clocks, the lowest rank of equal ones.
    pub fn first_part(self) -> &'a Part {
        let parts = self.parts();
        parts.iter().min_by_key(|part| part.start).unwrap_or(&parts[0])
    }
}
