//! A browser and what drives it: Chromium of the system, and npm packages in the cache and never in the repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{steps, workspace};

/// The packages are looked for in this folder of the cache.
const FOLDER: &str = "web";
const LISTS: [&str; 2] = ["package.json", "package-lock.json"];
const BROWSERS: [&str; 2] = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];
/// The oldest whose test runner and `playwright-core` work.
const NODE: u32 = 20;

#[derive(Debug)]
pub(crate) struct Browser {
    tools: PathBuf,
    chromium: PathBuf,
}

#[derive(Debug)]
pub(crate) enum Found {
    Ready(Browser),
    /// What could not be had, and why.
    Missing(String),
}

impl Browser {
    /// Installs what is not there yet.
    pub(crate) fn find(web: &Path) -> Result<Found> {
        let version = steps::capture(Command::new("node").arg("--version"));
        if version.as_deref().ok().and_then(major).is_none_or(|major| major < NODE) {
            return Ok(Found::Missing(format!("node {NODE} or newer is not installed")));
        }
        let tools = workspace::cache()?.join(FOLDER);
        if let Err(error) = install(web, &tools) {
            return Ok(Found::Missing(format!("npm cannot install the packages of web/: {error:#}")));
        }
        let Some(chromium) = chromium().or_else(|| apt().and_then(|()| chromium())) else {
            return Ok(Found::Missing("Chromium is not installed (`apt-get install chromium`)".to_owned()));
        };
        Ok(Found::Ready(Browser { tools, chromium }))
    }

    /// A program of one of the packages.
    pub(crate) fn package(&self, program: &str) -> Command {
        let mut command = Command::new("node");
        command.arg(self.tools.join("node_modules").join(program));
        command
    }

    /// Node with what scripts of `web/tests` ask of their environment.
    pub(crate) fn script(&self, binary: &Path) -> Command {
        let mut command = Command::new("node");
        command
            .env("GPUSCOPE", binary)
            .env("GPUSCOPE_CHROMIUM", &self.chromium)
            .env("GPUSCOPE_PAGES_TOOLS", &self.tools);
        command
    }
}

/// `v20.20.2`
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// On first use, and again when the lists change.
fn install(web: &Path, tools: &Path) -> Result<()> {
    let wanted: Vec<String> = LISTS
        .iter()
        .map(|list| std::fs::read_to_string(web.join(list)).with_context(|| format!("reading web/{list}")))
        .collect::<Result<_>>()?;
    let stamp = tools.join("packages.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|have| have == wanted.concat()) {
        return Ok(());
    }
    println!("    installing npm packages in {}", tools.display());
    std::fs::create_dir_all(tools)?;
    for (list, text) in LISTS.iter().zip(&wanted) {
        std::fs::write(tools.join(list), text)?;
    }
    let words = ["ci", "--no-audit", "--no-fund", "--ignore-scripts"];
    steps::capture(Command::new("npm").current_dir(tools).args(words))?;
    std::fs::write(&stamp, wanted.concat())?;
    Ok(())
}

fn chromium() -> Option<PathBuf> {
    BROWSERS.iter().map(PathBuf::from).find(|path| path.is_file())
}

/// Debian's own package; only the administrator may install it.
fn apt() -> Option<()> {
    if !nix::unistd::Uid::effective().is_root() {
        return None;
    }
    println!("    installing Chromium");
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive");
    install.args(["install", "-y", "--no-install-recommends", "chromium"]);
    let installed = steps::capture(&mut install);
    if let Err(error) = &installed {
        println!("    {error:#}");
    }
    installed.ok().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::{install, major};

    #[test]
    fn versions_of_node() {
        assert_eq!(major("v20.20.2\n"), Some(20));
        assert_eq!((major("20"), major("vx.1")), (None, None));
    }

    #[test]
    fn packages_that_are_there_are_not_installed_again() {
        let folder = tempfile::tempdir().unwrap();
        let (web, tools) = (folder.path().join("web"), folder.path().join("tools"));
        for folder in [&web, &tools] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(web.join("package.json"), "{").unwrap();
        assert!(format!("{:#}", install(&web, &tools).unwrap_err()).contains("package-lock.json"));
        std::fs::write(web.join("package-lock.json"), "}").unwrap();
        std::fs::write(tools.join("packages.txt"), "{}").unwrap();
        install(&web, &tools).unwrap();
        assert!(!tools.join("package.json").exists(), "npm was not asked");
    }
}
