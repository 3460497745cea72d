//! Writes a run into BENCHMARKS.md: what stands between the markers is replaced, the rest is left alone.

use std::path::Path;

use anyhow::{Context, Result};

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";
const METHOD: &str = include_str!("method.md");

pub(super) fn update(path: &Path, table: &str, acceptance: &str) -> Result<()> {
    let old = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => format!("{METHOD}{BEGIN}\n{END}\n"),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    let block = format!("{}\n\n{table}\n## Acceptance\n\n{acceptance}", machine());
    let new = replace(&old, &block).with_context(|| {
        format!("{} has no `{BEGIN}` followed by `{END}`; put both in, or delete the file", path.display())
    })?;
    std::fs::write(path, new).with_context(|| format!("writing {}", path.display()))
}

fn replace(old: &str, block: &str) -> Option<String> {
    let begin = old.find(BEGIN)? + BEGIN.len();
    let end = begin + old[begin..].find(END)?;
    Some(format!("{}\n\n{}\n\n{}", &old[..begin], block.trim(), &old[end..]))
}

/// What the numbers were measured on.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|l| l.strip_prefix("model name")).and_then(|l| l.split_once(':'));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    format!("## Results\n\nMeasured on {cores} cores of {model}, {}.", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, replace, update};

    #[test]
    fn only_what_stands_between_the_markers_changes() {
        let old = format!("before\n{BEGIN}\nold numbers\n{END}\nafter\n");
        let new = replace(&old, "new\n").unwrap();
        assert_eq!(new, format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"));
        assert_eq!(
            replace(&new, "new\n").unwrap(),
            new,
            "a second run with the same numbers changes nothing"
        );
        assert_eq!(replace("no markers", "new"), None);
        assert_eq!(replace(&format!("{END}{BEGIN}"), "new"), None);
    }

    #[test]
    fn a_missing_file_is_made_with_the_method() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("BENCHMARKS.md");
        update(&path, "| a |\n", "- met: b\n").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("# Benchmarks\n") && text.contains("| a |\n\n## Acceptance\n\n- met: b\n"),
            "{text}"
        );
        std::fs::write(&path, "mine").unwrap();
        assert!(update(&path, "", "").unwrap_err().to_string().contains("put both in"));
    }
}
