//! What a command reads and what it writes: no output takes the place of an input or of another output.
//!
//! Whatever comes to be known first, the other is held to it: an output is claimed before traces are read, and a file that
//! turns out to be read later is refused then. Files are written only by way of a claim.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::identity::Place;
use crate::new_file::{NewFile, Privacy};

/// The files of one command.
#[derive(Debug, Default)]
pub struct Files(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    read: Vec<Place>,
    written: Vec<(Place, Output)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Output {
    flag: &'static str,
    path: PathBuf,
}

/// The right to write a file.
#[derive(Clone, Debug)]
pub struct Claim {
    path: PathBuf,
}

/// Why a file is not to be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Clash {
    #[error("{flag} {}: this would write over an input", path.display())]
    Input { flag: &'static str, path: PathBuf },
    #[error("{flag} {}: {other} writes to the same file", path.display())]
    Output { flag: &'static str, path: PathBuf, other: &'static str },
}

impl Files {
    /// Says that a file is read.
    pub fn reads(&self, path: &Path) -> Result<(), Clash> {
        self.add(Place::of(path))
    }

    /// Says that standard input is read, which may be a file.
    pub fn reads_stdin(&self) -> Result<(), Clash> {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            let stdin = io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
            let about = stdin.and_then(|stdin| stdin.metadata());
            self.add(about.ok().and_then(|about| Place::of_open(&about)))
        }
        #[cfg(not(unix))]
        Ok(())
    }

    fn add(&self, place: Option<Place>) -> Result<(), Clash> {
        let Some(place) = place else { return Ok(()) };
        let mut known = self.known();
        if let Some((_, Output { flag, path })) =
            known.written.iter().find(|(other, _)| other.is_same(&place))
        {
            return Err(Clash::Input { flag, path: path.clone() });
        }
        known.read.push(place);
        Ok(())
    }

    /// Asks for the right to write a file, in the name of the option that wants it.
    pub fn writes(&self, flag: &'static str, path: &Path) -> Result<Claim, Clash> {
        let claim = Claim { path: path.to_owned() };
        let Some(place) = Place::of(path) else { return Ok(claim) };
        let output = Output { flag, path: path.to_owned() };
        let mut known = self.known();
        if known.read.iter().any(|read| read.is_same(&place)) {
            return Err(Clash::Input { flag, path: output.path });
        }
        match known.written.iter().find(|(other, _)| other.is_same(&place)) {
            // A command may say it twice.
            Some((_, other)) if *other == output => Ok(claim),
            Some((_, other)) => Err(Clash::Output { flag, path: output.path, other: other.flag }),
            None => {
                known.written.push((place, output));
                Ok(claim)
            }
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn create(&self) -> io::Result<NewFile> {
        NewFile::create(&self.path, Privacy::AsUsual)
    }

    /// Has the whole file written.
    pub fn write(&self, content: impl FnOnce(&mut NewFile) -> io::Result<()>) -> io::Result<u64> {
        crate::write(&self.path, Privacy::AsUsual, content)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn whichever_is_known_first_the_other_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("in"), "").unwrap();
        let first_read = Files::default();
        first_read.reads(&at("in")).unwrap();
        let refused = first_read.writes("-o", &at("in")).unwrap_err();
        assert_eq!(refused, Clash::Input { flag: "-o", path: at("in") });
        first_read.writes("-o", &at("out")).unwrap();
        let first_written = Files::default();
        first_written.writes("--junit", &at("in")).unwrap();
        let refused = first_written.reads(&at("in")).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("--junit {}: this would write over an input", at("in").display())
        );
    }

    #[test]
    fn a_file_is_known_by_any_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("in"), "").unwrap();
        fs::create_dir(at("sub")).unwrap();
        fs::hard_link(at("in"), at("hard")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("in", at("soft")).unwrap();
        let files = Files::default();
        files.reads(&at("in")).unwrap();
        for name in ["in", "./in", "sub/../in"] {
            assert!(files.writes("-o", &at(name)).is_err(), "{name}");
        }
        if cfg!(unix) {
            assert!(files.writes("-o", &at("hard")).is_err());
            assert!(files.writes("-o", &at("soft")).is_err());
        }
    }

    #[test]
    fn two_outputs_are_two_files_there_or_not() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        let files = Files::default();
        files.writes("-o", &folder.path().join("new")).unwrap();
        files.writes("-o", &folder.path().join("new")).expect("the same again");
        let refused = files.writes("--junit", &folder.path().join("sub/../new")).unwrap_err();
        assert!(refused.to_string().ends_with("new: -o writes to the same file"), "{refused}");
        files.writes("--junit", &folder.path().join("other")).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_nobodys() {
        let files = Files::default();
        files.writes("-o", Path::new("/dev/null")).unwrap();
        files.writes("--junit", Path::new("/dev/null")).unwrap();
        files.reads(Path::new("/dev/null")).unwrap();
    }
}
