//! Reads the traces of a run in parallel within a memory bound. A trace lives only while its rank's part of the
//! answer is taken, unless the run keeps it: what travels on is small.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gpuscope_formats::{Compression, Loaded, ReadError, ReadOptions, read_file};

use crate::budget::Budget;
use crate::error::Error;
use crate::kept::{Kept, Prepared};
use crate::source::Source;

/// Called with the bytes read so far and in all, from any thread, many times.
pub trait Progress: Send + Sync {
    fn read(&self, done: u64, total: u64);
}

/// How to read.
pub(crate) struct Reading<'r> {
    pub threads: usize,
    pub memory: u64,
    pub progress: Option<&'r dyn Progress>,
    /// Somebody no longer wants the answer.
    pub stop: Option<&'r AtomicBool>,
    pub kept: Option<&'r Kept>,
}

impl Reading<'_> {
    fn stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// Reads every source that is not in memory, and hands its traces to `take`; results come in the order of the sources,
/// which come with their numbers.
pub(crate) fn all<T: Send>(
    sources: &[(usize, &Source)],
    reading: &Reading<'_>,
    prepare: impl Fn(Loaded) -> Prepared + Sync,
    take: impl Fn(usize, Arc<Prepared>) -> T + Sync,
) -> Vec<Result<T, Error>> {
    let (numbers, sources): (Vec<usize>, Vec<&Source>) = sources.iter().copied().unzip();
    let total = sources.iter().map(|source| source.bytes).sum();
    let counter = Counter { done: AtomicU64::new(0), total, reading };
    let threads = reading.threads.clamp(1, sources.len().max(1));
    // A lone file gets the second core for decompression; many files keep all cores busy by themselves.
    let options = ReadOptions {
        pipelined: reading.threads > 1 && is_lone_and_large(&sources),
        memory: reading.memory.max(LEAST),
        ..ReadOptions::default()
    };
    let one = |i: usize| {
        let prepared = match reading.kept.and_then(|kept| kept.get(numbers[i])) {
            Some(kept) => kept,
            None => Arc::new(prepare(read(sources[i], options, &counter)?)),
        };
        if reading.stopped() {
            return Err(Error::Stopped);
        }
        if let Some(kept) = reading.kept {
            kept.keep(numbers[i], &prepared);
        }
        Ok(take(numbers[i], prepared))
    };
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

/// One trace may take this much however little is allowed: reading takes about as much by itself.
const LEAST: u64 = 64 << 20;

/// Below this a trace is read in a few hundredths of a second: handing its text from one core to another costs more than a
/// second thread saves.
const LARGE: u64 = 2 << 20;

fn is_lone_and_large(sources: &[&Source]) -> bool {
    matches!(sources, [only] if only.bytes >= LARGE)
}

fn read(source: &Source, options: ReadOptions, counter: &Counter<'_>) -> Result<Loaded, Error> {
    let fail = |error: ReadError| {
        if counter.reading.stopped() { Error::Stopped } else { Error::read(&source.path, error) }
    };
    if let (Some(path), Some(format)) = (source.plain_file(), source.head.format) {
        let goes_on = || !counter.reading.stopped();
        if let Some(loaded) = read_file(path, format, &goes_on, options) {
            counter.count(source.bytes);
            return loaded.map_err(fail);
        }
    }
    source
        .with_reader(|input| gpuscope_formats::read(Counted { input, counter }, options))
        .map_err(|error| Error::io(&source.path, error))?
        .map_err(fail)
}

/// What a trace is expected to take in memory: a part of its text, which gzip and zstd shrink by ten or more.
fn memory_of(source: &Source) -> u64 {
    let text = match source.head.compression {
        Compression::None => source.bytes,
        Compression::Gzip | Compression::Zstd => source.bytes.saturating_mul(16),
    };
    (text as f64 * source.head.format.map_or(0.5, |format| format.memory_factor)) as u64
}

/// Bytes read over all sources.
struct Counter<'p> {
    done: AtomicU64,
    total: u64,
    reading: &'p Reading<'p>,
}

impl Counter<'_> {
    fn count(&self, bytes: u64) {
        if let Some(progress) = self.reading.progress {
            let done = self.done.fetch_add(bytes, Ordering::Relaxed) + bytes;
            progress.read(done, self.total);
        }
    }
}

struct Counted<'c> {
    input: &'c mut (dyn Read + Send),
    counter: &'c Counter<'c>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.counter.reading.stopped() {
            return Err(io::Error::other("stopped"));
        }
        let bytes = self.input.read(buffer)?;
        self.counter.count(bytes as u64);
        Ok(bytes)
    }
}
