//! Work that several may wait for: done once however many ask for it, and stopped when nobody waits any more.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, watch};

use crate::asker::{Problem, ProblemKind, Watch};

/// Pieces of work that wait for a core.
const MOST_WAITING: usize = 64;

type Outcome<T> = Result<T, Problem>;

/// Places for work, shared by all kinds of it.
#[derive(Clone)]
pub(crate) struct Desk {
    cores: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Desk { cores: Arc::new(Semaphore::new(cores)), waiting: Arc::default() }
    }

    fn enter(&self) -> Result<(), Problem> {
        if self.waiting.fetch_add(1, Ordering::AcqRel) < MOST_WAITING {
            return Ok(());
        }
        self.leave();
        let hint = "ask again in some seconds";
        Err(Problem::new(ProblemKind::Busy, "too many questions are being worked on", hint))
    }

    fn leave(&self) {
        self.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Work of one kind, by what tells one piece of it from another.
pub(crate) struct Jobs<T> {
    desk: Desk,
    running: Mutex<HashMap<String, Arc<Job<T>>>>,
}

struct Job<T> {
    watch: Arc<Watch>,
    outcome: watch::Receiver<Option<Outcome<T>>>,
    /// Changed under the lock of what is running, so that nobody joins work that is being given up.
    waiters: AtomicUsize,
}

/// Somebody who waits; when the last one leaves, the work stops, and who asks then begins anew.
pub(crate) struct Waiter<T: Clone> {
    jobs: Arc<Jobs<T>>,
    key: String,
    job: Arc<Job<T>>,
}

impl<T: Clone> Drop for Waiter<T> {
    fn drop(&mut self) {
        let mut running = self.jobs.running();
        let is_last = self.job.waiters.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last && self.job.outcome.borrow().is_none() {
            Jobs::forget(&mut running, &self.key, &self.job);
            self.job.watch.stop();
        }
    }
}

impl<T: Clone> Waiter<T> {
    pub(crate) async fn outcome(&self) -> Outcome<T> {
        let mut outcome = self.job.outcome.clone();
        match outcome.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or_else(|| Err(stopped())),
            Err(_) => Err(stopped()),
        }
    }

    /// Bytes read, of all there are.
    pub(crate) fn progress(&self) -> (u64, u64) {
        self.job.watch.progress()
    }
}

impl<T> Jobs<T> {
    pub(crate) fn new(desk: Desk) -> Jobs<T> {
        Jobs { desk, running: Mutex::default() }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<Job<T>>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Only this piece of work: another one may have begun in its place.
    fn forget(running: &mut HashMap<String, Arc<Job<T>>>, key: &str, job: &Arc<Job<T>>) {
        if running.get(key).is_some_and(|known| Arc::ptr_eq(known, job)) {
            running.remove(key);
        }
    }
}

impl<T: Clone + Send + Sync + 'static> Jobs<T> {
    /// Joins the work, or begins it.
    pub(crate) fn begin(
        self: &Arc<Jobs<T>>,
        key: &str,
        work: impl FnOnce(&Arc<Watch>) -> Outcome<T> + Send + 'static,
    ) -> Result<Waiter<T>, Problem> {
        let mut running = self.running();
        if let Some(job) = running.get(key) {
            return Ok(self.waiter(key, job));
        }
        self.desk.enter()?;
        let (tell, outcome) = watch::channel(None);
        let job = Arc::new(Job { watch: Arc::default(), outcome, waiters: AtomicUsize::new(0) });
        running.insert(key.to_owned(), Arc::clone(&job));
        let waiter = self.waiter(key, &job);
        drop(running);
        let (jobs, key) = (Arc::clone(self), key.to_owned());
        tokio::spawn(async move {
            let place = Arc::clone(&jobs.desk.cores).acquire_owned().await;
            let watch = Arc::clone(&job.watch);
            let outcome = if watch.is_stopped() {
                Err(stopped())
            } else {
                let work =
                    move || catch_unwind(AssertUnwindSafe(|| work(&watch))).unwrap_or_else(|_| Err(bug()));
                tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(bug()))
            };
            drop(place);
            jobs.desk.leave();
            let mut running = jobs.running();
            tell.send_replace(Some(outcome));
            Jobs::forget(&mut running, &key, &job);
        });
        Ok(waiter)
    }

    /// With what is running locked.
    fn waiter(self: &Arc<Jobs<T>>, key: &str, job: &Arc<Job<T>>) -> Waiter<T> {
        job.waiters.fetch_add(1, Ordering::AcqRel);
        Waiter { jobs: Arc::clone(self), key: key.to_owned(), job: Arc::clone(job) }
    }
}

fn stopped() -> Problem {
    Problem::new(ProblemKind::Stopped, "the work was stopped", "ask again")
}

pub(crate) fn bug() -> Problem {
    let hint = "please report it with the question and, if you may, the trace";
    Problem::new(ProblemKind::Bug, "this question met a bug in gpuscope; the server goes on", hint)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;

    use super::*;

    /// Works until it is stopped, or told to end.
    fn until(
        end: &Arc<AtomicU32>,
        begun: &Arc<AtomicU32>,
    ) -> impl FnOnce(&Arc<Watch>) -> Outcome<u32> + use<> {
        let (end, begun) = (Arc::clone(end), Arc::clone(begun));
        move |watch| {
            begun.fetch_add(1, Ordering::SeqCst);
            loop {
                if end.load(Ordering::SeqCst) > 0 {
                    return Ok(7);
                }
                if watch.is_stopped() {
                    return Err(stopped());
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    async fn has(count: &AtomicU32, wanted: u32) {
        while count.load(Ordering::SeqCst) < wanted {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn who_asks_after_the_last_left_begins_anew() {
        let (end, begun) = (Arc::default(), Arc::default());
        let jobs = Arc::new(Jobs::new(Desk::new()));
        for round in 1..=20 {
            let left = jobs.begin("a", until(&end, &begun)).unwrap();
            has(&begun, round).await;
            drop(left);
        }
        let waiter = jobs.begin("a", until(&end, &begun)).unwrap();
        let other = jobs.begin("a", until(&end, &begun)).unwrap();
        has(&begun, 21).await;
        drop(waiter);
        end.store(1, Ordering::SeqCst);
        assert_eq!(other.outcome().await.unwrap(), 7, "what others wait for goes on");
        assert_eq!(begun.load(Ordering::SeqCst), 21, "two who ask at once share the work");
        drop(other);
        assert!(jobs.running().is_empty());
        // What was given up ends a moment later.
        while jobs.desk.waiting.load(Ordering::SeqCst) > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn nobody_who_waits_is_told_that_the_work_was_stopped() {
        let jobs: Arc<Jobs<u32>> = Arc::new(Jobs::new(Desk::new()));
        let mut asking = tokio::task::JoinSet::new();
        for asker in 0..400_u32 {
            let jobs = Arc::clone(&jobs);
            asking.spawn(async move {
                let work = |watch: &Arc<Watch>| {
                    std::thread::sleep(Duration::from_micros(300));
                    if watch.is_stopped() { Err(stopped()) } else { Ok(7) }
                };
                let Ok(waiter) = jobs.begin("a", work) else { return };
                // Every second one leaves at once or soon.
                if asker % 2 == 0 {
                    tokio::time::sleep(Duration::from_micros(u64::from(asker % 7) * 50)).await;
                    return;
                }
                assert_eq!(waiter.outcome().await.unwrap(), 7);
            });
        }
        while let Some(done) = asking.join_next().await {
            done.unwrap();
        }
    }

    #[tokio::test]
    async fn a_panic_is_an_answer() {
        let jobs: Arc<Jobs<u32>> = Arc::new(Jobs::new(Desk::new()));
        let waiter = jobs.begin("a", |_| panic!("planted")).unwrap();
        assert_eq!(waiter.outcome().await.unwrap_err().kind, ProblemKind::Bug);
    }
}
