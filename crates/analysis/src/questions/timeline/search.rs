//! Slices by name, in order of time.

use serde::Serialize;

use gpuscope_trace::Ns;

use super::{Atlas, TrackSort};

/// All slices whose name holds every word of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Found {
    /// In the picture's names.
    pub names: Vec<u32>,
    pub count: u64,
    pub total_ns: Ns,
}

impl Atlas {
    /// In any case; nothing for a text without words.
    pub fn find(&self, text: &str) -> Found {
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let mut found = Found::default();
        if words.is_empty() {
            return found;
        }
        for (number, name) in self.picture().names.iter().enumerate() {
            let name = name.to_lowercase();
            if words.iter().all(|word| name.contains(word)) {
                let (count, total) = self.by_name[number];
                found.names.push(number as u32);
                found.count += count;
                found.total_ns += total;
            }
        }
        found
    }

    /// The next slice with one of these names after the one that began at a time and has a number, or the one before.
    pub fn next(&self, names: &[u32], (time, number): (Ns, u32), forward: bool) -> Option<u32> {
        let mut wanted = vec![false; self.picture().names.len()];
        for name in names {
            if let Some(wanted) = wanted.get_mut(*name as usize) {
                *wanted = true;
            }
        }
        let lanes = self.lanes().filter(|(_, track, _)| track.sort != TrackSort::Steps);
        let nearest = lanes.filter_map(|(charted, _, lane)| {
            let key = |i: usize| (lane.start[i], charted.first + i as u32);
            let is_wanted = |i: &usize| wanted[lane.name[*i] as usize];
            if forward {
                let from = lane.start.partition_point(|start| *start < time);
                (from..lane.len()).filter(is_wanted).map(key).find(|key| *key > (time, number))
            } else {
                let to = lane.start.partition_point(|start| *start <= time);
                (0..to).rev().filter(is_wanted).map(key).find(|key| *key < (time, number))
            }
        });
        let best = if forward { nearest.min() } else { nearest.max() };
        best.map(|(_, number)| number)
    }
}
