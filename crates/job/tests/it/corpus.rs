//! Real traces, where `GPUSCOPE_CORPUS` says there are some.

use std::path::{Path, PathBuf};

use gpuscope_analysis::Question;
use gpuscope_job::{JobOptions, Run};

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn corpus() -> Option<PathBuf> {
    let corpus = std::env::var_os("GPUSCOPE_CORPUS");
    if corpus.is_none() {
        eprintln!("skipped: GPUSCOPE_CORPUS is not set, so no real trace is read");
    }
    corpus.map(PathBuf::from)
}

pub(crate) fn traces() -> Option<PathBuf> {
    Some(corpus()?.join("traces"))
}

/// Every file of the corpus that may be a trace.
pub(crate) fn trace_files() -> Vec<PathBuf> {
    let Some(corpus) = corpus() else { return Vec::new() };
    let mut folders = vec![corpus.join("traces"), corpus.join("formats/traces")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

pub(crate) fn ask_trace<Q: Question>(trace: &Path, question: &Q) -> Q::Answer {
    let run = Run::open(&[trace.to_string_lossy().into_owned()], JobOptions::default()).expect("a trace");
    run.ask(question).expect("an answer").answer
}
