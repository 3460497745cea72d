//! Traces recorded while graphs were captured, beside those of what the graphs do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::natural;
use crate::path_text::{path_of, text_of};

/// Files that may be traces of a capture, by their name or that of their folder: in the folders that are given, and
/// where the files lie that are. What they are is for their content to tell.
pub fn graph_captures_beside(inputs: &[String]) -> Vec<String> {
    let mut folders = BTreeSet::new();
    for input in inputs.iter().map(|input| path_of(input)) {
        if input.is_dir() {
            folders.insert(input.into_owned());
        } else if input.is_file() {
            let folder = input.parent().filter(|folder| !folder.as_os_str().is_empty());
            folders.insert(folder.unwrap_or(Path::new(".")).to_owned());
        }
    }
    let mut found = Vec::new();
    for folder in folders {
        let is_all = speaks_of_capture(&folder);
        for path in entries(&folder) {
            match (path.is_dir(), is_all || speaks_of_capture(&path)) {
                (true, true) => found.extend(entries(&path).filter(|path| path.is_file())),
                (false, true) => found.push(path),
                (_, false) => {}
            }
        }
    }
    let is_trace = |path: &PathBuf| name(path).contains(".json");
    let given = |path: &PathBuf| inputs.iter().any(|input| path_of(input) == *path);
    found.retain(|path| is_trace(path) && !given(path));
    let shown = |path: &PathBuf| {
        let path = text_of(path.as_os_str());
        path.strip_prefix("./").unwrap_or(&path).to_owned()
    };
    let mut found: Vec<String> = found.iter().map(shown).collect();
    found.sort_by_cached_key(|path| natural::key(path));
    found
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path())
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

pub(crate) fn speaks_of_capture(path: &Path) -> bool {
    name(path).contains("capture")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_where_captures_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        for name in ["capture", "other"] {
            fs::create_dir(at(name)).unwrap();
        }
        let files =
            ["serve.json", "Capture_10.json.gz", "capture_9.json", "capture.log", "capture/rank0.json"];
        for name in files.into_iter().chain(["other/capture.json"]) {
            fs::write(at(name), "{}").unwrap();
        }
        let expected = ["Capture_10.json.gz", "capture/rank0.json", "capture_9.json"].map(at);
        for given in [vec![at("serve.json")], vec![at("")], vec![at("serve.json"), at("")]] {
            let mut found = graph_captures_beside(&given);
            found.sort();
            assert_eq!(found, expected, "{given:?}");
        }
        assert_eq!(graph_captures_beside(&[at("capture/rank0.json")]), Vec::<String>::new());
        assert_eq!(graph_captures_beside(&["-".to_owned(), at("*.json")]), Vec::<String>::new());
    }
}
