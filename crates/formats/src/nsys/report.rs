//! Reports as Nsight Systems writes them itself: only `nsys` can read them, and is asked to export them if it is installed.

use std::ffi::OsStr;
use std::path::Path;

use crate::sqlite::Database;
use crate::{Parsed, ReadError, Reading, installed};

pub(crate) fn is_one(head: &[u8]) -> bool {
    head.starts_with(b"NVIDIA Tegra Profiler Report")
}

pub(crate) fn read(path: &Path, reading: &Reading<'_>) -> Result<Parsed, ReadError> {
    let folder = tempfile::Builder::new().prefix("gpuscope-").tempdir()?;
    let exported_to = folder.path().join("report.sqlite");
    // NCCL's messages and communicators are blobs, which only newer releases export, and only if they are told to.
    let with_blobs = exported(path, &exported_to, &["--include-blobs=true"], reading);
    let exported_at_all = match with_blobs {
        // Older releases do not know the option.
        Err(ReadError::Damaged { why, .. }) if why.contains("include-blobs") || why.contains("option") => {
            exported(path, &exported_to, &[], reading)
        }
        ended => ended,
    }?;
    if exported_at_all.is_none() {
        return Err(ReadError::NotRead {
            title: "a report of Nsight Systems, which only nsys itself can read, and nsys is not installed here",
            instead: "export it where it is: nsys export --type sqlite --include-blobs=true FILE",
        });
    }
    if !exported_to.is_file() {
        let why = "nsys ended without an error and wrote no export".to_owned();
        return Err(ReadError::Damaged { what: "a report that its own program can read", why });
    }
    super::read(Database::open(&exported_to, reading.goes_on)?)
}

fn exported(
    path: &Path,
    to: &Path,
    more: &[&str],
    reading: &Reading<'_>,
) -> Result<Option<Vec<u8>>, ReadError> {
    let before = ["export", "--type", "sqlite", "--force-overwrite=true"].into_iter();
    let words: Vec<&OsStr> = before
        .chain(more.iter().copied())
        .map(OsStr::new)
        .chain([OsStr::new("--output"), to.as_os_str(), path.as_os_str()])
        .collect();
    installed::output("nsys", &words, reading)
}
