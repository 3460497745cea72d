//! A Python environment with the tools we measure ourselves against, in the cache and never in the repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::steps;

/// HTA does not declare psutil and pyyaml, but imports them.
const PEERS: [&str; 4] = ["orjson", "HolisticTraceAnalysis==0.5.0", "psutil", "pyyaml"];

/// The Python of an environment below `cache` that has the peers; made on first use, and again when the list changes.
pub(crate) fn python(cache: &Path) -> Result<PathBuf> {
    let folder = cache.join("venv-bench");
    let python = folder.join("bin").join("python");
    let stamp = folder.join("packages.txt");
    let wanted = PEERS.join("\n");
    if python.exists() && std::fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return Ok(python);
    }
    println!("    making a Python environment in {}", folder.display());
    steps::capture(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))
        .context("making a Python environment (on Debian, `apt-get install python3-venv` may be missing)")?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PEERS);
    steps::capture(&mut install).context("installing the peers; `--no-peers` measures without them")?;
    std::fs::write(&stamp, wanted)?;
    Ok(python)
}
