//! Places that are no files: pipes, devices, and what `/dev/stdout` stands for. What goes there cannot be taken back, so it
//! goes there at once.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

pub(crate) fn is_straight(path: &Path) -> bool {
    let is_special = std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir());
    is_special || is_handle(path)
}

/// A name of something that is open already, which may well be a file: `gpuscope … -o /dev/stdout > a.json`.
fn is_handle(path: &Path) -> bool {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    cfg!(unix)
        && folder.is_some_and(|folder| folder == Path::new("/dev") || folder.starts_with("/proc"))
        && path.symlink_metadata().is_ok()
}

/// Whoever opened it decided about what is in it; we add to that.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(path)
}
