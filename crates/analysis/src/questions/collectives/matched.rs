//! Which parts of which ranks are one collective.
//!
//! Ranks agree on a group by its name and members. Within a group, parts with one `Seq` (or `Comms Id`) are one
//! collective if every part of the group has such a number. Else the n-th of a sort on one rank is the n-th of
//! that sort on the others. Sends and receives are always matched in order, by source and destination: every
//! rank counts them for itself.

use gpuscope_trace::Ns;
use rustc_hash::FxHashMap;

use super::collective::Collective;
use super::op::Op;
use super::parts::{Group, NONE, RankParts, Sort};

/// One rank of the job, as far as collectives go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub rank: u32,
    pub host: Option<String>,
    pub base_ns: i64,
}

/// One rank's part in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its place in [`Matched::ranks`].
    pub member: u32,
    pub sort: u32,
    /// Its place among the rank's parts, which are in order of their start.
    pub place: u32,
    /// Since the epoch, on the rank's own clock.
    pub start: Ns,
    pub dur: Ns,
    step: i64,
}

impl Part {
    pub fn end(&self) -> Ns {
        self.start + self.dur
    }

    /// The number of the step that launched it.
    pub fn step(&self) -> Option<i64> {
        (self.step != NONE).then_some(self.step)
    }
}

/// The collectives of a job, by their earliest start; each over the ranks that are there.
#[derive(Clone, Debug, Default)]
pub struct Matched {
    pub ranks: Vec<Member>,
    pub groups: Vec<Group>,
    pub sorts: Vec<Sort>,
    pub parts: Vec<Part>,
    pub world_size: Option<i64>,
    /// The number here of each group of each rank.
    pub(crate) groups_of_rank: Vec<Vec<u32>>,
    /// First part and number of parts of each collective.
    spans: Vec<(u32, u32)>,
}

/// Where a part goes: its series, its number there, its rank, and its place on the rank.
type Slot = (u32, i64, u32, u32);

impl Matched {
    /// `locals` in order of the ranks; of several inputs for one rank, only the first takes part.
    pub fn new<'a>(locals: impl IntoIterator<Item = &'a RankParts>) -> Matched {
        let mut locals: Vec<&RankParts> = locals.into_iter().collect();
        locals.dedup_by_key(|local| local.rank);
        let mut matched = Matched {
            world_size: locals.iter().filter_map(|local| local.world_size).max(),
            ..Matched::default()
        };
        let sorts = matched.agree(&locals);
        let series = Series::of(&matched, &locals, &sorts);
        let slots = slots(&locals, &sorts, &series);
        matched.parts.reserve_exact(slots.len());
        for same in slots.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let first = matched.parts.len();
            matched.parts.extend(same.iter().map(|slot| part(&locals, &sorts, *slot)));
            matched.split(first);
        }
        let earliest = |(first, len): &(u32, u32)| {
            let parts = &matched.parts[*first as usize..(*first + *len) as usize];
            (parts.iter().map(|part| part.start).min(), *first)
        };
        matched.spans.sort_by_cached_key(earliest);
        matched
    }

    /// Gives every group and sort one number for all ranks; answers the number of each rank's sorts.
    fn agree(&mut self, locals: &[&RankParts]) -> Vec<Vec<u32>> {
        let mut groups: FxHashMap<(Option<&str>, &[u32], &str), u32> = FxHashMap::default();
        let mut sorts: FxHashMap<Sort, u32> = FxHashMap::default();
        let mut numbers = Vec::with_capacity(locals.len());
        for local in locals {
            self.ranks.push(Member { rank: local.rank, host: local.host.clone(), base_ns: local.base_ns });
            let mut of_group = Vec::with_capacity(local.groups.len());
            for group in &local.groups {
                let key = (group.name.as_deref(), group.members.as_slice(), group.mark.as_str());
                of_group.push(*groups.entry(key).or_insert_with(|| {
                    self.groups.push(group.clone());
                    self.groups.len() as u32 - 1
                }));
            }
            let mut number = |sort: &Sort| {
                let sort = Sort { group: of_group[sort.group as usize], ..sort.clone() };
                *sorts.entry(sort).or_insert_with_key(|sort| {
                    self.sorts.push(sort.clone());
                    self.sorts.len() as u32 - 1
                })
            };
            numbers.push(local.sorts.iter().map(&mut number).collect());
            self.groups_of_rank.push(of_group);
        }
        numbers
    }

    /// Makes collectives of the parts from `first` on, which share a number. A rank that is there more than
    /// once ran several kernels for it: the n-th of each rank belong together.
    fn split(&mut self, first: usize) {
        let mut parts = &mut self.parts[first..];
        if parts.windows(2).all(|pair| pair[0].member != pair[1].member) {
            self.spans.push((first as u32, parts.len() as u32));
            return;
        }
        let mut nth = 0;
        let mut numbered: Vec<(u32, Part)> = Vec::with_capacity(parts.len());
        for part in parts.iter() {
            nth = if numbered.last().is_some_and(|(_, before)| before.member == part.member) {
                nth + 1
            } else {
                0
            };
            numbered.push((nth, *part));
        }
        numbered.sort_by_key(|(nth, _)| *nth);
        let mut at = first as u32;
        for same in numbered.chunk_by(|a, b| a.0 == b.0) {
            let (these, rest) = parts.split_at_mut(same.len());
            for (slot, (_, part)) in these.iter_mut().zip(same) {
                *slot = *part;
            }
            self.spans.push((at, same.len() as u32));
            at += same.len() as u32;
            parts = rest;
        }
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub fn get(&self, i: usize) -> Collective<'_> {
        let (first, len) = self.spans[i];
        Collective { matched: self, first: first as usize, len: len as usize }
    }

    pub fn iter(&self) -> impl Iterator<Item = Collective<'_>> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// The collective of each part.
    pub fn collective_of(&self) -> Vec<u32> {
        let mut collective_of = vec![0; self.parts.len()];
        for (i, (first, len)) in self.spans.iter().enumerate() {
            collective_of[*first as usize..][..*len as usize].fill(i as u32);
        }
        collective_of
    }

    /// The parts of each rank in order of their start, as places in [`Matched::parts`].
    pub fn by_rank(&self) -> Vec<Vec<u32>> {
        let mut counts = vec![0usize; self.ranks.len()];
        for part in &self.parts {
            counts[part.member as usize] += 1;
        }
        let mut order: Vec<Vec<u32>> = counts.into_iter().map(|count| vec![0; count]).collect();
        for (i, part) in self.parts.iter().enumerate() {
            order[part.member as usize][part.place as usize] = i as u32;
        }
        order
    }
}

/// In which sequence the parts of each sort are counted.
struct Series {
    of_sort: Vec<u32>,
    /// Whether a series has numbers of its own; else its parts are counted.
    numbered: Vec<bool>,
}

impl Series {
    fn of(matched: &Matched, locals: &[&RankParts], numbers: &[Vec<u32>]) -> Series {
        let numbered_groups = numbered_groups(matched, locals, numbers);
        let mut known: FxHashMap<(u32, SeriesKey<'_>), u32> = FxHashMap::default();
        let mut series = Series { of_sort: Vec::with_capacity(matched.sorts.len()), numbered: Vec::new() };
        for sort in &matched.sorts {
            let by_number = numbered_groups[sort.group as usize];
            let key = match sort.peers {
                Some(peers) => SeriesKey::Peers(peers),
                None if by_number => SeriesKey::Group,
                // Ranks agree on the sizes of these.
                None if sort.op.synchronises() => SeriesKey::Alike(Sort { group: 0, ..sort.clone() }),
                None => SeriesKey::Named(&sort.name),
            };
            let numbered = by_number && sort.peers.is_none();
            let next = series.numbered.len() as u32;
            let number = *known.entry((sort.group, key)).or_insert(next);
            if number == next {
                series.numbered.push(numbered);
            }
            series.of_sort.push(number);
        }
        series
    }
}

#[derive(PartialEq, Eq, Hash)]
enum SeriesKey<'a> {
    Group,
    Peers((u32, u32)),
    Alike(Sort),
    Named(&'a str),
}

/// The groups in which every part, sends and receives aside, has a number.
fn numbered_groups(matched: &Matched, locals: &[&RankParts], numbers: &[Vec<u32>]) -> Vec<bool> {
    let mut numbered = vec![true; matched.groups.len()];
    for (local, numbers) in locals.iter().zip(numbers) {
        for (sort, id) in local.sort.iter().zip(&local.id) {
            let sort = &matched.sorts[numbers[*sort as usize] as usize];
            if *id == NONE && !matches!(sort.op, Op::Send | Op::Recv) {
                numbered[sort.group as usize] = false;
            }
        }
    }
    numbered
}

fn slots(locals: &[&RankParts], numbers: &[Vec<u32>], series: &Series) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::with_capacity(locals.iter().map(|local| local.len()).sum());
    let mut counts = vec![0i64; series.numbered.len()];
    for (member, (local, numbers)) in locals.iter().zip(numbers).enumerate() {
        counts.fill(0);
        for (place, (sort, id)) in local.sort.iter().zip(&local.id).enumerate() {
            let of = series.of_sort[numbers[*sort as usize] as usize];
            let number = if series.numbered[of as usize] {
                *id
            } else {
                counts[of as usize] += 1;
                counts[of as usize]
            };
            slots.push((of, number, member as u32, place as u32));
        }
    }
    slots.sort_unstable();
    slots
}

fn part(locals: &[&RankParts], numbers: &[Vec<u32>], (_, _, member, place): Slot) -> Part {
    let (local, i) = (locals[member as usize], place as usize);
    Part {
        member,
        sort: numbers[member as usize][local.sort[i] as usize],
        place,
        start: Ns(local.start[i]) + Ns(local.base_ns),
        dur: Ns(local.dur[i]),
        step: local.step[i],
    }
}
