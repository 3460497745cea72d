//! Archives of ranks: each member of a tar or zip archive is an input of its own.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use crate::error::Error;
use crate::source::{Archive, Content, Head, Source, Stored, Wrapping};

/// The members of an archive, in the order of the archive.
pub(crate) fn members(path: &str, stored: &Stored, head: Head) -> Result<Vec<Source>, Error> {
    let broken = |source: io::Error| Error::Archive {
        path: path.to_owned(),
        expected: format!("a whole archive, found a damaged one ({source})"),
    };
    match head.archive {
        Some(Archive::Zip) => zip_members(path, stored).map_err(broken),
        Some(Archive::Tar) => {
            // Members of a compressed archive can only be reached through all that is before them, so it is
            // unpacked once to a temporary file instead of once per member.
            let plain = match head.wrapping {
                Wrapping::Plain => stored.clone(),
                Wrapping::Gzip => {
                    stored.open().and_then(|file| spool(MultiGzDecoder::new(file))).map_err(broken)?
                }
                Wrapping::Zstd => {
                    stored.open().and_then(zstd::Decoder::new).and_then(spool).map_err(broken)?
                }
            };
            tar_members(path, &plain).map_err(broken)
        }
        None => Ok(Vec::new()),
    }
}

fn tar_members(path: &str, stored: &Stored) -> io::Result<Vec<Source>> {
    let mut archive = tar::Archive::new(stored.open()?);
    let mut sources = Vec::new();
    for entry in archive.entries_with_seek()? {
        let mut entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = entry.path()?.to_string_lossy().into_owned();
        let (offset, length) = (entry.raw_file_position(), entry.size());
        let head = Head::of(&mut entry)?;
        let content = Content::Part { archive: stored.clone(), offset, length };
        sources.extend(member(path, &name, content, length, head, "tar"));
    }
    Ok(sources)
}

fn zip_members(path: &str, stored: &Stored) -> io::Result<Vec<Source>> {
    let mut archive = zip::ZipArchive::new(stored.open()?).map_err(io::Error::other)?;
    let mut sources = Vec::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(io::Error::other)?;
        if !entry.is_file() {
            continue;
        }
        let (name, length) = (entry.name().map_err(io::Error::other)?.into_owned(), entry.size());
        let head = Head::of(&mut entry)?;
        let content = Content::Zipped { archive: stored.clone(), index };
        sources.extend(member(path, &name, content, length, head, "zip"));
    }
    Ok(sources)
}

fn member(
    archive: &str,
    name: &str,
    content: Content,
    bytes: u64,
    head: Head,
    container: &'static str,
) -> Option<Source> {
    let name = name.trim_start_matches("./");
    let hidden = name.split('/').any(|part| part.starts_with('.') || part == "__MACOSX");
    let path = format!("{archive}!{name}");
    (!hidden).then_some(Source { path, content, bytes, head, container, discovered: true })
}

/// Keeps a stream that can be read only once in a temporary file.
pub(crate) fn spool(mut input: impl Read) -> io::Result<Stored> {
    let mut file = tempfile::NamedTempFile::new()?;
    io::copy(&mut input, &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(Stored::Spooled(Arc::new(file.into_temp_path())))
}
