//! Timelines that are being looked at: all events of a run, or of one rank, ready to be drawn a window at a time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use gpuscope_analysis::timeline::Atlas;

use crate::asker::{Asker, Problem, Source, Watch};

/// So many at once; whoever comes back later waits a moment.
const MOST: usize = 4;

type Key = (String, String, Option<u32>);

#[derive(Default)]
pub(crate) struct Timelines(Mutex<VecDeque<(Key, Arc<Atlas>)>>);

impl Timelines {
    /// Blocks while it is made.
    pub(crate) fn of(
        &self,
        asker: &dyn Asker,
        run: &Source,
        rank: Option<u32>,
    ) -> Result<Arc<Atlas>, Problem> {
        let key = (run.name.clone(), run.version.clone(), rank);
        if let Some(atlas) = self.take(&key) {
            return Ok(atlas);
        }
        let atlas = Arc::new(asker.atlas(run, rank, &Arc::<Watch>::default())?);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((key, Arc::clone(&atlas)));
        while kept.len() > MOST {
            kept.pop_front();
        }
        Ok(atlas)
    }

    fn take(&self, key: &Key) -> Option<Arc<Atlas>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(known, _)| known == key)?;
        let entry = kept.remove(place)?;
        let atlas = Arc::clone(&entry.1);
        kept.push_back(entry);
        Some(atlas)
    }
}
