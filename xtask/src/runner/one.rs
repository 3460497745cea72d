//! One test as a process that is watched.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// A test that cannot run on this machine passes, and begins a line with this.
const SKIPPED: &str = "skipped: ";

#[derive(Debug)]
pub(super) struct Ran {
    pub(super) took: Duration,
    pub(super) ended: Ended,
    /// What it printed.
    pub(super) output: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Passed,
    /// Why.
    Skipped(String),
    /// How.
    Failed(String),
}

pub(super) fn run(mut command: Command, limit: Duration) -> Result<Ran> {
    let begun = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().context("cannot be started")?;
    let readers = [reader(child.stdout.take()), reader(child.stderr.take())];
    let status = wait(&mut child, begun + limit)?;
    // What it started and did not end goes with it, and would otherwise hold its pipes open.
    let group = Pid::from_raw(child.id().cast_signed());
    let _ = killpg(group, Signal::SIGKILL);
    if status.is_none() {
        child.wait()?;
    }
    let took = begun.elapsed();
    let output: String = readers.into_iter().map(|reader| reader.join().unwrap_or_default()).collect();
    let ended = match status {
        None => Ended::Failed(format!("stopped after {} s, the limit of a test", limit.as_secs_f64())),
        Some(status) if !status.success() => Ended::Failed(status.to_string()),
        Some(_) => reason(&output).map_or(Ended::Passed, |reason| Ended::Skipped(reason.to_owned())),
    };
    Ok(Ran { took, ended, output })
}

/// None if it still ran at its end.
fn wait(child: &mut Child, end: Instant) -> Result<Option<ExitStatus>> {
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn reader(stream: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn reason(output: &str) -> Option<&str> {
    output.lines().find_map(|line| line.strip_prefix(SKIPPED))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, limit).unwrap()
    }

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn what_passes_fails_and_skips() {
        assert_eq!(shell("echo fine", LONG).ended, Ended::Passed);
        assert_eq!(shell("echo 'skipped: no GPU'", LONG).ended, Ended::Skipped("no GPU".to_owned()));
        let failed = shell("echo why >&2; echo 'skipped: x'; exit 101", LONG);
        assert_eq!(failed.ended, Ended::Failed("exit status: 101".to_owned()));
        assert!(failed.output.contains("why"));
    }

    #[test]
    fn a_test_that_hangs_is_stopped() {
        let ran = shell("echo begun; sleep 1000", Duration::from_millis(300));
        assert!(matches!(&ran.ended, Ended::Failed(how) if how.contains("0.3 s")), "{ran:?}");
        assert!(ran.output.contains("begun") && ran.took < LONG);
    }

    /// A shell in the background ignores SIGINT, so that what it starts can ignore it, too.
    #[test]
    fn what_a_test_leaves_running_ends_with_it() {
        let ran = shell("(trap '' INT TERM; exec sleep 1000) & echo $!", LONG);
        assert_eq!(ran.ended, Ended::Passed);
        let left = Pid::from_raw(ran.output.trim().parse().unwrap());
        // It is gone as soon as whoever inherits it has looked.
        let gone = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            let stat = std::fs::read_to_string(format!("/proc/{left}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z "))
        });
        assert!(gone, "{left} still runs");
    }
}
