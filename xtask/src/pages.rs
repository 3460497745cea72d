//! `cargo xtask pages`: the pages in a real browser, from disk and without a network.
//!
//! The types of `web/` are checked first, then `web/tests/*.test.mjs` run in node's own test runner, which drive
//! Chromium over pages that the release build makes.

pub(crate) mod bench;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::browser::{Browser, Found};
use crate::steps::{Outcome, call};
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    let web = workspace.root.join("web");
    let browser = match Browser::find(&web)? {
        Found::Ready(browser) => browser,
        Found::Missing(reason) => return Ok(Outcome::Skipped(reason)),
    };
    let types = call(browser.package("typescript/bin/tsc").arg("--project").arg(&web));
    types.context("the types of web/ do not fit")?;
    let binary = workspace.release_binary()?;
    call(node_test(&browser, &binary).args(tests(&web.join("tests"))?))?;
    Ok(Outcome::Done)
}

fn node_test(browser: &Browser, binary: &Path) -> Command {
    let mut command = browser.script(binary);
    // The dots of a terminal's default reporter hide which test failed.
    command.args(["--test", "--test-reporter", "spec"]);
    // A test that hangs is stopped and named.
    command.args(["--test-timeout", "300000"]);
    command
}

/// One file for each page.
fn tests(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            files.push(path);
        }
    }
    ensure!(!files.is_empty(), "{} holds no *.test.mjs", folder.display());
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::tests;

    #[test]
    fn only_files_of_tests_are_run_and_none_is_a_fault() {
        let folder = tempfile::tempdir().unwrap();
        assert!(tests(folder.path()).is_err());
        for name in ["b.test.mjs", "a.test.mjs", "support.mjs"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<_> =
            tests(folder.path()).unwrap().iter().map(|file| file.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["a.test.mjs", "b.test.mjs"]);
    }
}
