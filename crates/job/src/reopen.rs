//! Looking at one input of a run by itself: its text once more, or what is known of it without reading it.

use std::io::{self, Read};
use std::path::Path;

use crate::error::Error;
use crate::run::{InputInfo, Run};

impl Run {
    /// Reads the bytes of an input again, compressed as they are; `path` is what [`InputInfo::path`] says.
    pub fn reopen<T>(&self, path: &str, read: impl FnOnce(&mut (dyn Read + Send)) -> T) -> Result<T, Error> {
        let source = self.sources.iter().find(|source| source.path == path);
        let missing = || Error::io(path, io::ErrorKind::NotFound.into());
        source.ok_or_else(missing)?.with_reader(read).map_err(|error| Error::io(path, error))
    }

    /// If all the input there is is one file: what is known of it without reading it. Its events are not counted.
    pub(crate) fn lone_input(&self) -> Option<InputInfo> {
        let [source] = &*self.sources else { return None };
        let format = source.head.format.filter(|format| format.is_rewritable)?;
        Some(InputInfo {
            path: source.path.clone(),
            format: format.name,
            rank: source.head.rank.or(self.named[0]).unwrap_or(0),
            events: 0,
            bytes: source.bytes,
            world_size: None,
            container: source.container,
        })
    }
}

/// Whether an input is a file right in this folder.
pub(crate) fn lies_in(input: &str, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let file = Path::new(input).canonicalize();
    file.is_ok_and(|file| file.parent().is_some_and(|parent| parent == folder))
}
