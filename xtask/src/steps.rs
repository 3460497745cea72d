//! Announces steps, times them, and runs programs so that a failure says which program and how.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

/// How a step ended when it did not fail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// Not run, and why: repeated at the end, so that a skipped check is never mistaken for a passed one.
    Skipped(String),
}

/// How tests ended.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    /// Seconds and names.
    pub(crate) took: Vec<(f64, String)>,
}

impl Tally {
    /// Failed tests fail the step; what each was is said already.
    pub(crate) fn ended(&self) -> Result<()> {
        ensure!(self.failed == 0, "{} tests failed; what they said is above", self.failed);
        Ok(())
    }

    fn slowest(&self) -> impl Iterator<Item = &(f64, String)> {
        let mut took: Vec<_> = self.took.iter().collect();
        took.sort_by(|a, b| b.0.total_cmp(&a.0));
        took.into_iter().take(5)
    }
}

/// A run of named steps; the first failure ends it.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    skipped: Vec<String>,
    /// Those that are done, with their seconds.
    took: Vec<(f64, String)>,
    tests: Tally,
}

impl Steps {
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> Result<Outcome>) -> Result<()> {
        println!("==> {name}");
        let start = Instant::now();
        let outcome = step().with_context(|| format!("{name} failed"))?;
        let seconds = start.elapsed().as_secs_f64();
        match outcome {
            Outcome::Done => {
                println!("    {name}: ok, {seconds:.1} s");
                self.took.push((seconds, name.to_owned()));
            }
            Outcome::Skipped(reason) => {
                println!("    {name}: SKIPPED, {reason}");
                self.skipped.push(format!("{name} ({reason})"));
            }
        }
        Ok(())
    }

    /// The tests of one step, for the last lines.
    pub(crate) fn add(&mut self, tests: Tally) {
        self.tests.passed += tests.passed;
        self.tests.failed += tests.failed;
        self.tests.skipped += tests.skipped;
        self.tests.took.extend(tests.took);
    }

    /// The last lines of a run without failures.
    pub(crate) fn close(&self) {
        println!("==> seconds by step");
        for (seconds, name) in &self.took {
            println!("    {seconds:7.1}  {name}");
        }
        if !self.tests.took.is_empty() {
            println!("==> the slowest tests");
        }
        for (seconds, name) in self.tests.slowest() {
            println!("    {seconds:7.1}  {name}");
        }
        for skipped in &self.skipped {
            println!("==> SKIPPED: {skipped}");
        }
        println!("==> {} steps ok, {} skipped", self.took.len(), self.skipped.len());
        let Tally { passed, failed, skipped, .. } = &self.tests;
        if passed + failed + skipped > 0 {
            println!("tests: {passed} passed, {failed} failed, {skipped} skipped");
        }
    }
}

/// Runs a program with its output going to the terminal.
pub(crate) fn call(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {}", line(command)))?;
    ensure!(status.success(), "`{}` ended with {status}", line(command));
    Ok(())
}

/// Runs a program and returns what it wrote to standard output; its standard error is part of the failure.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {}", line(command)))?;
    ensure!(
        output.status.success(),
        "`{}` ended with {}: {}",
        line(command),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    String::from_utf8(output.stdout).with_context(|| format!("`{}` wrote what is not UTF-8", line(command)))
}

/// Whether a program starts and says it is well, such as `valgrind --version`.
pub(crate) fn works(command: &mut Command) -> bool {
    command.output().is_ok_and(|o| o.status.success())
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Steps, Tally, call, capture, works};
    use std::process::Command;

    #[test]
    fn a_failing_program_is_named() {
        let error = call(Command::new("false").arg("x")).unwrap_err().to_string();
        assert!(error.contains("false x"), "{error}");
        assert!(!works(Command::new("no-such-program-anywhere").arg("--version")));
        assert_eq!(capture(Command::new("echo").arg("hi")).unwrap(), "hi\n");
    }

    #[test]
    fn the_slowest_tests_are_named_and_failed_ones_fail() {
        let took = (0..8).map(|i| (f64::from(i), format!("test {i}"))).collect();
        let mut tally = Tally { passed: 8, took, ..Tally::default() };
        let names: Vec<&str> = tally.slowest().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["test 7", "test 6", "test 5", "test 4", "test 3"]);
        assert!(tally.ended().is_ok());
        tally.failed = 1;
        assert!(tally.ended().is_err());
    }

    #[test]
    fn a_failure_carries_the_step_and_a_skip_is_not_a_pass() {
        let mut steps = Steps::default();
        steps.run("one", || Ok(Outcome::Done)).unwrap();
        steps.run("two", || Ok(Outcome::Skipped("no tool".to_owned()))).unwrap();
        let error = steps.run("three", || anyhow::bail!("broken")).unwrap_err();
        assert_eq!(format!("{error:#}"), "three failed: broken");
        assert_eq!((steps.took.len(), steps.skipped.len()), (1, 1));
    }
}
