//! Which file a path leads to, whatever the path: links, hard links and other spellings are the same file.

use std::ffi::OsString;
use std::fs::Metadata;
use std::path::Path;

use crate::draft::folder_of;
use crate::straight::is_straight;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    #[cfg(unix)]
    Inode { device: u64, inode: u64 },
    #[cfg(not(unix))]
    Path(std::path::PathBuf),
}

impl Identity {
    fn of(path: &Path) -> Option<Identity> {
        #[cfg(unix)]
        return std::fs::metadata(path).ok().map(|about| Identity::of_open(&about));
        #[cfg(not(unix))]
        return path.canonicalize().ok().map(Identity::Path);
    }

    #[cfg(unix)]
    fn of_open(about: &Metadata) -> Identity {
        use std::os::unix::fs::MetadataExt;
        Identity::Inode { device: about.dev(), inode: about.ino() }
    }
}

/// A file that is there, or the place where one will be.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    file: Option<Identity>,
    name: Option<(Identity, OsString)>,
}

impl Place {
    /// `None` for what cannot be written over: pipes and devices.
    pub(crate) fn of(path: &Path) -> Option<Place> {
        if is_straight(path) {
            return None;
        }
        let name = path.file_name().zip(Identity::of(folder_of(path)));
        Some(Place { file: Identity::of(path), name: name.map(|(name, folder)| (folder, name.to_owned())) })
    }

    /// Of a file that is open and has no name that we know.
    #[cfg(unix)]
    pub(crate) fn of_open(about: &Metadata) -> Option<Place> {
        about.is_file().then(|| Place { file: Some(Identity::of_open(about)), name: None })
    }

    pub(crate) fn is_same(&self, other: &Place) -> bool {
        let same_file = self.file.is_some() && self.file == other.file;
        same_file || (self.name.is_some() && self.name == other.name)
    }
}

/// Whether two paths lead to one file, or will.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    Place::of(a).zip(Place::of(b)).is_some_and(|(a, b)| a.is_same(&b))
}
