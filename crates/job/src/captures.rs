//! Several captures of one job (a profiler schedule that repeats, one folder per iteration, a restart) are told
//! apart by folder, by time and by step number, so that one rank is not counted twice.

use std::collections::{BTreeMap, HashSet};

use crate::error::Error;
use crate::natural;

/// What tells the capture of one trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clue {
    pub rank: u32,
    pub path: String,
    pub folder: String,
    /// The time in a name that `tensorboard_trace_handler` made: `host_1234.1712345678901234567.pt.trace.json`.
    pub stamp: Option<i64>,
    /// First and last moment since the epoch, as far as the trace says.
    pub span: Option<(i64, i64)>,
    pub first_step: Option<i64>,
    /// Found in a folder or by a pattern; what the user names is never taken for a capture.
    pub discovered: bool,
}

impl Clue {
    /// How new: name, then clock, then step.
    fn age(&self) -> (Option<i64>, Option<i64>, Option<i64>) {
        (self.stamp, self.span.map(|span| span.0), self.first_step)
    }
}

/// One capture: its traces by their number among the clues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Capture {
    pub name: String,
    pub members: Vec<usize>,
}

/// The time in the name of a file that torch's handler wrote.
pub(crate) fn stamp(base_name: &str) -> Option<i64> {
    let (before, _) = base_name.split_once(".pt.trace.json")?;
    let (_, digits) = before.rsplit_once('.')?;
    (digits.len() >= 10).then(|| digits.parse().ok()).flatten()
}

/// The captures, newest first. Traces that the user named belong to each of them and are in none.
pub(crate) fn split(clues: &[Clue]) -> Vec<Capture> {
    let mut ranks = HashSet::new();
    let found = clues.iter().filter(|clue| clue.discovered);
    if found.clone().all(|clue| ranks.insert(clue.rank)) {
        // No rank twice: one capture, however it is spread over folders.
        let members = (0..clues.len()).filter(|i| clues[*i].discovered).collect::<Vec<_>>();
        let name = found.map(|clue| clue.folder.clone()).next();
        return name.map(|name| Capture { name, members }).into_iter().collect();
    }
    let mut units: Vec<Unit> = Vec::new();
    for (folder, members) in by_folder(clues) {
        units.extend(by_time(clues, folder, &members));
    }
    units.sort_by_cached_key(|unit| std::cmp::Reverse((unit.age, natural::key(unit.folder))));
    let mut captures: Vec<Joined> = Vec::new();
    for unit in units {
        match captures.iter_mut().find(|capture| capture.takes(&unit, clues)) {
            Some(capture) => capture.units.push(unit),
            None => captures.push(Joined { units: vec![unit] }),
        }
    }
    let name = |joined: &Joined| joined.name(clues);
    captures.iter().map(|joined| Capture { name: name(joined), members: joined.members() }).collect()
}

/// The captures as far as names and beginnings tell, if they tell for sure: nothing has to be read to choose among them.
/// None where a trace may be of any of them, or where only its end tells.
pub(crate) fn split_unread(clues: &[Clue]) -> Option<Vec<Capture>> {
    let found: Vec<&Clue> = clues.iter().filter(|clue| clue.discovered).collect();
    let all_have = |is: fn(&Clue) -> bool| found.iter().all(|clue| is(clue));
    let is_ordered =
        all_have(|clue| clue.stamp.is_some()) || all_have(|clue| clue.stamp.is_none() && clue.span.is_some());
    // Folders in different places are told apart by when their recordings end.
    let places: HashSet<&str> = found.iter().map(|clue| parent(&clue.folder)).collect();
    let mut twice = HashSet::new();
    let clash = found.iter().any(|clue| !twice.insert((&clue.folder, clue.rank)) && clue.stamp.is_none());
    if !is_ordered || places.len() > 1 || clash {
        return None;
    }
    let captures = split(clues);
    (captures.len() > 1).then_some(captures)
}

/// The capture to look at: the newest, or the one the user picks by number (1 is the newest) or by path.
pub(crate) fn pick(captures: &[Capture], clues: &[Clue], wanted: Option<&str>) -> Result<usize, Error> {
    let Some(wanted) = wanted else { return Ok(0) };
    let by_number = wanted.parse::<usize>().ok().filter(|n| (1..=captures.len()).contains(n)).map(|n| n - 1);
    let has = |capture: &Capture| {
        let trimmed = wanted.trim_end_matches('/');
        capture.members.iter().any(|i| clues[*i].path == wanted || within(&clues[*i].folder, trimmed))
    };
    by_number.or_else(|| captures.iter().position(has)).ok_or_else(|| Error::NoSuchCapture {
        wanted: wanted.to_owned(),
        present: match captures {
            [] | [_] => "is only one".to_owned(),
            captures => format!("are {}", list(captures)),
        },
    })
}

/// `1 (iter_20), 2 (iter_10)`
pub(crate) fn list(captures: &[Capture]) -> String {
    let named = captures.iter().enumerate().map(|(i, capture)| format!("{} ({})", i + 1, capture.name));
    named.collect::<Vec<_>>().join(", ")
}

/// Whether the folder is the wanted one, below it, or named like it.
fn within(folder: &str, wanted: &str) -> bool {
    let parts =
        |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (folder, wanted) = (parts(folder), parts(wanted));
    !wanted.is_empty() && folder.windows(wanted.len()).any(|window| window == wanted)
}

/// Traces of one folder that could be of one capture: no rank twice.
#[derive(Debug)]
struct Unit<'c> {
    folder: &'c str,
    members: Vec<usize>,
    age: (Option<i64>, Option<i64>, Option<i64>),
    /// The folder holds other captures as well.
    shared: bool,
}

#[derive(Debug)]
struct Joined<'c> {
    units: Vec<Unit<'c>>,
}

impl Joined<'_> {
    fn members(&self) -> Vec<usize> {
        let mut members: Vec<usize> =
            self.units.iter().flat_map(|unit| unit.members.iter().copied()).collect();
        members.sort_unstable();
        members
    }

    /// Folders side by side that share no rank hold one capture: one folder per host, or per rank.
    fn takes(&self, unit: &Unit<'_>, clues: &[Clue]) -> bool {
        let ranks: HashSet<u32> = self.members().iter().map(|i| clues[*i].rank).collect();
        self.units.iter().all(|own| parent(own.folder) == parent(unit.folder) || !clashes(own, unit, clues))
            && unit.members.iter().all(|i| !ranks.contains(&clues[*i].rank))
    }

    fn name(&self, clues: &[Clue]) -> String {
        let newest = &self.units[0];
        let first = newest.members.iter().map(|i| &clues[*i]).max_by_key(|clue| clue.age());
        match first {
            Some(clue) if newest.shared => clue.path.clone(),
            _ if newest.folder.is_empty() => ".".to_owned(),
            _ => newest.folder.to_owned(),
        }
    }
}

/// Whether two folders in different places are of different times, as far as their clocks tell.
fn clashes(a: &Unit<'_>, b: &Unit<'_>, clues: &[Clue]) -> bool {
    let span = |unit: &Unit<'_>| {
        let spans = unit.members.iter().filter_map(|i| clues[*i].span);
        spans.reduce(|(start, end), (other_start, other_end)| (start.min(other_start), end.max(other_end)))
    };
    match (span(a), span(b)) {
        (Some(a), Some(b)) => a.1 < b.0 || b.1 < a.0,
        _ => true,
    }
}

fn parent(folder: &str) -> &str {
    folder.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn by_folder(clues: &[Clue]) -> BTreeMap<&str, Vec<usize>> {
    let mut folders: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, clue) in clues.iter().enumerate().filter(|(_, clue)| clue.discovered) {
        folders.entry(&clue.folder).or_default().push(i);
    }
    folders
}

/// Parts a folder in which a rank occurs several times, one after the other, counting from the newest.
fn by_time<'c>(clues: &[Clue], folder: &'c str, members: &[usize]) -> Vec<Unit<'c>> {
    let mut ranks: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for i in members {
        ranks.entry(clues[*i].rank).or_default().push(*i);
    }
    // Two files of one rank and one time are no two captures but a duplicate, and stay together.
    let ordered = ranks.values_mut().all(|files| {
        files.sort_by_key(|i| std::cmp::Reverse(clues[*i].age()));
        files.windows(2).all(|pair| follows(&clues[pair[0]], &clues[pair[1]]))
    });
    let count = if ordered { ranks.values().map(Vec::len).max().unwrap_or(0) } else { 1 };
    let unit = |nth: usize| {
        let members: Vec<usize> = if ordered {
            ranks.values().filter_map(|files| files.get(nth).copied()).collect()
        } else {
            members.to_vec()
        };
        let age = members.iter().map(|i| clues[*i].age()).max().unwrap_or_default();
        Unit { folder, members, age, shared: count > 1 }
    };
    (0..count).map(unit).collect()
}

/// Whether one trace was recorded after the other ended.
fn follows(newer: &Clue, older: &Clue) -> bool {
    if let (Some(newer), Some(older)) = (newer.stamp, older.stamp) {
        return newer > older;
    }
    matches!((newer.span, older.span), (Some(newer), Some(older)) if newer.0 >= older.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clue(path: &str, rank: u32) -> Clue {
        let (folder, base) = path.rsplit_once('/').unwrap_or(("", path));
        Clue {
            rank,
            path: path.to_owned(),
            folder: folder.to_owned(),
            stamp: stamp(base),
            discovered: true,
            ..Clue::default()
        }
    }

    fn at(path: &str, rank: u32, start: i64) -> Clue {
        Clue { span: Some((start, start + 10)), ..clue(path, rank) }
    }

    fn names(clues: &[Clue]) -> Vec<(String, Vec<usize>)> {
        split(clues).into_iter().map(|capture| (capture.name, capture.members)).collect()
    }

    #[test]
    fn captures_are_known_before_they_are_read_only_for_sure() {
        let handler = |name: &str| clue(&format!("t/host_1.{name}.pt.trace.json"), 0);
        let by_name = split_unread(&[handler("1700000000000"), handler("1700000060000")]).unwrap();
        assert_eq!(by_name[0].members, [1], "the newest first");
        let by_time = split_unread(&[at("t/b/r0", 0, 9_000), at("t/a/r0", 0, 20_000)]).unwrap();
        assert_eq!(by_time[0].members, [1]);
        let unsure = [
            vec![clue("t/a/r0", 0), clue("t/b/r0", 0)],
            vec![at("t/one.json", 0, 9_000), at("t/two.json", 0, 20_000)],
            vec![at("t/a/r0", 0, 9_000), at("u/b/r0", 0, 20_000)],
            vec![handler("1700000000000"), at("t/a/r0", 0, 20_000)],
            vec![at("t/a/r0", 0, 9_000), at("t/b/r1", 1, 9_000)],
        ];
        for clues in unsure {
            assert_eq!(split_unread(&clues), None, "{clues:?}");
        }
    }

    #[test]
    fn one_folder_per_iteration() {
        let clues = [
            clue("t/iter_10/r0", 0),
            clue("t/iter_10/r1", 1),
            clue("t/iter_9/r0", 0),
            clue("t/iter_9/r1", 1),
        ];
        assert_eq!(names(&clues), [("t/iter_10".into(), vec![0, 1]), ("t/iter_9".into(), vec![2, 3])]);
        let captures = split(&clues);
        assert_eq!(pick(&captures, &clues, None).unwrap(), 0);
        assert_eq!(pick(&captures, &clues, Some("2")).unwrap(), 1);
        assert_eq!(pick(&captures, &clues, Some("iter_9")).unwrap(), 1);
        assert_eq!(pick(&captures, &clues, Some("t/iter_9/")).unwrap(), 1);
        let message = pick(&captures, &clues, Some("7")).unwrap_err().to_string();
        assert!(message.ends_with("there are 1 (t/iter_10), 2 (t/iter_9)"), "{message}");
    }

    #[test]
    fn the_clock_decides_before_the_name() {
        let clues = [at("t/b/r0", 0, 100), at("t/a/r0", 0, 200)];
        assert_eq!(names(&clues), [("t/a".into(), vec![1]), ("t/b".into(), vec![0])]);
    }

    #[test]
    fn a_schedule_that_repeats_into_one_folder() {
        let (early, late) = ("1712345678000000000", "1712345679000000000");
        let path = |host: &str, stamp: &str| format!("log/{host}.{stamp}.pt.trace.json.gz");
        let clues = [
            clue(&path("h_1", early), 0),
            clue(&path("h_2", early), 1),
            clue(&path("h_1", late), 0),
            clue(&path("h_2", late), 1),
        ];
        let found = names(&clues);
        assert_eq!(
            found.iter().map(|(_, members)| members.clone()).collect::<Vec<_>>(),
            [vec![2, 3], vec![0, 1]]
        );
    }

    #[test]
    fn hosts_side_by_side_are_one_capture() {
        let clues = [clue("t/a/r0", 0), clue("t/b/r1", 1)];
        assert_eq!(split(&clues).len(), 1);
        let nested = [clue("t/2/a/r0", 0), clue("t/1/a/r0", 0), clue("t/1/b/r1", 1)];
        assert_eq!(names(&nested)[0].1, [0]);
    }

    #[test]
    fn two_files_of_one_rank_and_time_are_a_duplicate() {
        let clues = [at("t/x", 0, 100), at("t/y", 0, 105)];
        assert_eq!(names(&clues), [("t".into(), vec![0, 1])]);
        let clues = [at("t/x", 0, 100), at("t/y", 0, 200)];
        assert_eq!(split(&clues).len(), 2);
    }

    #[test]
    fn what_the_user_names_is_no_capture() {
        let clues =
            [Clue { discovered: false, ..at("a", 0, 1) }, Clue { discovered: false, ..at("b", 0, 100) }];
        assert!(split(&clues).is_empty());
    }
}
