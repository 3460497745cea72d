//! Answers: worked out once however many wait for them, kept as far as there is room, and given up when nobody waits.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, watch};

use crate::asker::{Asked, Asker, Form, Problem, ProblemKind, Watch};
use crate::index::{Index, hex};

/// Answers in memory take this much at most.
const ROOM: usize = 96 << 20;
/// Questions that wait for a core.
const MOST_WAITING: usize = 64;

type Outcome = Result<Bytes, Problem>;

pub(crate) struct Answers {
    asker: Arc<dyn Asker>,
    index: Arc<Index>,
    memory: Mutex<Memory>,
    running: Mutex<HashMap<String, Arc<Job>>>,
    cores: Arc<Semaphore>,
    waiting: AtomicUsize,
    pub(crate) asked: AtomicU64,
    pub(crate) from_cache: AtomicU64,
}

#[derive(Default)]
struct Memory {
    kept: HashMap<String, (Bytes, u64)>,
    bytes: usize,
    clock: u64,
}

/// Work that several may wait for.
pub(crate) struct Job {
    pub(crate) watch: Arc<Watch>,
    outcome: watch::Receiver<Option<Outcome>>,
    waiters: AtomicUsize,
}

/// Somebody who waits; when the last one leaves, the work stops.
pub(crate) struct Waiter(pub(crate) Arc<Job>);

impl Drop for Waiter {
    fn drop(&mut self) {
        if self.0.waiters.fetch_sub(1, Ordering::AcqRel) == 1 && self.0.outcome.borrow().is_none() {
            self.0.watch.stop();
        }
    }
}

impl Waiter {
    fn of(job: &Arc<Job>) -> Waiter {
        job.waiters.fetch_add(1, Ordering::AcqRel);
        Waiter(Arc::clone(job))
    }

    pub(crate) async fn outcome(&self) -> Outcome {
        let mut outcome = self.0.outcome.clone();
        match outcome.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or_else(|| Err(stopped())),
            Err(_) => Err(stopped()),
        }
    }
}

fn stopped() -> Problem {
    Problem::new(ProblemKind::Stopped, "the work was stopped", "ask again")
}

/// What tells one answer from another; also its tag for browsers.
pub(crate) fn key_of(asked: &Asked) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    add(env!("CARGO_PKG_VERSION"));
    add(&asked.question);
    add(&format!("{:?}", asked.form));
    add(&serde_json::to_string(&asked.options).unwrap_or_default());
    for run in &asked.runs {
        add(&run.name);
        add(&run.version);
    }
    hex(&hash.finalize()[..16])
}

/// What is quick to find again or large is kept in memory alone.
fn is_stored(form: Form) -> bool {
    form == Form::Json
}

impl Answers {
    pub(crate) fn new(asker: Arc<dyn Asker>, index: Arc<Index>) -> Answers {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Answers {
            asker,
            index,
            memory: Mutex::default(),
            running: Mutex::default(),
            cores: Arc::new(Semaphore::new(cores)),
            waiting: AtomicUsize::new(0),
            asked: AtomicU64::new(0),
            from_cache: AtomicU64::new(0),
        }
    }

    /// The answer, if it is known.
    pub(crate) fn known(&self, key: &str) -> Option<Bytes> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.clock += 1;
        let clock = memory.clock;
        let (bytes, used) = memory.kept.get_mut(key)?;
        *used = clock;
        Some(bytes.clone())
    }

    /// Waits for the answer.
    pub(crate) async fn ask(self: &Arc<Answers>, asked: Asked) -> Outcome {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let key = key_of(&asked);
        if let Some(bytes) = self.known(&key) {
            self.from_cache.fetch_add(1, Ordering::Relaxed);
            return Ok(bytes);
        }
        self.begin(&key, asked)?.outcome().await
    }

    /// The work for an answer that is not in memory.
    pub(crate) fn begin(self: &Arc<Answers>, key: &str, asked: Asked) -> Result<Waiter, Problem> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(job) = running.get(key) {
            return Ok(Waiter::of(job));
        }
        if self.waiting.fetch_add(1, Ordering::AcqRel) >= MOST_WAITING {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            let hint = "ask again in some seconds";
            return Err(Problem::new(ProblemKind::Busy, "too many questions are being worked on", hint));
        }
        let (tell, outcome) = watch::channel(None);
        let job = Arc::new(Job { watch: Arc::default(), outcome, waiters: AtomicUsize::new(0) });
        running.insert(key.to_owned(), Arc::clone(&job));
        let waiter = Waiter::of(&job);
        let (answers, key) = (Arc::clone(self), key.to_owned());
        tokio::spawn(async move {
            let place = Arc::clone(&answers.cores).acquire_owned().await;
            let (worker, watch, name) = (Arc::clone(&answers), Arc::clone(&job.watch), key.clone());
            let work = tokio::task::spawn_blocking(move || worker.work(&name, &asked, &watch));
            let outcome = work.await.unwrap_or_else(|_| Err(bug()));
            drop(place);
            answers.waiting.fetch_sub(1, Ordering::AcqRel);
            answers.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            tell.send_replace(Some(outcome));
        });
        Ok(waiter)
    }

    fn work(&self, key: &str, asked: &Asked, watch: &Arc<Watch>) -> Outcome {
        let stored = is_stored(asked.form).then(|| self.index.store.answer(key)).flatten();
        let bytes = if let Some(bytes) = stored {
            bytes
        } else {
            let answer = catch_unwind(AssertUnwindSafe(|| self.asker.ask(asked, watch)));
            let bytes = answer.unwrap_or_else(|_| Err(bug()))?;
            if is_stored(asked.form) {
                self.index.store.keep_answer(key, &bytes);
            }
            bytes
        };
        let bytes = Bytes::from(bytes);
        self.keep(key, &bytes);
        Ok(bytes)
    }

    fn keep(&self, key: &str, bytes: &Bytes) {
        if bytes.len() > ROOM / 4 {
            return;
        }
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.clock += 1;
        let clock = memory.clock;
        memory.bytes += bytes.len();
        if let Some((before, _)) = memory.kept.insert(key.to_owned(), (bytes.clone(), clock)) {
            memory.bytes -= before.len();
        }
        while memory.bytes > ROOM {
            let oldest = memory.kept.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
            let Some((gone, _)) = oldest.and_then(|oldest| memory.kept.remove(&oldest)) else { return };
            memory.bytes -= gone.len();
        }
    }
}

pub(crate) fn bug() -> Problem {
    let hint = "please report it with the question and, if you may, the trace";
    Problem::new(ProblemKind::Bug, "this question met a bug in gpuscope; the server goes on", hint)
}
