//! Real traces, when the corpus is there: the scanner and the strict reader agree on every one.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::describe::{assert_same, load};

/// The corpus folder, or `None` (said loudly) where it is not given.
pub(crate) fn traces() -> Option<Vec<PathBuf>> {
    let Some(folder) = std::env::var_os("GPUSCOPE_CORPUS") else {
        eprintln!("skipped: GPUSCOPE_CORPUS is not set, so no real trace is read");
        return None;
    };
    let mut found = Vec::new();
    collect(&Path::new(&folder).join("traces"), &mut found);
    assert!(!found.is_empty(), "the corpus has no traces");
    found.sort();
    Some(found)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "gz" || extension == "json") {
            found.push(path);
        }
    }
}

/// What is in a file, decompressed.
pub(crate) fn text(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return bytes;
    }
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
    text
}

#[test]
fn real_traces_read_like_strict_json() {
    let mut compared = 0;
    for path in traces().into_iter().flatten() {
        let text = text(&path);
        if let Some(want) = gpuscope_formats::strict::read(&text) {
            let got = load(&text).unwrap();
            assert_same(&path.display().to_string(), &got.traces[0], &want);
            compared += 1;
        }
    }
    assert!(
        compared > 20 || std::env::var_os("GPUSCOPE_CORPUS").is_none(),
        "only {compared} traces compared"
    );
}
