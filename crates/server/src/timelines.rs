//! Timelines that are being looked at: all events of a run, or of one rank, ready to be drawn a window at a time. They are
//! made once however many ask, and kept as far as there is room.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use gpuscope_analysis::timeline::Atlas;

use crate::asker::{Asker, Problem, Source};
use crate::jobs::{Desk, Jobs, Waiter};

pub(crate) struct Timelines {
    asker: Arc<dyn Asker>,
    jobs: Arc<Jobs<Arc<Atlas>>>,
    kept: Mutex<Kept>,
}

/// What was looked at longest ago first.
struct Kept {
    atlases: VecDeque<(String, Arc<Atlas>, u64)>,
    room: u64,
}

impl Timelines {
    /// All together take so many bytes, or one alone more.
    pub(crate) fn new(asker: Arc<dyn Asker>, desk: Desk, room: u64) -> Timelines {
        let kept = Mutex::new(Kept { atlases: VecDeque::new(), room });
        Timelines { asker, jobs: Arc::new(Jobs::new(desk)), kept }
    }

    /// The one that is there already.
    pub(crate) fn known(&self, run: &Source, rank: Option<u32>) -> Option<Arc<Atlas>> {
        self.kept().get(&key_of(run, rank))
    }

    /// Joins the work for one, or begins it.
    pub(crate) fn begin(
        self: &Arc<Timelines>,
        run: &Source,
        rank: Option<u32>,
    ) -> Result<Waiter<Arc<Atlas>>, Problem> {
        let (timelines, run, key) = (Arc::clone(self), run.clone(), key_of(run, rank));
        self.jobs.begin(&key.clone(), move |watch| {
            // Who asked before may have been answered while this one waited for a place.
            if let Some(atlas) = timelines.kept().get(&key) {
                return Ok(atlas);
            }
            let atlas = Arc::new(timelines.asker.atlas(&run, rank, watch)?);
            timelines.kept().keep(key, &atlas, bytes_of(&atlas));
            Ok(atlas)
        })
    }

    /// Waits for one.
    pub(crate) async fn of(
        self: &Arc<Timelines>,
        run: &Source,
        rank: Option<u32>,
    ) -> Result<Arc<Atlas>, Problem> {
        if let Some(atlas) = self.known(run, rank) {
            return Ok(atlas);
        }
        self.begin(run, rank)?.outcome().await
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn get(&mut self, key: &str) -> Option<Arc<Atlas>> {
        let place = self.atlases.iter().position(|(known, ..)| known == key)?;
        let entry = self.atlases.remove(place)?;
        let atlas = Arc::clone(&entry.1);
        self.atlases.push_back(entry);
        Some(atlas)
    }

    fn keep(&mut self, key: String, atlas: &Arc<Atlas>, bytes: u64) {
        self.atlases.retain(|(known, ..)| *known != key);
        self.atlases.push_back((key, Arc::clone(atlas), bytes));
        let mut sum: u64 = self.atlases.iter().map(|(.., bytes)| bytes).sum();
        while sum > self.room && self.atlases.len() > 1 {
            sum -= self.atlases.pop_front().map_or(0, |(.., bytes)| bytes);
        }
    }
}

fn key_of(run: &Source, rank: Option<u32>) -> String {
    format!("{}\n{}\n{rank:?}", run.name, run.version)
}

/// At about: a slice and its place in the pyramid above it, an arrow in both orders, a point of a counter, texts.
fn bytes_of(atlas: &Atlas) -> u64 {
    const SLICE: usize = 64;
    const ARROW: usize = 16;
    const POINT: usize = 16;
    let picture = atlas.picture();
    let slices: usize =
        picture.tracks.iter().flat_map(|track| &track.lanes).map(|lane| lane.name.len()).sum();
    let points: usize = picture
        .tracks
        .iter()
        .filter_map(|track| track.counter.as_ref())
        .map(|counter| counter.time.len())
        .sum();
    let texts: usize =
        picture.names.iter().chain(&picture.notes).map(|text| text.len() + size_of::<String>()).sum();
    (slices * SLICE + picture.arrows.len() * ARROW + points * POINT + texts) as u64
}

#[cfg(test)]
mod tests {
    use gpuscope_analysis::timeline::Picture;

    use super::*;

    #[test]
    fn what_was_looked_at_longest_ago_goes_and_the_last_stays() {
        let atlas = || Arc::new(Atlas::new(Picture::default()));
        let mut kept = Kept { atlases: VecDeque::new(), room: 100 };
        for (key, bytes) in [("a", 40), ("b", 40)] {
            kept.keep(key.to_owned(), &atlas(), bytes);
        }
        assert!(kept.get("a").is_some());
        kept.keep("c".to_owned(), &atlas(), 40);
        assert!(kept.get("b").is_none() && kept.get("a").is_some() && kept.get("c").is_some());
        kept.keep("large".to_owned(), &atlas(), 1_000);
        assert!(kept.get("large").is_some(), "one is looked at, however large");
        assert_eq!(kept.atlases.len(), 1);
    }
}
