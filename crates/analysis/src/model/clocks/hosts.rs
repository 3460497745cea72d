//! Which ranks share a clock: those of one host, unless their own collectives prove otherwise.
//!
//! On one clock no member of a collective ends before another begins, and members end at nearly the same time.
//! Where one rank ends at a distance from another in every single collective, that distance is the clock's.

use rustc_hash::FxHashMap;

use crate::collectives::Matched;

/// A kernel may end this much earlier than another begins before the clocks are to blame.
const READING_NS: i64 = 1_000;
/// Members of a collective do not end this far apart every time.
const APART_NS: i64 = 100_000;
/// Fewer collectives than this prove nothing.
const ENOUGH: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Hosts {
    /// The clock of each place in `Matched::ranks`.
    pub(super) of_member: Vec<u32>,
    /// The first rank on each clock.
    pub(super) first_member: Vec<u32>,
    pub(super) torn: Vec<String>,
}

pub(super) fn clocks(matched: &Matched) -> Hosts {
    let mut names: FxHashMap<&str, u32> = FxHashMap::default();
    let mut hosts = 0;
    let mut fresh = || {
        hosts += 1;
        hosts - 1
    };
    let host_of: Vec<u32> = matched
        .ranks
        .iter()
        .map(|rank| match rank.host.as_deref() {
            Some(host) => *names.entry(host).or_insert_with(&mut fresh),
            None => fresh(),
        })
        .collect();
    let torn = if matched.ranks.len() > host_of.iter().max().map_or(0, |last| *last as usize + 1) {
        torn(matched, &host_of)
    } else {
        vec![false; host_of.len()]
    };
    let mut found = Hosts::default();
    let mut clock_of_host: FxHashMap<u32, u32> = FxHashMap::default();
    for (member, host) in host_of.iter().enumerate() {
        let next = found.first_member.len() as u32;
        let clock = if torn[*host as usize] { next } else { *clock_of_host.entry(*host).or_insert(next) };
        if clock == next {
            found.first_member.push(member as u32);
        }
        found.of_member.push(clock);
    }
    let mut torn_names: Vec<String> =
        names.iter().filter(|(_, host)| torn[**host as usize]).map(|(name, _)| (*name).to_owned()).collect();
    torn_names.sort_unstable();
    found.torn = torn_names;
    found
}

/// What one collective has shown of a host so far.
#[derive(Clone, Copy, Default)]
struct Seen {
    collective: usize,
    first_end: i64,
    earliest_end: i64,
    latest_start: i64,
}

/// How far a rank's ends are from those of the first rank of its host.
#[derive(Clone, Copy)]
struct Distance {
    least: i64,
    most: i64,
    count: u32,
}

fn torn(matched: &Matched, host_of: &[u32]) -> Vec<bool> {
    let mut torn = vec![false; host_of.len()];
    let mut seen = vec![Seen { collective: usize::MAX, ..Seen::default() }; host_of.len()];
    let mut distances = vec![Distance { least: i64::MAX, most: i64::MIN, count: 0 }; host_of.len()];
    for (i, collective) in matched.iter().enumerate() {
        if !collective.op().everyone_waits() {
            continue;
        }
        for part in collective.parts() {
            let (start, end) = (part.start.0, part.end().0);
            let host = host_of[part.member as usize] as usize;
            let seen = &mut seen[host];
            if seen.collective != i {
                *seen = Seen { collective: i, first_end: end, earliest_end: end, latest_start: start };
                continue;
            }
            seen.earliest_end = seen.earliest_end.min(end);
            seen.latest_start = seen.latest_start.max(start);
            torn[host] |= seen.latest_start.saturating_sub(seen.earliest_end) > READING_NS;
            let distance = &mut distances[part.member as usize];
            let apart = end.saturating_sub(seen.first_end);
            distance.least = distance.least.min(apart);
            distance.most = distance.most.max(apart);
            distance.count += 1;
        }
    }
    for (member, distance) in distances.iter().enumerate() {
        let always_apart = distance.least > APART_NS || distance.most < -APART_NS;
        torn[host_of[member] as usize] |= distance.count >= ENOUGH && always_apart;
    }
    torn
}
