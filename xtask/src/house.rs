//! `cargo xtask house`: rules about the text of the repository that no compiler knows.
//!
//! Nothing may depend on one developer's machine or name a registry's hosts, the corpus is only for tests and
//! developers' commands, and unfinished code does not land. The forbidden texts are joined at compile time from
//! two halves, so that this file does not break its own rules.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::steps::{self, Outcome};
use crate::workspace::Workspace;

/// Paths that exist only on the machine where they were typed.
const MACHINE_PATHS: [&str; 3] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/bash", "_jobs")];
const HOME: &str = concat!("/ho", "me/");

/// The corpus beside the repository, which a fresh clone does not have.
const CORPUS: &str = concat!("../sha", "red");

/// Hosts of package registries: clients know their registry, and mirrors have other names.
const HOSTS: [&str; 9] = [
    concat!("index.cra", "tes.io"),
    concat!("static.cra", "tes.io"),
    concat!("pypi", ".org"),
    concat!("files.python", "hosted.org"),
    concat!("registry.npm", "js.org"),
    concat!("registry.yarn", "pkg.com"),
    concat!("deb.deb", "ian.org"),
    concat!("security.deb", "ian.org"),
    concat!("archive.ubu", "ntu.com"),
];

const UNFINISHED: [&str; 3] = [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("dbg", "!(")];

pub(crate) fn run(workspace: &Workspace) -> Result<Outcome> {
    if !workspace.root.join(".git").exists() || !steps::works(Command::new("git").arg("--version")) {
        return Ok(Outcome::Skipped("not a git clone, or git is not installed".to_owned()));
    }
    // New files count too, so that the rule speaks up before the commit.
    let mut list = Command::new("git");
    list.current_dir(&workspace.root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let (mut files, mut faults) = (0, Vec::new());
    for path in steps::capture(&mut list)?.split_terminator('\0') {
        // A file that is deleted but not yet committed is still listed; one that is not UTF-8 is not text.
        let Ok(text) = std::fs::read_to_string(workspace.root.join(path)) else { continue };
        files += 1;
        faults.extend(check(path, &text));
    }
    if faults.is_empty() {
        println!("    {files} text files keep the house rules");
        return Ok(Outcome::Done);
    }
    bail!("{} places break a house rule:\n  {}", faults.len(), faults.join("\n  "))
}

/// What is wrong in one file, each as `path:line: what, and what to do`.
fn check(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut fault = |what: String| faults.push(format!("{path}:{number}: {what}"));
        if let Some(found) = machine_path(line) {
            fault(format!(
                "`{found}` is a path of one machine; make it relative or take it from the environment"
            ));
        }
        if line.contains(CORPUS) && !may_name_corpus(path) {
            fault(format!("`{CORPUS}` is not in a clone; only tests, xtask and .ci/run may name it"));
        }
        if path != "Cargo.lock"
            && let Some(host) = HOSTS.iter().find(|h| line.contains(*h))
        {
            fault(format!(
                "`{host}` is a registry's host; name the package and leave the host to its client"
            ));
        }
        if Path::new(path).extension().is_some_and(|e| e == "rs")
            && let Some(found) = UNFINISHED.iter().find(|u| line.contains(*u))
        {
            fault(format!("`{found}` is unfinished; finish it or return an error"));
        }
    }
    faults
}

fn machine_path(line: &str) -> Option<&str> {
    let starts = |at: usize| {
        // `a/home/b` and `https://x/root/` are not absolute paths of a machine.
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "_-./}~".contains(c)))
    };
    let fixed = MACHINE_PATHS.iter().flat_map(|p| line.match_indices(p)).find(|(at, _)| starts(*at));
    let home = || {
        line.match_indices(HOME).find(|(at, _)| {
            starts(*at) && line[at + HOME.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    };
    fixed.or_else(home).map(|(_, found)| found)
}

fn may_name_corpus(path: &str) -> bool {
    let mut parts = path.split('/');
    match parts.next() {
        Some("xtask") => true,
        Some(".ci") => path == ".ci/run",
        Some("crates") => parts.nth(1) == Some("tests"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{CORPUS, HOME, HOSTS, MACHINE_PATHS, UNFINISHED, check};

    #[test]
    fn machine_paths_are_found_where_a_path_begins() {
        for start in MACHINE_PATHS {
            assert_eq!(check("README.md", &format!("ok\nsee {start}x\n")).len(), 1, "{start}");
            assert!(check("README.md", &format!("see {start}x"))[0].starts_with("README.md:1: "));
            assert!(check("README.md", &format!("https://example.com{start}x")).is_empty(), "{start}");
        }
        assert_eq!(check("a.rs", &format!("let p = \"{HOME}ada/t.json\";")).len(), 1);
        assert!(check("a.rs", &format!("`{HOME}<user>` and web{HOME}page")).is_empty());
    }

    #[test]
    fn only_tests_and_commands_name_the_corpus() {
        let text = format!("open {CORPUS}/traces");
        for good in
            [".ci/run", "xtask/src/test.rs", "crates/formats/tests/corpus.rs", "crates/cli/tests/a/b.rs"]
        {
            assert!(check(good, &text).is_empty(), "{good}");
        }
        for bad in ["README.md", "crates/formats/src/lib.rs", "crates/cli/src/tests/a.rs", ".ci/other"] {
            assert_eq!(check(bad, &text).len(), 1, "{bad}");
        }
    }

    #[test]
    fn registry_hosts_stand_only_in_the_lock_file() {
        for host in HOSTS {
            assert_eq!(check("docs/install.md", &format!("from https://{host}/x")).len(), 1, "{host}");
            assert!(check("Cargo.lock", &format!("source = \"{host}\"")).is_empty(), "{host}");
        }
    }

    #[test]
    fn unfinished_code_is_found_in_rust_only() {
        for text in UNFINISHED {
            assert_eq!(check("crates/x/src/lib.rs", &format!("fn f() {{ {text}) }}")).len(), 1, "{text}");
            assert!(check("CONTRIBUTING.md", &format!("no `{text}` please")).is_empty());
        }
    }

    #[test]
    fn this_file_keeps_its_own_rules() {
        assert_eq!(check("xtask/src/house.rs", include_str!("house.rs")), Vec::<String>::new());
    }
}
