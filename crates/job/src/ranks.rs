//! Which rank an input is of, as far as names tell: the file's own word goes first, its position comes last.

use std::collections::{BTreeMap, BTreeSet};

use regex_lite::Regex;

use crate::error::Error;
use crate::natural;

/// Compiles the user's expression for ranks.
pub(crate) fn compile(pattern: &str) -> Result<Regex, Error> {
    Regex::new(pattern)
        .map_err(|error| Error::RankRegex { pattern: pattern.to_owned(), reason: error.to_string() })
}

/// The rank that each path tells, seen beside the others.
pub(crate) fn from_names(paths: &[&str], own: Option<&Regex>) -> Vec<Option<u32>> {
    let mut ranks: Vec<Option<u32>> =
        paths.iter().map(|path| own.and_then(|own| matched(own, path))).collect();
    fill(&mut ranks, paths.iter().map(|path| number_after(base(path), &["rank"])).collect());
    by_host(paths, &mut ranks);
    let coordinates: Vec<_> = paths.iter().map(|path| coordinates(base(path))).collect();
    fill(&mut ranks, by_coordinates(&coordinates));
    ranks
}

fn fill(ranks: &mut [Option<u32>], others: Vec<Option<u32>>) {
    for (rank, other) in ranks.iter_mut().zip(others) {
        *rank = rank.or(other);
    }
}

fn base(path: &str) -> &str {
    path.rsplit(['/', '\\', '!']).next().unwrap_or(path)
}

fn matched(own: &Regex, path: &str) -> Option<u32> {
    let found = own.captures(path)?;
    found.name("rank").or_else(|| found.get(1)).or_else(|| found.get(0))?.as_str().parse().ok()
}

/// The number after the first of the words that has one: `rank-3`, `rank_3` and `rank3` all are 3.
fn number_after(name: &str, words: &[&str]) -> Option<u32> {
    let name = name.to_ascii_lowercase();
    words
        .iter()
        .flat_map(|word| name.match_indices(word).map(|(at, word)| at + word.len()))
        .filter_map(|end| {
            leading_number(name[end..].strip_prefix(['-', '_']).unwrap_or(&name[end..])).map(|n| (end, n))
        })
        .min()
        .map(|(_, number)| number)
}

/// A name without the rank in it: the same for all ranks of a run.
pub(crate) fn without_rank(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let digits_from = |at: usize| name[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(name.len() - at);
    for (at, word) in lower.match_indices("rank") {
        let mut end = at + word.len();
        end += usize::from(lower[end..].starts_with(['-', '_']));
        let digits = digits_from(end);
        if digits > 0 {
            let separators = ['-', '_', '.'];
            let (before, after) = (name[..at].trim_end_matches(separators), &name[end + digits..]);
            return format!("{before}{after}").trim_start_matches(separators).to_owned();
        }
    }
    name.to_owned()
}

fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// `TP-3-DP-0`: the axes of a parallel job with their places, in the order of the name.
fn coordinates(name: &str) -> Vec<(String, u32)> {
    const AXES: [&str; 7] = ["tp", "dp", "pp", "cp", "ep", "sp", "fsdp"];
    let name = name.to_ascii_lowercase();
    let parts: Vec<&str> = name.split(['-', '_', '.']).collect();
    let mut found = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let end = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
        let (axis, number) = part.split_at(end);
        if !AXES.contains(&axis) {
            continue;
        }
        let number = if number.is_empty() { parts.get(i + 1).copied().unwrap_or_default() } else { number };
        found.extend(number.parse().ok().map(|number| (axis.to_owned(), number)));
    }
    found
}

/// Counts through the coordinates with the last axis fastest, as far as each axis reaches in the set, so that
/// a missing file leaves a gap instead of shifting the others.
fn by_coordinates(all: &[Vec<(String, u32)>]) -> Vec<Option<u32>> {
    let mut sizes: BTreeMap<&str, u32> = BTreeMap::new();
    for (axis, number) in all.iter().flatten() {
        let size = sizes.entry(axis).or_default();
        *size = (*size).max(number.saturating_add(1));
    }
    let rank = |place: &Vec<(String, u32)>| {
        place.iter().try_fold(0_u32, |rank, (axis, number)| {
            rank.checked_mul(*sizes.get(axis.as_str())?)?.checked_add(*number)
        })
    };
    all.iter().map(|place| if place.is_empty() { None } else { rank(place) }).collect()
}

/// Where hosts count their ranks from 0 (`node1/rank0.json`, `host-b_gpu2.json`), the rank is the host's place
/// times the ranks of a host plus the local one.
fn by_host(paths: &[&str], ranks: &mut [Option<u32>]) {
    let hosts: Vec<Option<String>> = paths.iter().map(|path| host(path)).collect();
    let locals: Vec<Option<u32>> = paths
        .iter()
        .zip(&*ranks)
        .map(|(path, rank)| rank.or_else(|| number_after(base(path), &["gpu", "cuda", "device", "local"])))
        .collect();
    let known: Vec<(&String, u32)> =
        hosts.iter().zip(&locals).filter_map(|(host, local)| Some((host.as_ref()?, (*local)?))).collect();
    let distinct: BTreeSet<_> = known.iter().collect();
    let numbers: BTreeSet<u32> = known.iter().map(|(_, local)| *local).collect();
    // Only if each host counts for itself: the numbers alone clash, host and number together do not.
    if known.len() < paths.len() || distinct.len() < known.len() || numbers.len() == known.len() {
        return;
    }
    let mut order: Vec<&String> = distinct.iter().map(|(host, _)| *host).collect();
    order.sort_by_key(|host| natural::key(host));
    order.dedup();
    let size = numbers.iter().max().map_or(1, |most| most + 1);
    for (rank, (host, local)) in ranks.iter_mut().zip(&known) {
        let place = order.iter().position(|other| other == host).unwrap_or(0) as u32;
        *rank = Some(place * size + local);
    }
}

/// The part of a path that names a host.
fn host(path: &str) -> Option<String> {
    let path = path.to_ascii_lowercase();
    path.split(['/', '\\', '!', '_', '.'])
        .rev()
        .find(|part| {
            ["node", "host", "worker", "machine"]
                .iter()
                .any(|word| part.strip_prefix(word).is_some_and(|rest| !rest.is_empty()))
        })
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(paths: &[&str]) -> Vec<Option<u32>> {
        from_names(paths, None)
    }

    #[test]
    fn the_first_rank_of_the_base_name() {
        assert_eq!(
            ranks(&[
                "a/rank-3.json",
                "rank_4_of_rank8.json",
                "x_rank5.json.gz",
                "rank9/plain.json",
                "ranking.json"
            ]),
            [Some(3), Some(4), Some(5), None, None]
        );
    }

    #[test]
    fn the_expression_of_the_user_goes_first() {
        let own = compile(r"w(\d+)").unwrap();
        assert_eq!(from_names(&["w7/rank1.json", "rank2.json"], Some(&own)), [Some(7), Some(2)]);
        assert!(compile("(").is_err());
    }

    #[test]
    fn coordinates_count_with_the_last_axis_fastest() {
        assert_eq!(
            ranks(&["1-TP-0-DP-0.trace.json.gz", "1-TP-0-DP-1.trace.json.gz", "1-TP-2-DP-1.trace.json.gz"]),
            [Some(0), Some(1), Some(5)]
        );
        assert_eq!(ranks(&["run-TP-3.json"]), [Some(3)]);
        assert_eq!(ranks(&["tp1_pp0.json", "tp0_pp0.json"]), [Some(1), Some(0)]);
    }

    #[test]
    fn hosts_that_count_from_zero_each() {
        assert_eq!(
            ranks(&["node1/rank0.json", "node0/rank0.json", "node0/rank1.json", "node1/rank1.json"]),
            [Some(2), Some(0), Some(1), Some(3)]
        );
        assert_eq!(ranks(&["host-b_gpu0.json", "host-a_gpu0.json"]), [Some(1), Some(0)]);
        assert_eq!(ranks(&["node0/rank0.json", "node1/rank1.json"]), [Some(0), Some(1)]);
        assert_eq!(ranks(&["iter1/rank0.json", "iter2/rank0.json"]), [Some(0), Some(0)]);
    }
}
