//! Text on its way from a file into a reader: decompressed and handed over chunk by chunk.

use std::io::{self, Read, Write as _};
use std::path::Path;

use gpuscope_trace::{Code, Quality};

use crate::chunks::{Chunk, Chunks, Inline, Pipelined, Source, Unfinished};
use crate::decompress::{Compressed, Compression};
use crate::format::{Parsed, Reading};
use crate::{ReadError, ReadOptions};

/// A format that is read as its text comes.
pub trait Stream {
    /// Takes in what is whole of the text in `buffer[from..to]`, which is followed by 64 zero bytes. Answers where the
    /// unfinished rest begins. `last` says that no more text will come.
    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, last: bool) -> Result<usize, ReadError>;

    /// Bytes of memory that what was read so far takes, and how many events it is.
    fn taken(&self) -> (u64, u64);

    /// What it was, when all text has been fed.
    fn finish(self: Box<Self>, poured: &Poured) -> Result<Parsed, ReadError>;
}

/// A file that is kept for as long as it is read, for formats that cannot be read as they come.
pub(crate) struct Spooled {
    file: tempfile::NamedTempFile,
    read: fn(&Path, &Reading<'_>) -> Result<Parsed, ReadError>,
    memory: u64,
    bytes: u64,
}

impl Spooled {
    pub(crate) fn new(
        read: fn(&Path, &Reading<'_>) -> Result<Parsed, ReadError>,
        memory: u64,
    ) -> io::Result<Spooled> {
        let file = tempfile::Builder::new().prefix("gpuscope-").tempfile()?;
        Ok(Spooled { file, read, memory, bytes: 0 })
    }
}

/// A few bytes of an archive can become any number: what fills a disk is no trace.
const MOST_SPOOLED: u64 = 64 << 30;

impl Stream for Spooled {
    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, _last: bool) -> Result<usize, ReadError> {
        self.bytes += (to - from) as u64;
        if self.bytes > MOST_SPOOLED {
            return Err(ReadError::TooLarge { limit: MOST_SPOOLED, events: 0 });
        }
        self.file.write_all(&buffer[from..to])?;
        Ok(to)
    }

    fn taken(&self) -> (u64, u64) {
        (0, 0)
    }

    fn finish(mut self: Box<Self>, poured: &Poured) -> Result<Parsed, ReadError> {
        self.file.flush()?;
        let reading = Reading { goes_on: &|| true, memory: self.memory };
        let mut parsed = (self.read)(self.file.path(), &reading)?;
        if let (Some(first), Some(remark)) = (parsed.traces.first_mut(), poured.remark()) {
            first.quality.push(remark);
        }
        Ok(parsed)
    }
}

/// Takes text in as it comes.
pub(crate) trait Pour {
    type Error: From<io::Error>;

    /// Takes in what is whole of the text in `buffer[from..to]`, which is followed by [`chrome::PADDING`] zero
    /// bytes. Answers where the unfinished rest begins. `last` says that no more text will come.
    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, last: bool) -> Result<usize, Self::Error>;
}

impl<S: Stream> Pour for S {
    type Error = ReadError;

    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, last: bool) -> Result<usize, ReadError> {
        Stream::feed(self, buffer, from, to, last)
    }
}

/// How a text ended.
#[derive(Debug)]
pub struct Poured {
    pub(crate) compression: Compression,
    pub(crate) text_bytes: u64,
    /// Bytes at the end that were part of something unfinished.
    pub(crate) left: usize,
    /// Why the text broke off, if it did.
    pub(crate) broken: Option<Broken>,
}

impl Poured {
    /// That the text broke off, for formats that say no more about it.
    pub(crate) fn remark(&self) -> Option<Quality> {
        let broken = self.broken.as_ref()?;
        let message =
            format!("the file breaks off after {} bytes of its text ({})", self.text_bytes, broken.why);
        let code = if broken.is_corrupt { Code::Corrupt } else { Code::Truncated };
        Some(Quality::new(code, 1, message))
    }
}

/// Why a text could not be read to its end.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) why: String,
    /// It is not merely cut off: what came before may be wrong, too.
    pub(crate) is_corrupt: bool,
}

impl Broken {
    fn new(error: &io::Error) -> Broken {
        use io::ErrorKind::{InvalidData, InvalidInput};
        let why = error.to_string();
        let is_corrupt = matches!(error.kind(), InvalidData | InvalidInput) || why.contains("checksum");
        Broken { why, is_corrupt }
    }
}

/// Decompresses a text and feeds it chunk by chunk.
pub(crate) fn pour<P: Pour>(
    input: impl Read + Send,
    options: ReadOptions,
    into: &mut P,
) -> Result<Poured, P::Error> {
    let compressed = Compressed::new(input)?;
    let compression = compressed.compression;
    let poured = if options.pipelined && compression != Compression::None {
        std::thread::scope(|scope| {
            pour_chunks(&mut Pipelined::spawn(scope, || compressed.open(), options.chunk_bytes), into)
        })?
    } else {
        let source = Source::new(compressed.open()?);
        pour_chunks(&mut Inline { source, chunk_bytes: options.chunk_bytes }, into)?
    };
    Ok(Poured { compression, ..poured })
}

fn pour_chunks<P: Pour>(chunks: &mut dyn Chunks, into: &mut P) -> Result<Poured, P::Error> {
    let mut text_bytes = 0;
    let mut used: Option<Chunk> = None;
    let mut unfinished = Unfinished::default();
    loop {
        let (mut chunk, broken) = match chunks.next(used.take()) {
            Ok(chunk) => (chunk, None),
            Err(error) if text_bytes == 0 => return Err(error.into()),
            Err(error) => (Chunk::default(), Some(Broken::new(&error))),
        };
        let last = chunk.is_empty();
        text_bytes += chunk.text().len() as u64;
        if !unfinished.joins(&mut chunk, last) {
            used = Some(chunk);
            continue;
        }
        let whole_to = into.feed(&chunk.buffer, chunk.start, chunk.end, last)?;
        if last {
            let left = chunk.end - whole_to;
            return Ok(Poured { compression: Compression::None, text_bytes, left, broken });
        }
        unfinished.keep(&chunk, whole_to);
        used = Some(chunk);
    }
}
