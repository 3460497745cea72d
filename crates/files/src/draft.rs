//! Where bytes lie until they are whole: a file without a name where the system has such, which is gone however the process
//! ends, else one with a name that nobody guesses. Neither follows a link, and neither is there before we make it.

use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::{Builder, NamedTempFile, TempPath};

use crate::litter;

/// Drafts are hidden, and say whose they are.
const PREFIX: &str = ".gpuscope-";

#[derive(Debug)]
pub(crate) enum Draft {
    #[cfg(target_os = "linux")]
    Unnamed(File),
    Named(Named),
}

/// Deleted when dropped.
#[derive(Debug)]
pub(crate) struct Named(Option<NamedTempFile>);

impl Draft {
    /// In the folder where the file is to be, so that it can be renamed. `mode` is subject to the umask.
    pub(crate) fn new(folder: &Path, mode: u32) -> io::Result<Draft> {
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed(folder, mode) {
            return Ok(Draft::Unnamed(file));
        }
        Draft::named(folder, mode)
    }

    pub(crate) fn named(folder: &Path, mode: u32) -> io::Result<Draft> {
        let mut builder = Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
        #[cfg(not(unix))]
        let _ = mode;
        let file = builder.tempfile_in(folder)?;
        litter::remember(file.path());
        Ok(Draft::Named(Named(Some(file))))
    }

    pub(crate) fn file(&self) -> io::Result<&File> {
        match self {
            #[cfg(target_os = "linux")]
            Draft::Unnamed(file) => Ok(file),
            Draft::Named(Named(Some(file))) => Ok(file.as_file()),
            Draft::Named(Named(None)) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Gives it its name, in the place of what had it before.
    pub(crate) fn persist(self, path: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Draft::Unnamed(file) => rename(link(&file, path)?, path),
            Draft::Named(mut named) => match named.0.take() {
                Some(file) => {
                    let draft = file.into_temp_path();
                    let old = draft.to_path_buf();
                    let renamed = rename(draft, path);
                    litter::forget(&old);
                    renamed
                }
                None => Err(io::ErrorKind::NotFound.into()),
            },
        }
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            let path = file.path().to_owned();
            drop(file);
            litter::forget(&path);
        }
    }
}

fn rename(draft: TempPath, path: &Path) -> io::Result<()> {
    draft.persist(path).map_err(|refused| refused.error)
}

/// `None` where the file system has no such files, or where they cannot be given a name later.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path, mode: u32) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(open(folder, flags, Mode::from_raw_mode(mode)).ok()?);
    std::fs::metadata(handle(&file)).is_ok().then_some(file)
}

/// As the system names what this process has open.
#[cfg(target_os = "linux")]
fn handle(file: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// A new name takes no other's place, so a whole file gets one of its own first.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<TempPath> {
    use rustix::fs::{AtFlags, CWD, linkat};
    let handle = handle(file);
    let linked = Builder::new().prefix(PREFIX).make_in(folder_of(path), |name| {
        Ok(linkat(CWD, handle.as_str(), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    })?;
    Ok(linked.into_temp_path())
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
