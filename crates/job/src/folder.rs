//! The runs that lie in a folder, such as one that many jobs write to: which files there are traces, and which of them belong
//! together.
//!
//! Files of one folder are ranks of one run if their names differ by the rank alone, or if each says of itself which rank it
//! is and none says so twice; all files of a session that JAX's profiler wrote are its hosts. Any other file is a run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use gpuscope_formats::format::Read;
use gpuscope_trace::Holds;

use crate::inputs;
use crate::natural;
use crate::ranks;
use crate::source::Source;

/// Deeper folders and more files than these are no folder of profiles.
const DEEPEST: usize = 24;
const MOST_FILES: usize = 200_000;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sort {
    Traces,
    /// Of torch.compile.
    CompileLogs,
    /// Of `gpuscope bench`.
    Benchmarks,
}

/// What tells one version of a file from another without reading it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub path: PathBuf,
    pub bytes: u64,
    pub modified: SystemTime,
}

/// Files that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRun {
    /// The path below the folder, of a folder or of a file without its ending and rank.
    pub name: String,
    pub sort: Sort,
    /// In the order of their names.
    pub files: Vec<Version>,
}

/// A folder that is looked at again and again: what is in files that have not changed is known.
#[derive(Debug)]
pub struct RunFolder {
    root: PathBuf,
    seen: HashMap<Version, Option<Seen>>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    sort: Sort,
    /// The rank that the file says it is of.
    rank: Option<u32>,
}

impl RunFolder {
    pub fn new(root: &Path) -> std::io::Result<RunFolder> {
        Ok(RunFolder { root: root.canonicalize()?, seen: HashMap::new() })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What is there now, in the order of names. What cannot be read is passed over: it may be on its way.
    pub fn look(&mut self) -> Vec<FoundRun> {
        let mut files = Vec::new();
        walk(&self.root, 0, &mut files);
        let mut seen = HashMap::with_capacity(files.len());
        let mut by_folder: BTreeMap<PathBuf, Vec<(Version, Seen)>> = BTreeMap::new();
        for file in files {
            let what = self.seen.remove(&file).unwrap_or_else(|| look_into(&file.path));
            if let Some(what) = what {
                let folder = file.path.parent().unwrap_or(&self.root).to_owned();
                by_folder.entry(folder).or_default().push((file.clone(), what));
            }
            seen.insert(file, what);
        }
        self.seen = seen;
        let mut runs: Vec<FoundRun> =
            by_folder.into_iter().flat_map(|(folder, files)| self.runs_of(&folder, files)).collect();
        runs.sort_by_cached_key(|run| natural::key(&run.name));
        runs
    }

    fn runs_of(&self, folder: &Path, mut files: Vec<(Version, Seen)>) -> Vec<FoundRun> {
        files.sort_by_cached_key(|(file, _)| natural::key(&file.path.to_string_lossy()));
        if files.iter().all(|(_, seen)| seen.sort == Sort::Traces)
            && (is_session(folder) || are_ranks(&files))
        {
            let files = files.into_iter().map(|(file, _)| file).collect();
            return vec![FoundRun { name: self.name(folder), sort: Sort::Traces, files }];
        }
        let mut runs: BTreeMap<(String, Sort), Vec<Version>> = BTreeMap::new();
        for (file, seen) in files {
            let stem = ranks::without_rank(&stem(&file.path));
            runs.entry((stem, seen.sort)).or_default().push(file);
        }
        let alone = runs.len() == 1 && folder != self.root;
        let run = |((stem, sort), files): ((String, Sort), Vec<Version>)| {
            let name =
                if alone && files.len() > 1 { self.name(folder) } else { self.name(&folder.join(stem)) };
            FoundRun { name, sort, files }
        };
        runs.into_iter().map(run).collect()
    }

    fn name(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        let parts: Vec<_> = below.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        // JAX's own folders say nothing.
        let parts: Vec<_> = match parts.as_slice() {
            [before @ .., plugins, profile, session] if plugins == "plugins" && profile == "profile" => {
                before.iter().chain([session]).cloned().collect()
            }
            parts => parts.to_vec(),
        };
        if parts.is_empty() {
            self.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        } else {
            parts.join("/")
        }
    }
}

fn walk(folder: &Path, depth: usize, files: &mut Vec<Version>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_name().to_string_lossy().starts_with('.') || files.len() >= MOST_FILES {
            continue;
        }
        let path = entry.path();
        // A link may lead anywhere; what lies in the folder is found under its own name.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && inputs::format_of_folder(&path).is_some() {
            files.extend(version_of_folder(path));
        } else if kind.is_dir() && depth < DEEPEST {
            walk(&path, depth + 1, files);
        } else if kind.is_file()
            && let Ok(metadata) = entry.metadata()
        {
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.push(Version { path, bytes: metadata.len(), modified });
        }
    }
}

/// Of a folder that is one input: all of its files together.
fn version_of_folder(path: PathBuf) -> Option<Version> {
    let files: Vec<_> = fs::read_dir(&path).ok()?.filter_map(|file| file.ok()?.metadata().ok()).collect();
    let modified = files.iter().filter_map(|file| file.modified().ok()).max()?;
    Some(Version { path, bytes: files.iter().map(fs::Metadata::len).sum(), modified })
}

/// `…/plugins/profile/2026_11_18_09_30_00`
fn is_session(folder: &Path) -> bool {
    let mut above = folder.components().rev().skip(1).map(std::path::Component::as_os_str);
    above.next().is_some_and(|name| name == "profile") && above.next().is_some_and(|name| name == "plugins")
}

/// Each says which rank it is of, and none says so twice.
fn are_ranks(files: &[(Version, Seen)]) -> bool {
    let ranks: Option<BTreeSet<u32>> = files.iter().map(|(_, seen)| seen.rank).collect();
    files.len() > 1 && ranks.is_some_and(|ranks| ranks.len() == files.len())
}

/// The name without what says how it is written.
fn stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let endings = [".gz", ".zst", ".zstd", ".tar", ".tgz", ".zip", ".json", ".trace", ".pt", ".log"];
    let mut stem = name.as_str();
    while let Some(shorter) = endings.iter().find_map(|end| stem.strip_suffix(end)).filter(|s| !s.is_empty())
    {
        stem = shorter;
    }
    stem.to_owned()
}

/// None if it is nothing of ours.
fn look_into(path: &Path) -> Option<Seen> {
    let members = inputs::from_file(path, true, |_| true).ok()?;
    match members.sources.as_slice() {
        [only] if Path::new(&only.path) == path => seen(only),
        members => members
            .iter()
            .filter_map(seen)
            .find(|seen| seen.sort == Sort::Traces)
            .map(|_| Seen { sort: Sort::Traces, rank: None }),
    }
}

fn seen(source: &Source) -> Option<Seen> {
    let head = &source.head;
    if head.benchmarks {
        return Some(Seen { sort: Sort::Benchmarks, rank: None });
    }
    let is_readable = head.format.is_some_and(|format| !matches!(format.read, Read::Not(_)));
    if !is_readable || !head.is_certain || head.answer {
        return None;
    }
    let sort = if source.holds() == Holds::CompileLog { Sort::CompileLogs } else { Sort::Traces };
    Some(Seen { sort, rank: head.rank })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = r#"{"traceEvents": []}"#;

    fn of_rank(rank: u32) -> String {
        format!(r#"{{"distributedInfo": {{"rank": {rank}, "world_size": 2}}, "traceEvents": []}}"#)
    }

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn found(root: &Path) -> Vec<(String, Sort, usize)> {
        let runs = RunFolder::new(root).unwrap().look();
        runs.into_iter().map(|run| (run.name, run.sort, run.files.len())).collect()
    }

    #[test]
    fn files_that_belong_together_are_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (name, text) in [
            ("forward_pass.json", TRACE),
            ("forward_pass-2.json", TRACE),
            ("train-rank0.json", TRACE),
            ("train-rank1.json", TRACE),
            ("jobs/a/host1_77.1700000000.pt.trace.json", &of_rank(0)),
            ("jobs/a/host2_12.1700000003.pt.trace.json", &of_rank(1)),
            ("jax/plugins/profile/2026_01_01/host1.trace.json", TRACE),
            ("jax/plugins/profile/2026_01_01/host2.trace.json", TRACE),
            ("config.json", r#"{"learning_rate": 0.1}"#),
            (".hidden/x.json", TRACE),
            ("bench/profiling_data.json", r#"{"metadata": {}, "benchmarks": {}}"#),
        ] {
            write(root, name, text);
        }
        let run = |name: &str, sort, files| (name.to_owned(), sort, files);
        assert_eq!(
            found(root),
            [
                run("bench/profiling_data", Sort::Benchmarks, 1),
                run("forward_pass", Sort::Traces, 1),
                run("forward_pass-2", Sort::Traces, 1),
                run("jax/2026_01_01", Sort::Traces, 2),
                run("jobs/a", Sort::Traces, 2),
                run("train", Sort::Traces, 2),
            ]
        );
    }

    #[test]
    fn what_changes_is_looked_into_again() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "x.json", "{");
        let mut runs = RunFolder::new(folder.path()).unwrap();
        assert!(runs.look().is_empty());
        write(folder.path(), "x.json", TRACE);
        let before = runs.look();
        assert_eq!(before.len(), 1);
        assert_eq!(runs.look(), before);
        fs::remove_file(folder.path().join("x.json")).unwrap();
        assert!(runs.look().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_folder_is_not_followed() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(other.path(), "secret.json", TRACE);
        std::os::unix::fs::symlink(other.path(), folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink(other.path().join("secret.json"), folder.path().join("a.json")).unwrap();
        assert!(found(folder.path()).is_empty());
    }
}
