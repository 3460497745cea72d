//! Where converted traces go: one file, a folder with one file per rank, or standard output.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use gpuscope_files::{Files, NewFile, Packing, Privacy};
use gpuscope_formats::Compression;
use gpuscope_formats::rewrite::{Rewritten, Target};

use crate::error::Error;
use crate::reopen::lies_in;
use crate::run::{InputInfo, Run};

pub enum Destination<'o> {
    File(PathBuf),
    Folder(PathBuf),
    /// Plain text.
    Stream(&'o mut dyn Write),
}

impl std::fmt::Debug for Destination<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Destination::File(path) => f.debug_tuple("File").field(path).finish(),
            Destination::Folder(path) => f.debug_tuple("Folder").field(path).finish(),
            Destination::Stream(_) => f.write_str("Stream"),
        }
    }
}

/// A file to be written; without a path for standard output.
pub(super) struct Place {
    path: Option<PathBuf>,
    shown: String,
}

impl Place {
    fn file(path: PathBuf) -> Place {
        Place { shown: path.display().to_string(), path: Some(path) }
    }

    pub(super) fn display(&self) -> &str {
        &self.shown
    }
}

impl Destination<'_> {
    /// One place for each input, none of which is an input itself.
    pub(super) fn targets(
        &self,
        run: &Run,
        inputs: &[InputInfo],
        files: &Files,
    ) -> Result<Vec<Place>, Error> {
        let places: Vec<Place> = match self {
            Destination::Folder(folder) => {
                let unwritable = |source| Error::Unwritable { path: folder.display().to_string(), source };
                std::fs::create_dir_all(folder).map_err(unwritable)?;
                if inputs.iter().any(|input| lies_in(&input.path, folder)) {
                    return Err(Error::AmongInputs { path: folder.display().to_string() });
                }
                names(inputs).into_iter().map(|name| Place::file(folder.join(name))).collect()
            }
            _ if inputs.len() > 1 => return Err(Error::SeveralRanks { count: inputs.len() }),
            Destination::File(path) => vec![Place::file(path.clone())],
            Destination::Stream(_) => vec![Place { path: None, shown: "standard output".to_owned() }],
        };
        run.files().try_for_each(|input| files.reads(&input))?;
        for path in places.iter().filter_map(|place| place.path.as_deref()) {
            files.writes("-o", path)?;
        }
        Ok(places)
    }

    /// Has a file written, and answers its size. It appears under its name only when it is whole.
    pub(super) fn write(
        &mut self,
        place: &Place,
        copy: impl FnOnce(&mut dyn Write) -> Result<Rewritten, Error>,
    ) -> Result<(Rewritten, u64), Error> {
        let unwritable = |source| Error::Unwritable { path: place.shown.clone(), source };
        let Some(path) = &place.path else {
            let Destination::Stream(out) = self else { return copy(&mut io::sink()).map(|done| (done, 0)) };
            let mut out = Counted { out, bytes: 0 };
            let done = copy(&mut out)?;
            return Ok((done, out.bytes));
        };
        let file = NewFile::create(path, Privacy::AsUsual).map_err(unwritable)?;
        let mut target = Target::new(file, compression(path)).map_err(unwritable)?;
        let done = copy(&mut target)?;
        let bytes = target.finish().and_then(NewFile::finish).map_err(unwritable)?;
        Ok((done, bytes))
    }
}

/// As the name asks for.
fn compression(path: &Path) -> Compression {
    match Packing::of(path) {
        Ok(Packing::Gzip) => Compression::Gzip,
        Ok(Packing::Zstd) => Compression::Zstd,
        Ok(Packing::Plain) | Err(_) => Compression::None,
    }
}

/// `rank-3.json.gz`; a rank that occurs again gets a number of its own.
fn names(inputs: &[InputInfo]) -> Vec<String> {
    let name = |(i, input): (usize, &InputInfo)| {
        let before = inputs[..i].iter().filter(|other| other.rank == input.rank).count();
        let again = if before == 0 { String::new() } else { format!("-{}", before + 1) };
        format!("rank-{}{again}.json.gz", input.rank)
    };
    inputs.iter().enumerate().map(name).collect()
}

struct Counted<'o> {
    out: &'o mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
