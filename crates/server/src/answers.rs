//! Answers: worked out once however many wait for them, kept as far as there is room, and given up when nobody waits.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use sha2::{Digest, Sha256};

use crate::asker::{Asked, Asker, Form, Problem, Source, Watch};
use crate::build::build;
use crate::index::{Index, hex};
use crate::jobs::{Desk, Jobs, Waiter};

/// Answers in memory take this much at most.
const ROOM: usize = 96 << 20;

type Outcome = Result<Bytes, Problem>;

pub(crate) struct Answers {
    asker: Arc<dyn Asker>,
    index: Arc<Index>,
    memory: Mutex<Memory>,
    jobs: Arc<Jobs<Bytes>>,
    pub(crate) asked: AtomicU64,
    pub(crate) from_cache: AtomicU64,
}

#[derive(Default)]
struct Memory {
    kept: HashMap<String, (Bytes, u64)>,
    bytes: usize,
    clock: u64,
}

/// What tells one answer from another; also its tag for browsers.
pub(crate) fn key_of(asked: &Asked) -> String {
    key_by(asked, |run| run.version.clone())
}

/// As [`key_of`], with something else that tells one version of a run from another.
fn key_by(asked: &Asked, version: impl Fn(&Source) -> String) -> String {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    add(build());
    add(&asked.question);
    add(&format!("{:?}", asked.form));
    add(&serde_json::to_string(&asked.options).unwrap_or_default());
    for run in &asked.runs {
        add(&run.name);
        run.paths.iter().for_each(|path| add(path));
        add(&version(run));
    }
    hex(&hash.finalize()[..16])
}

/// What is quick to find again or large is kept in memory alone.
fn is_stored(form: Form) -> bool {
    form == Form::Json
}

impl Answers {
    pub(crate) fn new(asker: Arc<dyn Asker>, index: Arc<Index>, desk: Desk) -> Answers {
        Answers {
            asker,
            index,
            memory: Mutex::default(),
            jobs: Arc::new(Jobs::new(desk)),
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
    pub(crate) fn begin(self: &Arc<Answers>, key: &str, asked: Asked) -> Result<Waiter<Bytes>, Problem> {
        let (answers, own) = (Arc::clone(self), key.to_owned());
        self.jobs.begin(key, move |watch| answers.work(&own, &asked, watch))
    }

    fn work(&self, key: &str, asked: &Asked, watch: &Arc<Watch>) -> Outcome {
        let bytes = if let Some(bytes) = self.stored(key, asked) {
            bytes
        } else {
            let bytes = self.asker.ask(asked, watch)?;
            if is_stored(asked.form) {
                let lasting = self.lasting(asked).unwrap_or_else(|| key.to_owned());
                self.index.store.keep_answer(&lasting, &bytes);
            }
            bytes
        };
        let bytes = Bytes::from(bytes);
        self.keep(key, &bytes);
        Ok(bytes)
    }

    fn stored(&self, key: &str, asked: &Asked) -> Option<Vec<u8>> {
        if !is_stored(asked.form) {
            return None;
        }
        let by_content = self.lasting(asked).and_then(|lasting| self.index.store.answer(&lasting));
        by_content.or_else(|| self.index.store.answer(key))
    }

    /// The key by what the files hold, once that is known of all of them: files that are written anew and hold the same have
    /// the same answers.
    fn lasting(&self, asked: &Asked) -> Option<String> {
        let contents: Option<HashMap<&str, String>> = asked
            .runs
            .iter()
            .map(|run| Some((run.version.as_str(), self.index.content(&run.version)?)))
            .collect();
        let contents = contents.filter(|contents| !contents.is_empty())?;
        Some(key_by(asked, |run| contents.get(run.version.as_str()).cloned().unwrap_or_default()))
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use gpuscope_analysis::timeline::Atlas;
    use serde_json::Map;

    use super::*;
    use crate::asker::{Overview, ProblemKind};
    use crate::catalog::Question;
    use crate::store::Store;

    /// Counts how often it was asked.
    #[derive(Default)]
    struct Counting(AtomicU64);

    impl Asker for Counting {
        fn questions(&self) -> &[Question] {
            &[]
        }

        fn ask(&self, _asked: &Asked, _watch: &Arc<Watch>) -> Result<Vec<u8>, Problem> {
            Ok(self.0.fetch_add(1, Ordering::SeqCst).to_string().into_bytes())
        }

        fn overview(&self, _run: &Source, _watch: &Arc<Watch>) -> Result<Overview, Problem> {
            Ok(Overview::default())
        }

        fn unread(&self, _file: &Path) -> Option<String> {
            None
        }

        fn atlas(&self, _run: &Source, _rank: Option<u32>, _watch: &Arc<Watch>) -> Result<Atlas, Problem> {
            Err(Problem::new(ProblemKind::Missing, "none", "none"))
        }
    }

    #[test]
    fn files_that_hold_the_same_have_the_same_answers() {
        let folder = tempfile::tempdir().unwrap();
        let counting = Arc::new(Counting::default());
        let store = Store::open(None, 1 << 20).unwrap();
        let index = Arc::new(Index::new(folder.path(), Arc::<Counting>::clone(&counting), store).unwrap());
        let answers = Answers::new(Arc::<Counting>::clone(&counting), Arc::clone(&index), Desk::new());
        for (version, content) in [("written", "x"), ("touched", "x"), ("changed", "y")] {
            index.store.keep_hash(version, content);
        }
        let ask = |name: &str, version: &str| {
            let (name, version) = (name.to_owned(), version.to_owned());
            let run = Source { name, version, paths: vec!["a.json".to_owned()] };
            let (question, options) = ("info".to_owned(), Map::new());
            let asked = Asked { runs: vec![run], question, options, form: Form::Json };
            answers.work(&key_of(&asked), &asked, &Arc::default()).unwrap()
        };
        assert_eq!((ask("a", "written"), ask("a", "touched")), (Bytes::from("0"), Bytes::from("0")));
        assert_eq!(ask("a", "changed"), "1", "other content");
        assert_eq!(ask("b", "written"), "2", "its name stands in the answer");
        assert_eq!((ask("c", "unknown"), ask("c", "unknown")), (Bytes::from("3"), Bytes::from("3")));
    }
}
