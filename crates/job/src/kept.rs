//! Traces that stay in memory from one question to the next, as far as there is room.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use gpuscope_trace::{Index, Quality, Trace};

/// One source as questions see it: nearly always one part, several if the file was merged from several ranks.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub format: &'static str,
    pub parts: Vec<Part>,
}

/// The trace of one rank, with what questions find out about it and others need not find out again.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub trace: Trace,
    pub index: Index,
    /// What is wrong with the whole of it.
    pub quality: OnceLock<Vec<Quality>>,
}

impl Prepared {
    fn heap_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.trace.heap_bytes() as u64).sum()
    }
}

/// What has been read, by the number of its source. What is full stays as it is: a run that does not fit is asked
/// from first to last, so that what came last is what is asked for last again.
#[derive(Debug)]
pub(crate) struct Kept {
    limit: u64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    used: u64,
    sources: BTreeMap<usize, Arc<Prepared>>,
}

/// Indexes are built beside a trace when questions need them, and take about as much again.
const WITH_INDEX: u64 = 2;

impl Kept {
    pub(crate) fn new(limit: u64) -> Kept {
        Kept { limit, inner: Mutex::default() }
    }

    pub(crate) fn get(&self, source: usize) -> Option<Arc<Prepared>> {
        self.lock().sources.get(&source).cloned()
    }

    pub(crate) fn keep(&self, source: usize, prepared: &Arc<Prepared>) {
        let bytes = prepared.heap_bytes().saturating_mul(WITH_INDEX);
        let mut inner = self.lock();
        if inner.used.saturating_add(bytes) <= self.limit && !inner.sources.contains_key(&source) {
            inner.used += bytes;
            inner.sources.insert(source, Arc::clone(prepared));
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.lock().used
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_not_kept() {
        let prepared = Arc::new(Prepared { format: "kineto", parts: vec![Part::default()] });
        let room = prepared.heap_bytes() * WITH_INDEX;
        let kept = Kept::new(room);
        kept.keep(0, &prepared);
        kept.keep(0, &prepared);
        assert!(kept.get(0).is_some());
        assert_eq!(kept.lock().used, room);
        let trace = Trace { readings: Vec::with_capacity(1000), ..Trace::default() };
        let large = Prepared { format: "kineto", parts: vec![Part { trace, ..Part::default() }] };
        let large = Arc::new(large);
        assert!(large.heap_bytes() > room, "the test needs a trace that takes memory");
        kept.keep(1, &large);
        assert!(kept.get(1).is_none());
    }
}
