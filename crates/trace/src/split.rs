//! Traces that hold several ranks: merged files in which every process says whose it is.
//!
//! Merging tools keep ranks apart by process and name the processes (`rank 3`, `python rank_3`). Ids such as
//! correlations repeat between ranks, so the ranks must be apart before anything is linked. A file is split only
//! if every process with GPU work names a rank, and they name several.

use std::collections::{BTreeMap, BTreeSet};

use crate::index::NO_ROW;
use crate::trace::{Columns, Flows, Row, Trace};
use crate::track::{Id, Track};

impl Trace {
    /// One trace per rank, if this one holds several.
    pub fn into_ranks(self) -> Result<Vec<(u32, Trace)>, Box<Trace>> {
        let named: Vec<Option<u32>> = self.tracks.iter().map(|(_, track)| self.rank_of(track)).collect();
        let ranks: BTreeSet<u32> = named.iter().flatten().copied().collect();
        if ranks.len() < 2 {
            return Err(Box::new(self));
        }
        let on_gpu: BTreeSet<Option<u32>> = self
            .rows()
            .filter(|row| self.class(*row).is_gpu())
            .map(|row| named[self.track_id(row).0 as usize])
            .collect();
        if on_gpu.len() < 2 || on_gpu.contains(&None) {
            return Err(Box::new(self));
        }
        Ok(ranks.into_iter().map(|rank| (rank, self.only(rank, &named))).collect())
    }

    /// The rank that a track's process names.
    fn rank_of(&self, track: &Track) -> Option<u32> {
        let by_label = self.tracks.process_label(track.key.pid).and_then(|label| {
            rank_in(self.strings.get(label.name)).or_else(|| rank_in(self.strings.get(label.labels)))
        });
        by_label.or_else(|| match track.key.pid {
            Id::Text(text) => rank_in(self.strings.get(text)),
            _ => None,
        })
    }

    fn only(&self, rank: u32, named: &[Option<u32>]) -> Trace {
        let is_own = |track: crate::track::TrackId| named[track.0 as usize] == Some(rank);
        let mut new_row: Vec<Row> = vec![NO_ROW; self.len()];
        let mut columns = Columns::default();
        for row in self.rows().filter(|row| is_own(self.track_id(*row))) {
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
            memory_timeline: None,
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

    #[test]
    fn ranks_are_read_from_process_names() {
        assert_eq!(rank_in("python (Rank_12)"), Some(12));
        assert_eq!(rank_in("frankly, rank: 3"), Some(3));
        assert_eq!(rank_in("GPU 0"), None);
        assert_eq!(rank_in("rank"), None);
    }
}
