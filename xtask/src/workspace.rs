//! Where things are: the repository, its target folder, the corpus beside it, the release binary, the cache.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::steps;

#[derive(Debug)]
pub(crate) struct Workspace {
    /// The repository's folder.
    pub(crate) root: PathBuf,
    /// `cargo metadata` of the workspace with all its dependencies.
    pub(crate) metadata: Value,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self> {
        // From the current folder, not from the one this was compiled in: clones may share a target folder.
        let output = Command::new(cargo())
            .args(["metadata", "--format-version", "1"])
            .output()
            .context("cannot run cargo metadata")?;
        ensure!(
            output.status.success(),
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        let metadata: Value = serde_json::from_slice(&output.stdout).context("reading cargo metadata")?;
        let root = metadata["workspace_root"].as_str().context("cargo metadata names no workspace_root")?;
        Ok(Self { root: root.into(), metadata })
    }

    /// The corpus of real traces and expected answers beside the repository, if this machine has it.
    pub(crate) fn corpus(&self) -> Option<PathBuf> {
        let folder = self.root.parent()?.join("shared");
        folder.join("traces").is_dir().then_some(folder)
    }

    /// Builds the command line as `cargo run --release` does and returns its path. Cargo does nothing if it is built already.
    pub(crate) fn release_binary(&self) -> Result<PathBuf> {
        steps::call(self.cargo().args(["build", "--release", "--bin", "gpuscope"]))?;
        let binary = self.release_folder()?.join(format!("gpuscope{}", std::env::consts::EXE_SUFFIX));
        ensure!(
            binary.is_file(),
            "cargo built no {}; is the binary of crates/cli still called gpuscope?",
            binary.display()
        );
        Ok(binary)
    }

    /// Builds the program that tells what every question costs (`crates/analysis/examples/cost.rs`).
    pub(crate) fn cost_example(&self) -> Result<PathBuf> {
        let example = ["build", "--release", "--package", "gpuscope-analysis", "--example", "cost"];
        steps::call(self.cargo().args(example))?;
        let example = format!("examples/cost{}", std::env::consts::EXE_SUFFIX);
        Ok(self.release_folder()?.join(example))
    }

    /// Runs a build and returns all that it consists of, whether it was compiled now or before.
    pub(crate) fn build(&self, words: &[&str]) -> Result<Vec<Artifact>> {
        let mut command = self.cargo();
        command.args(words).arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
        let output = command.output().context("cannot run cargo")?;
        ensure!(output.status.success(), "`cargo {}` ended with {}", words.join(" "), output.status);
        let text = String::from_utf8(output.stdout).context("reading what cargo built")?;
        let messages = text.lines().map(serde_json::from_str);
        let messages: Vec<Value> = messages.collect::<Result<_, _>>().context("reading what cargo built")?;
        Ok(messages.iter().filter_map(Artifact::of).collect())
    }

    fn release_folder(&self) -> Result<PathBuf> {
        Ok(self.target_folder()?.join("release"))
    }

    pub(crate) fn target_folder(&self) -> Result<PathBuf> {
        let target = self.metadata["target_directory"].as_str();
        Ok(Path::new(target.context("cargo metadata names no target_directory")?).to_owned())
    }

    /// Cargo, in the repository's folder.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(cargo());
        command.current_dir(&self.root);
        command
    }
}

/// One thing that cargo compiled.
#[derive(Debug)]
pub(crate) struct Artifact {
    /// Name and version.
    pub(crate) id: String,
    pub(crate) package: String,
    pub(crate) target: String,
    pub(crate) kind: String,
    /// Where the crate lies.
    pub(crate) folder: PathBuf,
    pub(crate) opt_level: String,
    pub(crate) is_test: bool,
    pub(crate) executable: Option<PathBuf>,
    pub(crate) files: Vec<String>,
}

impl Artifact {
    fn of(message: &Value) -> Option<Artifact> {
        if message["reason"] != "compiler-artifact" {
            return None;
        }
        let text = |value: &Value| Some(value.as_str()?.to_owned());
        let id = text(&message["package_id"])?;
        // `…/crates/cli#gpuscope-cli@0.1.0`, or with the version alone where the folder has the package's name.
        let (place, name) = id.rsplit_once('#')?;
        let name = name.split_once('@').map_or(place.rsplit('/').next()?, |(name, _)| name);
        Some(Artifact {
            package: name.to_owned(),
            target: text(&message["target"]["name"])?,
            kind: text(&message["target"]["kind"][0])?,
            folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
            opt_level: text(&message["profile"]["opt_level"])?,
            is_test: message["profile"]["test"].as_bool()?,
            executable: message["executable"].as_str().map(PathBuf::from),
            files: message["filenames"].as_array()?.iter().filter_map(text).collect(),
            id,
        })
    }
}

/// The cargo that runs us, so that one toolchain does everything.
fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// A folder outside the repository for what is slow to make and safe to lose: `$XDG_CACHE_HOME/gpuscope`.
pub(crate) fn cache() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base =
        set("XDG_CACHE_HOME").filter(|p| p.is_absolute()).or_else(|| Some(set("HOME")?.join(".cache")));
    let Some(base) = base else { bail!("neither XDG_CACHE_HOME nor HOME is set: no place for cached files") };
    let folder = base.join("gpuscope");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}
