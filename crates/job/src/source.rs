//! Where the bytes of one input come from, and what their first bytes tell.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gpuscope_formats::{Compression, FORMATS, Format, Head as Beginning};
use gpuscope_trace::Holds;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Archive {
    Tar,
    Zip,
}

/// What the first bytes tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub compression: Compression,
    pub archive: Option<Archive>,
    pub format: Option<&'static Format>,
    /// It is of that format beyond doubt.
    pub is_certain: bool,
    /// The rank that it says it is of.
    pub rank: Option<u32>,
    /// When it was recorded, at about: nanoseconds since 1970.
    pub moment: Option<i64>,
    /// An answer of ours, or a trace that we made of another, written beside the traces.
    pub answer: bool,
    /// What `gpuscope bench` measured.
    pub benchmarks: bool,
}

impl Default for Head {
    fn default() -> Self {
        Head {
            compression: Compression::None,
            archive: None,
            format: None,
            is_certain: false,
            rank: None,
            moment: None,
            answer: false,
            benchmarks: false,
        }
    }
}

/// How every JSON answer begins.
const ANSWER: &[u8] = b"{\"schema\":\"gpuscope/";
/// How traces begin that were drawn on: the rank is there already. White space may follow the brace.
const DERIVED: &[u8] = b"\"gpuscopeDerivedFrom\"";

impl Head {
    pub(crate) fn of(input: impl Read) -> io::Result<Head> {
        let beginning = Beginning::of(input)?;
        let (compression, text) = (beginning.compression, beginning.text());
        let is_zip = text.starts_with(b"PK\x03\x04") || text.starts_with(b"PK\x05\x06");
        let archive = match () {
            () if is_zip && compression == Compression::None => Some(Archive::Zip),
            () if text.get(257..262) == Some(b"ustar") => Some(Archive::Tar),
            () => None,
        };
        let format = beginning.format();
        let is_derived =
            text.strip_prefix(b"{").is_some_and(|text| text.trim_ascii_start().starts_with(DERIVED));
        let has = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
        let is_certain = format.is_some_and(|format| (format.is_certain)(text));
        Ok(Head {
            compression,
            archive,
            format,
            is_certain,
            rank: format.and_then(|format| (format.rank)(text)),
            moment: format.and_then(|format| (format.moment)(text)),
            answer: text.starts_with(ANSWER) || is_derived,
            benchmarks: !is_certain && has(b"\"benchmarks\"") && has(b"\"metadata\""),
        })
    }
}

/// The files that the sources are, or the archives that hold them; of a folder that is one input, those in it.
pub(crate) fn files(sources: &[Source]) -> impl Iterator<Item = PathBuf> {
    sources.iter().filter_map(Source::file).flat_map(|path| {
        let inside = path.is_dir().then(|| std::fs::read_dir(path).ok()).flatten();
        let inside = inside.into_iter().flatten().filter_map(|file| Some(file.ok()?.path()));
        std::iter::once(path.to_owned()).chain(inside)
    })
}

/// Bytes that can be opened again and again, from several threads.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    File(PathBuf),
    Memory(Arc<[u8]>),
    /// A file of our own without a name: it goes with the process, however that ends.
    Spooled(Arc<File>),
}

impl Stored {
    pub(crate) fn open(&self) -> io::Result<Box<dyn ReadSeek>> {
        Ok(match self {
            Stored::File(path) => Box::new(open_file(path)?),
            Stored::Memory(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
            Stored::Spooled(file) => Box::new(Shared::new(Arc::clone(file))?),
        })
    }

    /// The same, to be read from several places at once.
    pub(crate) fn share(&self) -> io::Result<Places> {
        Ok(match self {
            Stored::File(path) => Places::File(Shared::new(Arc::new(open_file(path)?))?),
            Stored::Memory(bytes) => Places::Memory(Cursor::new(Arc::clone(bytes))),
            Stored::Spooled(file) => Places::File(Shared::new(Arc::clone(file))?),
        })
    }

    pub(crate) fn bytes(&self) -> io::Result<u64> {
        match self {
            Stored::File(path) => Ok(std::fs::metadata(path)?.len()),
            Stored::Memory(bytes) => Ok(bytes.len() as u64),
            Stored::Spooled(file) => Ok(file.metadata()?.len()),
        }
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "expected a file, found a folder"));
    }
    Ok(file)
}

/// A place in bytes that others read, too.
#[derive(Clone, Debug)]
pub(crate) enum Places {
    File(Shared),
    Memory(Cursor<Arc<[u8]>>),
}

impl Read for Places {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Places::File(file) => file.read(buffer),
            Places::Memory(bytes) => bytes.read(buffer),
        }
    }
}

impl Seek for Places {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Places::File(file) => file.seek(to),
            Places::Memory(bytes) => bytes.seek(to),
        }
    }
}

/// A zip archive whose list of members has been read; a copy is cheap, and reads by itself.
#[derive(Clone)]
pub(crate) struct Zip(pub(crate) zip::ZipArchive<Places>);

impl std::fmt::Debug for Zip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Zip({} members)", self.0.len())
    }
}

/// One file read from several places at once, each with a position of its own.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    file: Arc<File>,
    at: u64,
    length: u64,
}

impl Shared {
    fn new(file: Arc<File>) -> io::Result<Shared> {
        let length = file.metadata()?.len();
        Ok(Shared { file, at: 0, length })
    }
}

impl Read for Shared {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let bytes = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.at)?;
        #[cfg(windows)]
        let bytes = std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, self.at)?;
        self.at += bytes as u64;
        Ok(bytes)
    }
}

impl Seek for Shared {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

pub(crate) trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

#[derive(Clone, Debug)]
pub(crate) enum Content {
    Whole(Stored),
    /// A member of an uncompressed tar archive.
    Part {
        archive: Stored,
        offset: u64,
        length: u64,
    },
    /// A member of a zip archive, whose list of members was read once for all of them.
    Zipped {
        archive: Stored,
        members: Zip,
        index: usize,
    },
}

/// One input of a run: a trace, as far as one can tell before reading it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// As shown to people; a member of an archive is `archive.tar!member`.
    pub path: String,
    pub content: Content,
    pub bytes: u64,
    pub head: Head,
    /// In what it came: `plain`, `gzip`, `zstd`, `tar`, `zip`.
    pub container: &'static str,
    /// Found in a folder, a glob or an archive rather than named by the user.
    pub discovered: bool,
}

impl Source {
    /// Hands the bytes to `read`.
    pub(crate) fn with_reader<T>(&self, read: impl FnOnce(&mut (dyn Read + Send)) -> T) -> io::Result<T> {
        match &self.content {
            Content::Whole(stored) => Ok(read(&mut stored.open()?)),
            Content::Part { archive, offset, length } => {
                let mut input = archive.open()?;
                input.seek(SeekFrom::Start(*offset))?;
                Ok(read(&mut input.take(*length)))
            }
            Content::Zipped { members, index, .. } => {
                let mut members = members.0.clone();
                let mut member = members.by_index(*index).map_err(io::Error::other)?;
                Ok(read(&mut member))
            }
        }
    }

    /// What it holds; what is of no format that is known may be damaged events.
    pub(crate) fn holds(&self) -> Holds {
        self.head.format.map_or(Holds::Events, |format| format.holds)
    }

    /// Its place, if it is a file that need not be unpacked.
    pub(crate) fn plain_file(&self) -> Option<&Path> {
        match &self.content {
            Content::Whole(Stored::File(path)) if self.head.compression == Compression::None => Some(path),
            _ => None,
        }
    }

    /// The file that holds the bytes, if one does.
    fn file(&self) -> Option<&Path> {
        let (Content::Whole(stored)
        | Content::Part { archive: stored, .. }
        | Content::Zipped { archive: stored, .. }) = &self.content;
        match stored {
            Stored::File(path) => Some(path),
            Stored::Memory(_) | Stored::Spooled(_) => None,
        }
    }

    /// The last part of the name, which may say the rank.
    pub(crate) fn base_name(&self) -> &str {
        self.path.rsplit(['/', '\\', '!']).next().unwrap_or(&self.path)
    }

    /// Everything before the last part: the folder, or the archive and the folder in it.
    pub(crate) fn folder(&self) -> &str {
        let base = self.base_name().len();
        self.path[..self.path.len() - base].trim_end_matches(['/', '\\', '!'])
    }

    /// Whether the name promises a trace, so that failing to read it is worth a word.
    pub(crate) fn looks_like_trace(&self) -> bool {
        let name = self.base_name().to_ascii_lowercase();
        let plain = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        FORMATS.iter().flat_map(|format| format.endings).any(|end| plain.ends_with(end))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn source(path: &str) -> Source {
        Source {
            path: path.to_owned(),
            content: Content::Whole(Stored::Memory(Arc::from(&b""[..]))),
            bytes: 0,
            head: Head::default(),
            container: "plain",
            discovered: true,
        }
    }

    #[test]
    fn the_head_tells_compression_format_and_archive() {
        let told = |bytes: &[u8]| {
            let head = Head::of(bytes).unwrap();
            (head.compression, head.format.map(|format| format.name), head.archive)
        };
        assert_eq!(told(b" \n{\"traceEvents\": []}"), (Compression::None, Some("kineto"), None));
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"[1]").unwrap();
        assert_eq!(told(&gzip.finish().unwrap()), (Compression::Gzip, Some("kineto"), None));
        let zstd = zstd::encode_all(&b"text"[..], 1).unwrap();
        assert_eq!(told(&zstd), (Compression::Zstd, None, None));
        assert_eq!(told(b"PK\x03\x04..."), (Compression::None, None, Some(Archive::Zip)));
        assert_eq!(told(b""), (Compression::None, None, None));
    }

    #[test]
    fn a_member_has_the_archive_for_a_folder() {
        assert_eq!(source("a/b.tar!c/rank0.json").folder(), "a/b.tar!c");
        assert_eq!(source("a/b.tar!rank0.json").folder(), "a/b.tar");
        assert_eq!(source("rank0.json").folder(), "");
    }

    #[test]
    fn names_that_promise_a_trace() {
        for name in ["a.json", "a.json.gz", "h_1.2.pt.trace.json.zst", "x.xplane.pb", "A.JSON"] {
            assert!(source(name).looks_like_trace(), "{name}");
        }
        for name in ["README.md", "train.py", "log.txt.gz", "json"] {
            assert!(!source(name).looks_like_trace(), "{name}");
        }
    }
}
