//! Traces that hold several ranks: merged files in which every process says whose it is.
//!
//! Merging tools note the rank with every event (`args.rank`), or keep ranks apart by process and name the processes
//! (`rank 3`, `python rank_3`). An event without a note goes with its process. Ids such as correlations repeat between
//! ranks, so the ranks must be apart before anything is linked. A file is split only if all GPU work has a rank, and
//! there are several.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::args::Arg;
use crate::index::NO_ROW;
use crate::trace::{Columns, Flows, Row, Trace};
use crate::track::{Id, Track};

impl Trace {
    /// One trace per rank, if this one holds several.
    pub fn into_ranks(self) -> Result<Vec<(u32, Trace)>, Box<Trace>> {
        let noted = self.noted();
        let of_track: Vec<Option<u32>> =
            self.tracks.iter().map(|(_, track)| self.rank_of(track, &noted)).collect();
        let several = of_track.iter().flatten().collect::<BTreeSet<_>>().len() > 1;
        if !several && noted.values().all(|ranks| ranks.len() < 2) {
            return Err(Box::new(self));
        }
        let of_row = self.by_row(&of_track);
        let ranks: BTreeSet<u32> = of_row.iter().flatten().copied().collect();
        let on_gpu: BTreeSet<Option<u32>> =
            self.rows().filter(|row| self.class(*row).is_gpu()).map(|row| of_row[row as usize]).collect();
        if on_gpu.len() < 2 || on_gpu.contains(&None) {
            return Err(Box::new(self));
        }
        Ok(ranks.into_iter().map(|rank| (rank, self.only(rank, &of_row, &of_track))).collect())
    }

    /// The ranks that events of each process note.
    fn noted(&self) -> FxHashMap<Id, BTreeSet<u32>> {
        let mut noted: FxHashMap<Id, BTreeSet<u32>> = FxHashMap::default();
        for (row, rank) in self.args.iter(Arg::MergedRank) {
            if let Ok(rank) = u32::try_from(rank) {
                noted.entry(self.track(row).key.pid).or_default().insert(rank);
            }
        }
        noted
    }

    fn by_row(&self, of_track: &[Option<u32>]) -> Vec<Option<u32>> {
        let mut of_row: Vec<Option<u32>> =
            self.rows().map(|row| of_track[self.track_id(row).0 as usize]).collect();
        for (row, rank) in self.args.iter(Arg::MergedRank) {
            of_row[row as usize] = u32::try_from(rank).ok().or(of_row[row as usize]);
        }
        of_row
    }

    /// The rank of a track's process: the one that its events note, else the one in its name.
    fn rank_of(&self, track: &Track, noted: &FxHashMap<Id, BTreeSet<u32>>) -> Option<u32> {
        if let Some(rank) = noted.get(&track.key.pid).and_then(BTreeSet::first) {
            return Some(*rank);
        }
        let by_label = self.tracks.process_label(track.key.pid).and_then(|label| {
            rank_in(self.strings.get(label.name)).or_else(|| rank_in(self.strings.get(label.labels)))
        });
        by_label.or_else(|| match track.key.pid {
            Id::Text(text) => rank_in(self.strings.get(text)),
            _ => None,
        })
    }

    fn only(&self, rank: u32, of_row: &[Option<u32>], of_track: &[Option<u32>]) -> Trace {
        let is_own = |track: crate::track::TrackId| of_track[track.0 as usize] == Some(rank);
        let mut new_row: Vec<Row> = vec![NO_ROW; self.len()];
        let mut columns = Columns::default();
        for row in self.rows().filter(|row| of_row[*row as usize] == Some(rank)) {
            new_row[row as usize] = columns.start.len() as Row;
            columns.push_from(&self.columns, row);
        }
        let mut flows = Flows::default();
        for i in (0..self.flows.len()).filter(|i| is_own(self.flows.get(*i).track)) {
            flows.push_from(&self.flows, i);
        }
        let readings = self.readings.iter().filter(|reading| new_row[reading.row as usize] != NO_ROW);
        let readings =
            readings.map(|reading| crate::trace::Reading { row: new_row[reading.row as usize], ..*reading });
        let ends = self.ends.iter().map(|(row, element)| (new_row[*row as usize], *element));
        let ends = ends.filter(|(row, _)| *row != NO_ROW).collect();
        let mut tags = self.tags.clone();
        let mut elements: BTreeMap<u32, u64> = BTreeMap::new();
        for tag in columns.tag.iter().chain(&flows.tag) {
            *elements.entry(tag.0).or_default() += 1;
        }
        tags.recount(|tag| elements.get(&tag.0).copied().unwrap_or(0));
        let mut metadata = self.metadata.clone();
        metadata.distributed.get_or_insert_default().rank = Some(i64::from(rank));
        Trace {
            strings: self.strings.clone(),
            tags,
            tracks: self.tracks.clone(),
            args: self.args.moved(&new_row),
            elements: (columns.start.len() + flows.len()) as u64,
            readings: readings.collect(),
            ends,
            is_part: true,
            quality: self.quality.clone(),
            columns,
            flows,
            // Only files without processes have one.
            payload: None,
            metadata,
        }
    }
}

/// The number behind the word "rank", as in `rank 3`, `Rank_3` or `worker rank-3 (python)`.
fn rank_in(text: &str) -> Option<u32> {
    let lower = text.to_ascii_lowercase();
    lower.match_indices("rank").find_map(|(at, word)| {
        let behind = lower[at + word.len()..].trim_start_matches([' ', '-', '_', ':', '=', '#']);
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        behind[..digits].parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Phase, Record};

    /// Kernels of processes, each with the rank that it notes.
    fn kernels(of: &[(i64, Option<i64>)]) -> Trace {
        let mut builder = Builder::default();
        let category = builder.strings().intern(b"kernel");
        for (pid, rank) in of {
            let mut record = Record::default();
            record.tag = builder.tag(Phase::Complete, category);
            (record.pid, record.tid) = (Id::Int(*pid), Id::Int(7));
            (record.start, record.dur) = (Some(crate::Ns(0)), Some(crate::Ns(1)));
            if let Some(rank) = rank {
                record.set_int(Arg::MergedRank, *rank);
            }
            builder.push(&record);
        }
        builder.finish()
    }

    #[test]
    fn ranks_that_events_note_are_apart_even_in_one_process() {
        let rows = |of: &[(i64, Option<i64>)]| {
            let parts = kernels(of).into_ranks().ok()?;
            Some(parts.into_iter().map(|(rank, part)| (rank, part.len())).collect::<Vec<_>>())
        };
        assert_eq!(rows(&[(1, Some(0)), (1, Some(3)), (1, Some(3))]), Some(vec![(0, 1), (3, 2)]));
        assert_eq!(rows(&[(1, Some(0)), (1, None), (2, Some(3))]), Some(vec![(0, 2), (3, 1)]));
        assert_eq!(rows(&[(1, Some(3)), (1, Some(3))]), None, "of one rank");
        assert_eq!(rows(&[(1, Some(0)), (2, Some(1)), (3, None)]), None, "whose the last is, nobody says");
    }

    #[test]
    fn ranks_are_read_from_process_names() {
        assert_eq!(rank_in("python (Rank_12)"), Some(12));
        assert_eq!(rank_in("frankly, rank: 3"), Some(3));
        assert_eq!(rank_in("GPU 0"), None);
        assert_eq!(rank_in("rank"), None);
    }
}
