//! Reads the traces of a run in parallel within a memory bound. A trace lives only while its rank's part of the
//! answer is taken: what travels on is small.

use std::io::{self, Read};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use gpuscope_formats::{ReadError, ReadOptions};

use crate::budget::Budget;
use crate::error::Error;
use crate::source::{Source, Wrapping};

/// Called with the bytes read so far and in all, from any thread, many times.
pub trait Progress: Send + Sync {
    fn read(&self, done: u64, total: u64);
}

/// How to read.
pub(crate) struct Reading<'r> {
    pub threads: usize,
    pub memory: u64,
    pub progress: Option<&'r dyn Progress>,
}

/// Reads every source and hands its trace to `take`; results come in the order of the sources.
pub(crate) fn all<T: Send>(
    sources: &[&Source],
    reading: &Reading<'_>,
    take: impl Fn(usize, gpuscope_formats::Loaded) -> T + Sync,
) -> Vec<Result<T, Error>> {
    let total = sources.iter().map(|source| source.bytes).sum();
    let counter = Counter { done: AtomicU64::new(0), total, progress: reading.progress };
    let threads = reading.threads.clamp(1, sources.len().max(1));
    // A lone file gets the second core for decompression; many files keep all cores busy by themselves.
    let options =
        ReadOptions { pipelined: sources.len() == 1 && reading.threads > 1, ..ReadOptions::default() };
    let one = |i: usize| read(sources[i], options, &counter).map(|loaded| take(i, loaded));
    if threads == 1 {
        return (0..sources.len()).map(one).collect();
    }

    // The largest first, so that no large one is left for the end.
    let mut order: Vec<usize> = (0..sources.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(memory_of(sources[*i])));
    let budget = Budget::new(reading.memory);
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<T, Error>>>> = Mutex::new(sources.iter().map(|_| None).collect());
    let work = || {
        while let Some(i) = order.get(next.fetch_add(1, Ordering::Relaxed)).copied() {
            let share = budget.take(memory_of(sources[i]));
            let result = one(i);
            drop(share);
            results.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

fn read(
    source: &Source,
    options: ReadOptions,
    counter: &Counter<'_>,
) -> Result<gpuscope_formats::Loaded, Error> {
    let fail = |error: ReadError| Error::read(&source.path, error);
    source
        .with_reader(|input| gpuscope_formats::read(Counted { input, counter }, options))
        .map_err(|error| Error::io(&source.path, error))?
        .map_err(fail)
}

/// What a trace is expected to take in memory: about half of its text, which gzip and zstd shrink by ten or more.
fn memory_of(source: &Source) -> u64 {
    match source.head.wrapping {
        Wrapping::Plain => source.bytes / 2,
        Wrapping::Gzip | Wrapping::Zstd => source.bytes.saturating_mul(8),
    }
}

/// Bytes read over all sources.
struct Counter<'p> {
    done: AtomicU64,
    total: u64,
    progress: Option<&'p dyn Progress>,
}

struct Counted<'c> {
    input: &'c mut (dyn Read + Send),
    counter: &'c Counter<'c>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read(buffer)?;
        if let Some(progress) = self.counter.progress {
            let done = self.counter.done.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
            progress.read(done, self.counter.total);
        }
        Ok(bytes)
    }
}
