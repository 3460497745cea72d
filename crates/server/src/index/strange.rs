//! Files that are no run and yet promise to be one: of a format that is known and not read, empty, or damaged from the
//! first byte on. They get a row that says so, so that nobody waits for them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gpuscope_job::{FoundRun, Sort, Version};

use crate::asker::Asker;

/// As deep as runs are looked for, and no more files than a person reads about.
const DEEPEST: usize = 24;
const MOST_FILES: usize = 200_000;

/// What a look found: a run, or a file that is none and why.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) run: FoundRun,
    pub(super) unread: Option<String>,
}

/// What is in files that have not changed is known.
#[derive(Default)]
pub(super) struct Strange {
    seen: HashMap<Version, Option<String>>,
}

impl Strange {
    /// The runs, and beside them what else promised to be one.
    pub(super) fn beside(&mut self, root: &Path, runs: Vec<FoundRun>, asker: &dyn Asker) -> Vec<Found> {
        let taken: HashSet<PathBuf> =
            runs.iter().flat_map(|run| &run.files).map(|file| file.path.clone()).collect();
        let mut files = Vec::new();
        walk(root, 0, &taken, &mut files);
        let mut seen = HashMap::with_capacity(files.len());
        let mut found: Vec<Found> = runs.into_iter().map(|run| Found { run, unread: None }).collect();
        for file in files {
            let why = self.seen.remove(&file).unwrap_or_else(|| asker.unread(&file.path));
            if let Some(why) = &why {
                let name = file.path.strip_prefix(root).unwrap_or(&file.path).to_string_lossy().into_owned();
                let run = FoundRun { name, sort: Sort::Traces, files: vec![file.clone()] };
                found.push(Found { run, unread: Some(why.clone()) });
            }
            seen.insert(file, why);
        }
        self.seen = seen;
        found
    }
}

/// Neither links nor what begins with a dot, as for runs.
fn walk(folder: &Path, depth: usize, taken: &HashSet<PathBuf>, files: &mut Vec<Version>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if is_hidden || taken.contains(&path) || files.len() >= MOST_FILES {
            continue;
        }
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth < DEEPEST {
            walk(&path, depth + 1, taken, files);
        } else if kind.is_file()
            && let Ok(metadata) = entry.metadata()
        {
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.push(Version { path, bytes: metadata.len(), modified });
        }
    }
}
