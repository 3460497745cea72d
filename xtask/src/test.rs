//! `cargo xtask test`: the one command that says whether the repository is sound, here and in CI.
//!
//! Cheap checks come first. Everything is built in the release profile, in which `cargo run --release` has built the command
//! line: tests, pages, instruction counts, the wheel and conformance share it. With `--quick` the tests run in the dev
//! profile, which has overflow checks and debug assertions. A tool that is missing is said loudly and is no failure.

use std::process::Command;

use anyhow::{Context, Result};

use crate::python::Python;
use crate::steps::{Outcome, Steps, Tally, call, works};
use crate::workspace::Workspace;
use crate::{house, instructions, licences, pages, runner, world};

/// What is left out, and what is added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) quick: bool,
    pub(crate) torch: bool,
}

pub(crate) fn run(workspace: &Workspace, wanted: Wanted) -> Result<()> {
    let mut steps = Steps::default();
    steps.run("rustfmt", || {
        tool(workspace.cargo().args(["fmt", "--version"]), "rustfmt", || {
            let check = call(workspace.cargo().args(["fmt", "--all", "--check"]));
            check.context("some files are not formatted; `cargo fmt --all` does it")
        })
    })?;
    steps.run("house rules", || house::run(workspace))?;
    steps.run("licences", || licences::run(workspace).map(|()| Outcome::Done))?;
    steps.run("clippy", || {
        tool(workspace.cargo().args(["clippy", "--version"]), "clippy", || {
            // In release, where build scripts and macros are built already.
            let lint = ["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"];
            call(workspace.cargo().args(lint))
        })
    })?;
    if workspace.corpus().is_none() {
        println!("==> corpus tests: skipped, no ../shared");
    }
    let mut tests = Tally::default();
    steps.run("tests", || {
        tests = runner::run(workspace, if wanted.quick { "dev" } else { "release" })?;
        tests.ended().map(|()| Outcome::Done)
    })?;
    steps.add(tests);
    if wanted.quick {
        println!("==> --quick: no release build, no pages, no Python package, no instruction counts");
    } else {
        steps.run("release build", || workspace.release_binary().map(|_| Outcome::Done))?;
        steps.run("one world", || world::run(workspace))?;
        steps.run("pages", || pages::run(workspace))?;
        steps.run("instruction counts", || instructions::run(workspace, false))?;
        python_steps(workspace, wanted.torch, &mut steps)?;
    }
    steps.close();
    Ok(())
}

/// `cargo xtask python`
pub(crate) fn python(workspace: &Workspace, torch: bool) -> Result<()> {
    let mut steps = Steps::default();
    python_steps(workspace, torch, &mut steps)?;
    steps.close();
    Ok(())
}

fn python_steps(workspace: &Workspace, torch: bool, steps: &mut Steps) -> Result<()> {
    let mut built = None;
    steps.run("wheel", || {
        built = Some(Python::build(workspace)?);
        Ok(Outcome::Done)
    })?;
    let Some(python) = built else { return Ok(()) };
    steps.run("Python tests", || python.test().map(|()| Outcome::Done))?;
    steps.run("Python lint and types", || python.lint().map(|()| Outcome::Done))?;
    if torch {
        steps.run("Python tests with PyTorch", || python.test_live())?;
    } else {
        println!("==> no --torch: nothing is recorded with PyTorch");
    }
    Ok(())
}

fn tool(probe: &mut Command, name: &str, then: impl FnOnce() -> Result<()>) -> Result<Outcome> {
    if !works(probe) {
        return Ok(Outcome::Skipped(format!("{name} is not installed (`rustup component add {name}`)")));
    }
    then().map(|()| Outcome::Done)
}
