//! Writes a run into BENCHMARKS.md: what stands between the markers is replaced, the rest is left alone.

use std::path::Path;

use anyhow::{Context, Result};

const METHOD: &str = include_str!("method.md");

/// A part of the document that one command writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section {
    begin: &'static str,
    end: &'static str,
    title: &'static str,
}

/// Reading and the peers.
pub(crate) const BENCH: Section =
    Section { begin: "<!-- bench:begin -->", end: "<!-- bench:end -->", title: "Results" };
/// What every question costs.
pub(crate) const QUESTIONS: Section =
    Section { begin: "<!-- questions:begin -->", end: "<!-- questions:end -->", title: "Questions" };
/// Reading databases.
pub(crate) const EXPORTS: Section =
    Section { begin: "<!-- exports:begin -->", end: "<!-- exports:end -->", title: "Exports" };
/// What pages cost the browser.
pub(crate) const PAGES: Section =
    Section { begin: "<!-- pages:begin -->", end: "<!-- pages:end -->", title: "Pages" };
/// What loading costs from Python.
pub(crate) const PYTHON: Section =
    Section { begin: "<!-- python:begin -->", end: "<!-- python:end -->", title: "Python" };

pub(crate) fn update(path: &Path, section: Section, table: &str, acceptance: &str) -> Result<()> {
    let old = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => METHOD.to_owned(),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    let Section { begin, end, title } = section;
    let block = format!("## {title}\n\n{}\n\n{table}\n### Acceptance\n\n{acceptance}", machine());
    let new = replace(&old, section, &block).with_context(|| {
        format!("{} has no `{begin}` followed by `{end}`; put both in, or delete the file", path.display())
    })?;
    std::fs::write(path, new).with_context(|| format!("writing {}", path.display()))
}

fn replace(old: &str, section: Section, block: &str) -> Option<String> {
    let begin = old.find(section.begin)? + section.begin.len();
    let end = begin + old[begin..].find(section.end)?;
    Some(format!("{}\n\n{}\n\n{}", &old[..begin], block.trim(), &old[end..]))
}

/// What the numbers were measured on.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name")).and_then(|l| l.split_once(':'));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    format!("Measured on {cores} cores of {model}, {}.", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::{BENCH, PAGES, QUESTIONS, replace, update};

    const BEGIN: &str = BENCH.begin;
    const END: &str = BENCH.end;

    #[test]
    fn only_what_stands_between_the_markers_changes() {
        let old = format!("before\n{BEGIN}\nold numbers\n{END}\nafter\n");
        let new = replace(&old, BENCH, "new\n").unwrap();
        assert_eq!(new, format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"));
        assert_eq!(
            replace(&new, BENCH, "new\n").unwrap(),
            new,
            "a second run with the same numbers changes nothing"
        );
        assert_eq!(replace("no markers", BENCH, "new"), None);
        assert_eq!(replace(&format!("{END}{BEGIN}"), BENCH, "new"), None);
    }

    #[test]
    fn a_missing_file_is_made_with_the_method() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("BENCHMARKS.md");
        update(&path, BENCH, "| a |\n", "- met: b\n").unwrap();
        update(&path, QUESTIONS, "| c |\n", "- met: d\n").unwrap();
        update(&path, PAGES, "| e |\n", "- met: f\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("# Benchmarks\n") && text.contains("| a |\n\n### Acceptance\n\n- met: b\n"),
            "{text}"
        );
        assert!(text.contains("| c |\n\n### Acceptance\n\n- met: d\n"), "{text}");
        assert!(text.contains("| e |\n\n### Acceptance\n\n- met: f\n"), "{text}");
        std::fs::write(&path, "mine").unwrap();
        assert!(update(&path, BENCH, "", "").unwrap_err().to_string().contains("put both in"));
    }
}
