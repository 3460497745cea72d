//! Reports as Nsight Systems writes them itself: only `nsys` can read them, and is asked to export them if it is installed.

use std::path::Path;

use crate::sqlite::Database;
use crate::{Parsed, ReadError, Reading, installed};

pub(crate) fn is_one(head: &[u8]) -> bool {
    head.starts_with(b"NVIDIA Tegra Profiler Report")
}

pub(crate) fn read(path: &Path, reading: &Reading<'_>) -> Result<Parsed, ReadError> {
    let folder = tempfile::Builder::new().prefix("gpuscope-").tempdir()?;
    let exported = folder.path().join("report.sqlite");
    let words = [
        "export".as_ref(),
        "--type".as_ref(),
        "sqlite".as_ref(),
        "--output".as_ref(),
        exported.as_os_str(),
        path.as_os_str(),
    ];
    if installed::output("nsys", &words, reading)?.is_none() {
        return Err(ReadError::NotRead {
            title: "a report of Nsight Systems, which only nsys itself can read, and nsys is not installed here",
            instead: "export it where it is: nsys export --type sqlite FILE",
        });
    }
    super::read(Database::open(&exported, reading.goes_on)?)
}
