//! The one writer of files.

use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::draft::{Draft, folder_of};
use crate::straight;

/// Who may read a file that was not there before. One that is replaced keeps its mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Privacy {
    /// Whoever the user lets read files: the umask decides.
    #[default]
    AsUsual,
    /// What a program recorded of itself: its user alone.
    Private,
}

impl Privacy {
    fn mode(self) -> u32 {
        match self {
            Privacy::AsUsual => 0o666,
            Privacy::Private => 0o600,
        }
    }
}

/// A file that appears under its name when it is [finished](NewFile::finish), and never if it is dropped before: what had
/// the name until then stays as it was. A link is replaced, not followed. Pipes and devices get the bytes as they come.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    out: BufWriter<Bytes>,
    /// What is about to be replaced.
    old: Option<Metadata>,
}

#[derive(Debug)]
enum Bytes {
    Straight(File),
    Draft(Draft),
}

impl Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Bytes::Straight(file) => file.write(bytes),
            Bytes::Draft(draft) => draft.file()?.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile {
    pub fn create(path: &Path, privacy: Privacy) -> io::Result<NewFile> {
        let path = path.to_owned();
        if straight::is_straight(&path) {
            let out = BufWriter::new(Bytes::Straight(straight::open(&path)?));
            return Ok(NewFile { path, out, old: None });
        }
        if path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "a folder has this name"));
        }
        let old = path.symlink_metadata().ok().filter(Metadata::is_file);
        // Nobody may read more of a draft than of the file that it becomes.
        let mode = old.as_ref().map_or(privacy.mode(), mode_of);
        let draft = Draft::new(folder_of(&path), mode)?;
        Ok(NewFile { path, out: BufWriter::new(Bytes::Draft(draft)), old })
    }

    /// Puts the file in its place once it is on the disk, and answers its size.
    pub fn finish(self) -> io::Result<u64> {
        let NewFile { path, out, old } = self;
        match out.into_inner().map_err(io::IntoInnerError::into_error)? {
            Bytes::Straight(mut file) => {
                file.flush()?;
                Ok(file.metadata().map_or(0, |about| about.len()))
            }
            Bytes::Draft(draft) => {
                let file = draft.file()?;
                let bytes = file.metadata()?.len();
                if let Some(old) = old {
                    keep_mode(file, &old)?;
                }
                settle(file.sync_all())?;
                draft.persist(&path)?;
                settle_folder(folder_of(&path));
                Ok(bytes)
            }
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Has a whole file written, and answers its size.
pub fn write<E: From<io::Error>>(
    path: &Path,
    privacy: Privacy,
    content: impl FnOnce(&mut NewFile) -> Result<(), E>,
) -> Result<u64, E> {
    let mut file = NewFile::create(path, privacy)?;
    content(&mut file)?;
    Ok(file.finish()?)
}

/// Some file systems have no such operation; they keep what they are given all the same.
fn settle(synced: io::Result<()>) -> io::Result<()> {
    match synced {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        other => other,
    }
}

/// The new name is on the disk when its folder is. Without that the old file would be back after a crash, whole.
fn settle_folder(folder: &Path) {
    if cfg!(unix) {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}

#[cfg(unix)]
fn mode_of(about: &Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(about) & 0o777
}

#[cfg(not(unix))]
fn mode_of(_about: &Metadata) -> u32 {
    0o666
}

#[cfg(unix)]
fn keep_mode(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only root may give files away: for others the file becomes theirs, as any that they replace.
        let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
    }
    file.set_permissions(PermissionsExt::from_mode(mode_of(old)))
}

#[cfg(not(unix))]
fn keep_mode(_file: &File, _old: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
