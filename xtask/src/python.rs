//! The Python package: its wheel built and installed as users get it, then its own checks in a clean environment; with
//! `--torch` also those that need a real torch.
//!
//! Environments lie in the cache and never in the repository. Tools stay; the environment that the wheel is tried in is
//! made anew each time.

pub(crate) mod bench;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::browser::{Browser, Found};
use crate::steps::{Outcome, call, capture};
use crate::workspace::{self, Workspace};

/// What builds and checks the package.
const TOOLS: [&str; 4] = ["uv==0.13.7", "maturin==1.16.0", "mypy==2.4.1", "ruff==0.17.4"];
/// What the tests use beside the wheel and its extras.
const TRIED_WITH: [&str; 6] =
    ["pytest", "pytest-timeout", "nbclient", "ipykernel", "mcp>=2", "schemathesis>=4"];
const TORCH: &str = "torch==2.15.0";
/// What `pip install gpuscope` may fetch.
const LARGEST_WHEEL: u64 = 25_000_000;

#[derive(Debug)]
pub(crate) struct Python<'w> {
    workspace: &'w Workspace,
    tools: PathBuf,
    wheel: PathBuf,
}

impl<'w> Python<'w> {
    /// Installs the tools that are not there yet, and builds the wheel.
    pub(crate) fn build(workspace: &'w Workspace) -> Result<Python<'w>> {
        let tools = environment("tools", &TOOLS, |python| {
            call(pip(python).args(TOOLS)).context("installing what builds the Python package")
        })?;
        let folder = workspace.target_folder()?.join("wheels");
        // Wheels of other versions are not ours to test.
        let _ = std::fs::remove_dir_all(&folder);
        let mut build = Command::new(tools.join("bin").join("maturin"));
        build.current_dir(&workspace.root);
        build.args(["build", "--release", "--locked", "--out"]).arg(&folder);
        call(&mut build)?;
        let wheel = std::fs::read_dir(&folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.extension().is_some_and(|extension| extension == "whl"));
        let wheel = wheel.with_context(|| format!("maturin left no wheel in {}", folder.display()))?;
        let bytes = std::fs::metadata(&wheel)?.len();
        println!("    {}: {:.1} MB", wheel.display(), bytes as f64 / 1e6);
        ensure!(bytes <= LARGEST_WHEEL, "the wheel has {bytes} bytes; {LARGEST_WHEEL} is the most");
        Ok(Python { workspace, tools, wheel })
    }

    /// Format, lint and types.
    pub(crate) fn lint(&self) -> Result<()> {
        let tool = |name: &str| {
            let mut command = Command::new(self.tools.join("bin").join(name));
            command.current_dir(&self.workspace.root);
            command
        };
        call(tool("ruff").args(["format", "--check", "python", "examples"]))
            .context("some files are not formatted; `ruff format python examples` does it")?;
        call(tool("ruff").args(["check", "python", "examples"]))?;
        // With nothing but the package: libraries that are only used where somebody has them count as unknown.
        let bare = self.tools.join("bin").join("python");
        call(tool("mypy").arg("--python-executable").arg(&bare))?;
        match Browser::find(&self.workspace.root.join("web"))? {
            Found::Ready(browser) => {
                let mut pyright = browser.package("pyright/index.js");
                pyright.current_dir(&self.workspace.root).arg("--pythonpath").arg(&bare);
                call(&mut pyright)
            }
            Found::Missing(reason) => {
                println!("    pyright: SKIPPED, {reason}");
                Ok(())
            }
        }
    }

    /// The tests, in an environment that holds the wheel, what it can hand data to, and nothing else.
    pub(crate) fn test(&self) -> Result<()> {
        self.install()?;
        let python = self.clean_python();
        let tests = self.workspace.root.join("python").join("tests");
        let mut pytest = self.pytest(&python, &self.clean());
        call(pytest.arg("--ignore").arg(tests.join("live")).arg(&tests))?;
        let mut doctests = self.pytest(&python, &self.clean());
        call(doctests.args(["--doctest-modules", "--pyargs", "gpuscope"]))
    }

    /// The tests that need torch, which takes minutes to install once.
    pub(crate) fn test_live(&self) -> Result<Outcome> {
        let uv = self.tools.join("bin").join("uv");
        let wanted = [TORCH, "numpy", "pytest", "pytest-timeout"];
        let folder = environment(&TORCH.replace("==", "-"), &wanted, |python| {
            println!("    installing {TORCH}: some minutes, once");
            let mut install = Command::new(&uv);
            call(install.args(["pip", "install", "--quiet", "--python"]).arg(python).args(wanted))
        })?;
        let python = folder.join("bin").join("python");
        let mut install = self.uv();
        install.args(["pip", "install", "--quiet", "--reinstall", "--python"]).arg(&python);
        call(install.arg(format!("{}[pandas,plot]", self.wheel.display())))?;
        call(
            self.pytest(&python, &folder).arg(self.workspace.root.join("python").join("tests").join("live")),
        )?;
        Ok(Outcome::Done)
    }

    /// Into an environment that is made for it.
    fn install(&self) -> Result<()> {
        let _ = std::fs::remove_dir_all(self.clean());
        call(self.uv().args(["venv", "--quiet", "--python", "python3"]).arg(self.clean()))?;
        let wheel = format!("{}[all]", self.wheel.display());
        let mut install = self.uv();
        install.args(["pip", "install", "--quiet", "--python"]).arg(self.clean_python());
        call(install.arg(wheel).args(TRIED_WITH))
    }

    fn clean(&self) -> PathBuf {
        self.tools.with_file_name("clean")
    }

    fn clean_python(&self) -> PathBuf {
        self.clean().join("bin").join("python")
    }

    fn uv(&self) -> Command {
        Command::new(self.tools.join("bin").join("uv"))
    }

    /// Away from the sources, so that what is tested is what was installed.
    fn pytest(&self, python: &Path, folder: &Path) -> Command {
        let mut command = Command::new(python);
        command.current_dir(folder);
        command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir"]).arg(&self.workspace.root);
        command.arg("-c").arg(self.workspace.root.join("pyproject.toml"));
        // A test that hangs is stopped and named.
        command.args(["--timeout", "300", "--durations", "5", "--durations-min", "1"]);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        if let Some(corpus) = self.workspace.corpus() {
            command.env("GPUSCOPE_CORPUS", corpus);
        }
        command
    }
}

/// A folder of the cache with an interpreter, filled on first use and again when the list changes.
fn environment(name: &str, wanted: &[&str], fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let folder = workspace::cache()?.join("venvs").join(name);
    let python = folder.join("bin").join("python");
    let stamp = folder.join("packages.txt");
    let wanted = wanted.join("\n");
    if python.exists() && std::fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return Ok(folder);
    }
    println!("    making a Python environment in {}", folder.display());
    capture(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))
        .context("making a Python environment (on Debian, `apt-get install python3-venv` may be missing)")?;
    fill(&python)?;
    std::fs::write(&stamp, wanted)?;
    Ok(folder)
}

fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}
