//! The developers' commands: `cargo xtask COMMAND`.
//!
//! They are a program of the workspace rather than scripts, so that a machine with Rust and Python is enough to
//! run everything CI runs, and so that the checks themselves have tests. One module is one command; what several
//! share lives in `args`, `steps`, `workspace` and `measure`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these commands talk to a developer's terminal"
)]

mod args;
mod bench;
mod browser;
mod columns;
mod conformance;
mod house;
mod instructions;
mod licences;
mod measure;
mod pages;
mod python;
mod questions;
mod runner;
mod size;
mod steps;
mod test;
mod venv;
mod workspace;
mod world;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use args::Args;
use steps::Outcome;
use workspace::Workspace;

const USAGE: &str = "\
cargo xtask COMMAND

  test [--quick] [--torch]   everything CI checks; --quick leaves out the release build and what needs it, --torch adds
                             what needs PyTorch (5.5 GB in the cache)
  python [--torch]           the Python package alone: its wheel, types and tests
  licences                   licences of all dependencies against the list of permissive ones
  house                      text rules over the files of the repository
  instructions [--bless]     instruction counts under callgrind against bench/instructions.json
  columns                    writes docs/columns.md anew from what the tables say of themselves
  conformance                the release build against ../shared/oracle
  pages                      the pages in a headless Chromium, and the types of web/
  pages-bench                what pages of millions of events cost the browser, also part of bench
  exports-bench              reading an export of Nsight Systems beside a bare pass over it, also part of bench
  python-bench               what loading a trace from Python costs beside HTA, also part of bench
  questions [--large] [--rounds 3]
                             CPU time of every question beside reading; updates BENCHMARKS.md. --large adds 10 M
                             events: 3 GB of text
  bench [--size 240MB,1GB] [--quick] [--no-peers]
                             times, memory and ratios; updates BENCHMARKS.md (not with --quick)
";

fn main() -> ExitCode {
    if let Err(error) = give_children_ctrl_c() {
        eprintln!("xtask: {error:#}; tests that send SIGINT may fail");
    }
    let mut args = Args::from_env();
    match run(&mut args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A shell makes its background jobs ignore SIGINT, and every program that they start inherits that; a test that sends
/// SIGINT would wait forever. A signal that is caught goes back to its default in a started program, so it is caught here,
/// and nothing is done about it.
fn give_children_ctrl_c() -> Result<()> {
    const SIGINT: i32 = signal_hook::consts::SIGINT;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    if ignored.is_some_and(|ignored| (ignored >> (SIGINT - 1)) & 1 == 1) {
        signal_hook::flag::register(SIGINT, Arc::default())?;
    }
    Ok(())
}

fn run(args: &mut Args) -> Result<ExitCode> {
    let Some(command) = args.command() else {
        eprint!("{USAGE}");
        return Ok(ExitCode::from(2));
    };
    if command == "measure" {
        return measure::child(&args.rest());
    }
    let workspace = Workspace::find()?;
    match command.as_str() {
        "test" => {
            let wanted = test::Wanted { quick: args.flag("--quick"), torch: args.flag("--torch") };
            args.finish()?;
            test::run(&workspace, wanted)?;
        }
        "python" => {
            let torch = args.flag("--torch");
            args.finish()?;
            test::python(&workspace, torch)?;
        }
        "licences" => {
            args.finish()?;
            licences::run(&workspace)?;
        }
        "house" => {
            args.finish()?;
            say(house::run(&workspace)?);
        }
        "instructions" => {
            let bless = args.flag("--bless");
            args.finish()?;
            say(instructions::run(&workspace, bless)?);
        }
        "columns" => {
            args.finish()?;
            columns::run(&workspace)?;
        }
        "conformance" => {
            args.finish()?;
            conformance::run(&workspace)?;
        }
        "pages" => {
            args.finish()?;
            say(pages::run(&workspace)?);
        }
        "pages-bench" => {
            args.finish()?;
            say(pages::bench::run(&workspace)?);
        }
        "exports-bench" => {
            args.finish()?;
            bench::exports::run(&workspace)?;
        }
        "python-bench" => {
            args.finish()?;
            say(python::bench::run(&workspace)?);
        }
        "questions" => {
            let options = questions::Options::read(args)?;
            args.finish()?;
            questions::run(&workspace, &options)?;
        }
        "bench" => {
            let options = bench::Options::read(args)?;
            args.finish()?;
            bench::run(&workspace, &options)?;
            bench::exports::run(&workspace)?;
            say(pages::bench::run(&workspace)?);
            say(python::bench::run(&workspace)?);
        }
        "help" | "--help" | "-h" => print!("{USAGE}"),
        other => bail!("no command `{other}`; `cargo xtask help` lists them"),
    }
    Ok(ExitCode::SUCCESS)
}

/// A check that could not run must not look like one that passed.
fn say(outcome: Outcome) {
    if let Outcome::Skipped(reason) = outcome {
        println!("SKIPPED: {reason}");
    }
}
