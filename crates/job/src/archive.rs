//! Archives of ranks: each member of a tar or zip archive is an input of its own.

use std::io::{self, Read, Write};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use crate::error::Error;
use crate::source::{Archive, Content, Head, Source, Stored, Wrapping};

/// What an archive holds: its members in their order, and what kept it from being read to its end.
#[derive(Debug, Default)]
pub(crate) struct Members {
    pub sources: Vec<Source>,
    pub damage: Option<Error>,
}

/// The members of an archive; of one that breaks off, those before the break.
pub(crate) fn members(path: &str, stored: &Stored, head: Head) -> Members {
    let mut sources = Vec::new();
    let result = match head.archive {
        Some(Archive::Zip) => zip_members(path, stored, &mut sources),
        Some(Archive::Tar) => tar_members(path, stored, head.wrapping, &mut sources),
        None => Ok(()),
    };
    let damage = result.err().map(|error| Error::Archive {
        path: path.to_owned(),
        expected: match sources.len() {
            0 => format!("a whole archive, found a damaged one ({error})"),
            1 => format!("a whole archive, found one that breaks off after 1 member ({error})"),
            n => format!("a whole archive, found one that breaks off after {n} members ({error})"),
        },
    });
    Members { sources, damage }
}

/// Members of a compressed archive can only be reached through all that is before them, so it is unpacked once
/// to a temporary file instead of once per member.
fn tar_members(path: &str, stored: &Stored, wrapping: Wrapping, sources: &mut Vec<Source>) -> io::Result<()> {
    let (plain, unpacked) = match wrapping {
        Wrapping::Plain => (stored.clone(), Ok(())),
        Wrapping::Gzip => spool(MultiGzDecoder::new(stored.open()?))?,
        Wrapping::Zstd => spool(zstd::Decoder::new(stored.open()?)?)?,
    };
    let length = plain.bytes()?;
    let mut archive = tar::Archive::new(plain.open()?);
    let listed = (|| {
        for entry in archive.entries_with_seek()? {
            let mut entry = entry?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let name = entry.path()?.to_string_lossy().into_owned();
            let offset = entry.raw_file_position();
            // What a broken archive still has of its last member.
            let bytes = entry.size().min(length.saturating_sub(offset));
            let head = Head::of(&mut entry)?;
            let content = Content::Part { archive: plain.clone(), offset, length: bytes };
            sources.extend(member(path, &name, content, bytes, head, "tar"));
            if bytes < entry.size() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    })();
    // Where unpacking failed is where the archive is damaged; the list only shows it.
    unpacked.and(listed)
}

fn zip_members(path: &str, stored: &Stored, sources: &mut Vec<Source>) -> io::Result<()> {
    let mut archive = zip::ZipArchive::new(stored.open()?).map_err(io::Error::other)?;
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
    Ok(())
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
    // Nothing is ever written under a member's name, so `..` in it is only a name.
    let mut parts = name.split('/').filter(|part| *part != "." && *part != "..");
    let hidden = parts.any(|part| part.starts_with('.') || part == "__MACOSX");
    let path = format!("{archive}!{name}");
    (!hidden).then_some(Source { path, content, bytes, head, container, discovered: true })
}

/// Keeps a stream that can be read only once in a temporary file: all of it, or what came before an error.
pub(crate) fn spool(mut input: impl Read) -> io::Result<(Stored, io::Result<()>)> {
    let mut file = tempfile::tempfile()?;
    let mut buffer = vec![0; 1 << 18];
    let read = loop {
        match input.read(&mut buffer) {
            Ok(0) => break Ok(()),
            Ok(bytes) => file.write_all(&buffer[..bytes])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    Ok((Stored::Spooled(Arc::new(file)), read))
}
