//! Runs the tests of the workspace, each in a process and a process group of its own: one that hangs is stopped and named,
//! what it started ends with it, and how long each took is known.

mod one;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::steps::{self, Tally};
use crate::workspace::{Artifact, Workspace};
use one::{Ended, Ran};

/// What no test may take. The slowest take a tenth of it.
const LIMIT: Duration = Duration::from_mins(5);

/// One test function.
#[derive(Debug)]
struct Test<'b> {
    binary: &'b Binary,
    name: String,
}

/// One program that holds tests.
#[derive(Debug)]
struct Binary {
    /// `gpuscope-cli it`
    title: String,
    program: PathBuf,
    /// Tests run in the folder of their crate, as cargo has it.
    folder: PathBuf,
}

/// Builds and runs all of them in this profile.
pub(crate) fn run(workspace: &Workspace, profile: &str) -> Result<Tally> {
    let artifacts = workspace.build(&["test", "--workspace", "--no-run", "--profile", profile])?;
    let binaries: Vec<Binary> = artifacts.into_iter().filter_map(Binary::of).collect();
    ensure!(!binaries.is_empty(), "cargo built no tests");
    let mut tests = Vec::new();
    for binary in &binaries {
        let names = binary.list()?;
        tests.extend(names.into_iter().map(|name| Test { binary, name }));
    }
    let corpus = workspace.corpus();
    let ran = in_parallel(&tests, |test| one::run(test.command(&workspace.root, corpus.as_deref()), LIMIT))?;
    let mut tally = Tally::default();
    let mut skipped: BTreeMap<String, usize> = BTreeMap::new();
    for (test, Ran { took, ended, output }) in tests.iter().zip(&ran) {
        let name = format!("{} {}", test.binary.title, test.name);
        tally.took.push((took.as_secs_f64(), name.clone()));
        match ended {
            Ended::Passed => tally.passed += 1,
            Ended::Skipped(reason) => {
                tally.skipped += 1;
                *skipped.entry(reason.clone()).or_default() += 1;
            }
            Ended::Failed(how) => {
                tally.failed += 1;
                println!("---- {name}: {how}\n{}", output.trim_end());
            }
        }
    }
    for (reason, count) in skipped {
        println!("    {count} tests SKIPPED: {reason}");
    }
    Ok(tally)
}

/// As many at a time as there are cores; results come in the order of the tests.
fn in_parallel(tests: &[Test<'_>], run: impl Fn(&Test<'_>) -> Result<Ran> + Sync) -> Result<Vec<Ran>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(tests.len()));
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(test) = tests.get(i) else { return };
            let ran = run(test).with_context(|| format!("{} {}", test.binary.title, test.name));
            done.lock().unwrap_or_else(PoisonError::into_inner).push((i, ran));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, ran)| ran).collect()
}

impl Binary {
    fn of(artifact: Artifact) -> Option<Binary> {
        let program = artifact.executable.filter(|_| artifact.is_test)?;
        let title = match artifact.kind.as_str() {
            "lib" => artifact.package.clone(),
            _ => format!("{} {}", artifact.package, artifact.target),
        };
        Some(Binary { title, program, folder: artifact.folder })
    }

    /// The names of its tests. Those that are to be asked for by name (`#[ignore]`) are not among them.
    fn list(&self) -> Result<Vec<String>> {
        let names = |more: &[&str]| -> Result<Vec<String>> {
            let mut command = Command::new(&self.program);
            command.current_dir(&self.folder).args(["--list", "--format", "terse"]).args(more);
            let text = steps::capture(&mut command)?;
            Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
        };
        let ignored = names(&["--ignored"])?;
        Ok(names(&[])?.into_iter().filter(|name| !ignored.contains(name)).collect())
    }
}

impl Test<'_> {
    fn command(&self, root: &Path, corpus: Option<&Path>) -> Command {
        let mut command = Command::new(&self.binary.program);
        command.current_dir(&self.binary.folder).args(["--exact", &self.name, "--nocapture"]);
        // Otherwise each test that compares with a snapshot asks cargo for it.
        command.env("INSTA_WORKSPACE_ROOT", root);
        if let Some(corpus) = corpus {
            command.env("GPUSCOPE_CORPUS", corpus);
        }
        command
    }
}
