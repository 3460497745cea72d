//! What a program costs: CPU seconds (user + system), wall seconds and peak memory.
//!
//! A small process of its own starts the program and waits for it, for two reasons: the operating system adds up
//! the children of a process, so a fresh process has exactly one; and on Linux a program's peak memory starts
//! from that of the process that forked it, so that process must be small.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) cpu_s: f64,
    pub(crate) wall_s: f64,
    pub(crate) rss_bytes: u64,
}

impl Cost {
    /// The better of two runs of the same thing. Memory is not noise: the larger one stays.
    pub(crate) fn best(self, other: Self) -> Self {
        Self {
            cpu_s: self.cpu_s.min(other.cpu_s),
            wall_s: self.wall_s.min(other.wall_s),
            rss_bytes: self.rss_bytes.max(other.rss_bytes),
        }
    }
}

/// Runs a command line and returns what it cost and what it wrote to standard output.
pub(crate) fn run(command: &[String]) -> Result<(Cost, String)> {
    let report = tempfile::NamedTempFile::new().context("no temporary file")?;
    let output = Command::new(std::env::current_exe()?)
        .arg("measure")
        .arg(report.path())
        .args(command)
        .output()
        .context("cannot start the measuring process")?;
    ensure!(
        output.status.success(),
        "`{}` ended with {}: {}",
        command.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let cost = serde_json::from_slice(&std::fs::read(report.path())?).context("reading the measurement")?;
    Ok((cost, String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// The measuring process: `xtask measure REPORT PROGRAM ARGUMENTS…`.
pub(crate) fn child(args: &[String]) -> Result<ExitCode> {
    let [report, program, rest @ ..] = args else { bail!("measure REPORT PROGRAM ARGUMENTS") };
    let start = Instant::now();
    let status =
        Command::new(program).args(rest).status().with_context(|| format!("cannot run {program}"))?;
    let wall_s = start.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let cpu_us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    // Kilobytes, but for macOS, which counts bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    let cost = Cost { cpu_s: cpu_us as f64 / 1e6, wall_s, rss_bytes: usage.max_rss() as u64 * unit };
    std::fs::write(Path::new(report), serde_json::to_vec(&cost)?)?;
    Ok(status.code().and_then(|c| u8::try_from(c).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

#[cfg(test)]
mod tests {
    use super::{Cost, child};

    #[test]
    fn a_program_is_measured_and_its_exit_code_kept() {
        let report = tempfile::NamedTempFile::new().unwrap();
        let path = report.path().to_string_lossy().into_owned();
        let words = |script: &str| vec![path.clone(), "sh".to_owned(), "-c".to_owned(), script.to_owned()];
        let code = child(&words("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3")).unwrap();
        assert_eq!(format!("{code:?}"), format!("{:?}", std::process::ExitCode::from(3)));
        let cost: Cost = serde_json::from_slice(&std::fs::read(report.path()).unwrap()).unwrap();
        assert!(cost.cpu_s > 0.0 && cost.wall_s > 0.0 && cost.rss_bytes > 100_000, "{cost:?}");
        assert!(child(std::slice::from_ref(&path)).is_err());
        assert!(child(&[path, "no-such-program-anywhere".to_owned()]).is_err());
    }

    #[test]
    fn the_best_of_two_runs() {
        let a = Cost { cpu_s: 1.0, wall_s: 4.0, rss_bytes: 10 };
        let b = Cost { cpu_s: 2.0, wall_s: 3.0, rss_bytes: 20 };
        assert_eq!(a.best(b), Cost { cpu_s: 1.0, wall_s: 3.0, rss_bytes: 20 });
    }
}
