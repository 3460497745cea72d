//! The runs of a folder: found in the background, watched, and read for their overviews as they land.

mod strange;
mod watcher;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use gpuscope_job::{FoundRun, RunFolder, Sort};
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use self::strange::{Found, Strange};
use crate::asker::{Asker, Overview, ProblemKind, Source, Watch};
use crate::store::Store;

/// A file that was written to just now may not be whole.
const SETTLED: Duration = Duration::from_millis(1_200);

/// One run as the index knows it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// In addresses: the name, with `~` for `/`.
    pub(crate) id: String,
    pub(crate) source: Source,
    pub(crate) sort: Sort,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// Of the newest file.
    pub(crate) modified: SystemTime,
    pub(crate) status: Status,
    pub(crate) overview: Option<Arc<Overview>>,
    /// Of what the files hold, once it is known.
    pub(crate) content: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Status {
    /// To be read.
    Waiting,
    /// Still written to.
    Landing,
    Reading(Arc<Watch>),
    Ready,
    /// Why it cannot be read.
    Damaged(String),
    /// What it is, and that it is not read.
    Unread(String),
}

#[derive(Debug, Default)]
struct State {
    runs: BTreeMap<String, Run>,
    /// Versions to be read, the first first.
    queue: VecDeque<String>,
}

pub(crate) struct Index {
    root: PathBuf,
    asker: Arc<dyn Asker>,
    pub(crate) store: Store,
    state: RwLock<State>,
    work: (Mutex<()>, Condvar),
    changes: watch::Sender<u64>,
    looked: AtomicBool,
    stop: AtomicBool,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("root", &self.root).finish_non_exhaustive()
    }
}

impl Index {
    pub(crate) fn new(root: &Path, asker: Arc<dyn Asker>, store: Store) -> io::Result<Index> {
        Ok(Index {
            root: root.canonicalize()?,
            asker,
            store,
            state: RwLock::default(),
            work: (Mutex::default(), Condvar::new()),
            changes: watch::Sender::new(0),
            looked: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Looks after the folder until [`Index::stop`].
    pub(crate) fn start(self: &Arc<Index>) -> io::Result<()> {
        let mut folder = RunFolder::new(&self.root)?;
        let index = Arc::clone(self);
        spawn("index", move || {
            let watcher = watcher::Watcher::of(&index.root);
            let mut strange = Strange::default();
            while !index.stop.load(Ordering::Relaxed) {
                let unsettled = index.apply(&strange.beside(&index.root, folder.look(), &*index.asker));
                index.looked.store(true, Ordering::Relaxed);
                watcher.wait(if unsettled { SETTLED / 4 } else { watcher::PATIENCE }, &index.stop);
            }
        })?;
        let readers = std::thread::available_parallelism().map_or(1, usize::from);
        for number in 0..readers {
            let index = Arc::clone(self);
            spawn(&format!("reader {number}"), move || index.read())?;
        }
        Ok(())
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.work.1.notify_all();
        for run in self.state().runs.values() {
            if let Status::Reading(watch) = &run.status {
                watch.stop();
            }
        }
    }

    /// Whether the folder has been looked through once.
    pub(crate) fn is_ready(&self) -> bool {
        self.looked.load(Ordering::Relaxed)
    }

    /// Counts up with every change.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The newest first.
    pub(crate) fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = self.state().runs.values().cloned().collect();
        runs.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.id.cmp(&b.id)));
        runs
    }

    pub(crate) fn run(&self, id: &str) -> Option<Run> {
        self.state().runs.get(id).cloned()
    }

    /// Hash of what the files of a version hold, once it is known.
    pub(crate) fn content(&self, version: &str) -> Option<String> {
        self.store.hash(version)
    }

    /// Takes over what is there now. Whether some of it is still being written.
    fn apply(&self, found: &[Found]) -> bool {
        let now = SystemTime::now();
        let (mut unsettled, mut changed) = (false, false);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let mut present = BTreeSet::new();
        for Found { run: found, unread } in found {
            let id = id_of(found, &present);
            present.insert(id.clone());
            let version = version_of(found);
            let known = state.runs.get(&id).filter(|run| run.source.version == version);
            let landing = known.is_some_and(|run| matches!(run.status, Status::Landing));
            if known.is_some() && !landing {
                continue;
            }
            let modified = found.files.iter().map(|file| file.modified).max().unwrap_or(now);
            let age = now.duration_since(modified).unwrap_or_default();
            let settles = age < SETTLED;
            unsettled |= settles;
            if landing && settles {
                continue;
            }
            changed = true;
            let mut run = self.known(&id, &version, found, modified, settles);
            if let (Some(why), false) = (unread, settles) {
                run.status = Status::Unread(why.clone());
            }
            if matches!(run.status, Status::Waiting) {
                state.queue.retain(|waiting| *waiting != id);
                state.queue.push_back(id.clone());
            }
            if let Some(Run { status: Status::Reading(watch), .. }) = state.runs.insert(id, run) {
                watch.stop();
            }
        }
        let before = state.runs.len();
        state.runs.retain(|id, _| present.contains(id));
        changed |= state.runs.len() < before;
        // The newest first: that is what people look for.
        let State { runs, queue } = &mut *state;
        let modified = |id: &String| runs.get(id).map(|run| run.modified);
        queue.make_contiguous().sort_by_key(|id| std::cmp::Reverse(modified(id)));
        drop(state);
        if changed {
            self.work.1.notify_all();
            self.changed();
        }
        unsettled
    }

    /// A run with what is kept about it.
    fn known(&self, id: &str, version: &str, found: &FoundRun, modified: SystemTime, settles: bool) -> Run {
        let overview = self.store.overview(version).map(Arc::new);
        let status = match (&overview, found.sort) {
            (Some(_), _) => Status::Ready,
            _ if settles => Status::Landing,
            (None, Sort::Traces) => Status::Waiting,
            (None, _) => Status::Ready,
        };
        let path = |file: &gpuscope_job::Version| file.path.to_string_lossy().into_owned();
        Run {
            id: id.to_owned(),
            source: Source {
                name: found.name.clone(),
                version: version.to_owned(),
                paths: found.files.iter().map(path).collect(),
            },
            sort: found.sort,
            files: found.files.len(),
            bytes: found.files.iter().map(|file| file.bytes).sum(),
            modified,
            status,
            overview,
            content: self.store.hash(version),
        }
    }

    /// Reads what waits, one run at a time, until the end.
    fn read(&self) {
        while let Some((source, id, watch)) = self.next() {
            let read = catch_unwind(AssertUnwindSafe(|| self.asker.overview(&source, &watch)));
            let read = read.unwrap_or_else(|_| Err(crate::jobs::bug()));
            let content = if read.is_ok() { hash_of(&source.paths).ok() } else { None };
            if let Some(hash) = &content {
                self.store.keep_hash(&source.version, hash);
            }
            // Last: a run that has one is not read again.
            if let Ok(overview) = &read {
                self.store.keep_overview(&source.version, overview);
            }
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            let run = state.runs.get_mut(&id).filter(|run| run.source.version == source.version);
            if let Some(run) = run {
                run.content = content;
                match read {
                    Ok(overview) => {
                        run.status = Status::Ready;
                        run.overview = Some(Arc::new(overview));
                    }
                    Err(problem) if problem.kind == ProblemKind::Stopped => run.status = Status::Waiting,
                    Err(problem) => run.status = Status::Damaged(problem.messages.join("; ")),
                }
            }
            drop(state);
            self.changed();
        }
    }

    fn next(&self) -> Option<(Source, String, Arc<Watch>)> {
        let mut guard = self.work.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            {
                let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
                let State { runs, queue } = &mut *state;
                while let Some(id) = queue.pop_front() {
                    if let Some(run) = runs.get_mut(&id) {
                        let watch = Arc::new(Watch::default());
                        run.status = Status::Reading(Arc::clone(&watch));
                        return Some((run.source.clone(), id, watch));
                    }
                }
            }
            let waited = self.work.1.wait_timeout(guard, Duration::from_secs(1));
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Tells whoever looks at the list.
    pub(crate) fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn state(&self) -> std::sync::RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(|_| ())
}

/// Runs of one name (a trace and a log of the compiler) are numbered.
fn id_of(found: &FoundRun, taken: &BTreeSet<String>) -> String {
    let plain = found.name.replace('/', "~");
    let mut names = std::iter::once(plain.clone()).chain((2..).map(|number| format!("{plain}~{number}")));
    names.find(|name| !taken.contains(name)).unwrap_or(plain)
}

fn version_of(found: &FoundRun) -> String {
    let mut hash = Sha256::new();
    for file in &found.files {
        let modified = file.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        hash.update(file.path.to_string_lossy().as_bytes());
        hash.update(file.bytes.to_le_bytes());
        hash.update(modified.as_nanos().to_le_bytes());
    }
    hex(&hash.finalize()[..12])
}

/// Of all bytes of all files, in their order; of a folder that is one input, of what is in it.
fn hash_of(paths: &[String]) -> io::Result<String> {
    let mut hash = Sha256::new();
    for path in paths.iter().map(std::path::Path::new) {
        let mut files = vec![path.to_owned()];
        if path.is_dir() {
            files = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
            files.sort();
        }
        for file in files {
            io::copy(&mut fs::File::open(file)?, &mut Hashing(&mut hash))?;
        }
    }
    Ok(hex(&hash.finalize()[..16]))
}

struct Hashing<'h>(&'h mut Sha256);

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
