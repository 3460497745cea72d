//! Readers for GPU trace files: compression and format are recognised by content, text is taken in as it
//! arrives, and what is damaged is passed over and reported.

pub mod anonymize;
mod chrome;
mod chunks;
mod decompress;
pub mod limits;
mod memory_timeline;
pub mod rewrite;
mod sniff;
#[doc(hidden)]
pub mod strict;
pub mod torch_trace;

use std::io::{self, Read};

use gpuscope_trace::Trace;

pub use decompress::Compression;
pub use memory_timeline::FORMAT as MEMORY_TIMELINE;

use chrome::{Document, Parsed};
use chunks::{Chunk, Chunks, Inline, Pipelined, Source, Unfinished};
use decompress::Compressed;

/// What was read, and from what.
#[derive(Debug)]
pub struct Loaded {
    pub trace: Trace,
    /// `kineto`, `jax`, `memory_timeline`, …
    pub format: &'static str,
    pub compression: Compression,
    /// Bytes of text after decompression.
    pub text_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct ReadOptions {
    /// Decompress on a thread of its own: pays for a lone file, not where every core reads a file already.
    pub pipelined: bool,
    /// Bytes of text taken in at a time.
    pub chunk_bytes: usize,
    /// Bytes of memory that what is read may take.
    pub memory: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        // Small enough for the second-level cache, large enough that handing over a chunk costs nothing.
        ReadOptions { pipelined: false, chunk_bytes: 512 << 10, memory: u64::MAX }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The bytes are no trace: what was expected, and at which byte of the decompressed text.
    #[error("at byte {offset}: {expected}")]
    NotATrace { offset: u64, expected: String },
    /// More events than there is memory for.
    #[error("its events take more than {} of memory; {events} were read up to there", size(*.limit))]
    TooLarge { limit: u64, events: u64 },
    /// The text holds no record of torch.compile's log.
    #[error(
        "expected a record of a TORCH_TRACE log, a line such as `V0401 12:34:56.123456 4242 torch/x.py:7] {{…}}`"
    )]
    NotALog,
}

/// Reads one trace; compression and format are recognised by content.
pub fn read(input: impl Read + Send, options: ReadOptions) -> Result<Loaded, ReadError> {
    let mut bounded = Bounded { reader: Reader::default(), memory: options.memory };
    let poured = pour(input, options, &mut bounded)?;
    let Parsed { trace, format } = bounded.reader.finish(&poured)?;
    Ok(Loaded { trace, format, compression: poured.compression, text_bytes: poured.text_bytes })
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// A reader that may take so much memory and no more. A few bytes of an archive can become any number of events.
struct Bounded {
    reader: Reader,
    memory: u64,
}

impl Pour for Bounded {
    type Error = ReadError;

    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, last: bool) -> Result<usize, ReadError> {
        let whole_to = self.reader.feed(buffer, from, to, last)?;
        match &self.reader {
            Reader::Trace(document) if document.heap_bytes() > self.memory => {
                Err(ReadError::TooLarge { limit: self.memory, events: document.elements() })
            }
            _ => Ok(whole_to),
        }
    }
}

/// What a text turned out to be, once some of it was seen.
#[derive(Default)]
enum Reader {
    #[default]
    NothingSeen,
    Trace(Box<Document>),
    MemoryTimeline(memory_timeline::Reader),
}

impl Pour for Reader {
    type Error = ReadError;

    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, last: bool) -> Result<usize, ReadError> {
        if let Reader::NothingSeen = self {
            *self = if memory_timeline::is_one(&buffer[from..to]) {
                Reader::MemoryTimeline(memory_timeline::Reader::default())
            } else {
                Reader::Trace(Box::default())
            };
        }
        match self {
            Reader::Trace(document) => document.feed(buffer, from, to, last),
            Reader::MemoryTimeline(timeline) => {
                timeline.feed(&buffer[from..to]);
                Ok(to)
            }
            Reader::NothingSeen => Ok(from),
        }
    }
}

impl Reader {
    fn finish(self, poured: &Poured) -> Result<Parsed, ReadError> {
        let broken = poured.broken.as_ref();
        match self {
            Reader::NothingSeen => Document::default().finish(poured.left, broken),
            Reader::Trace(document) => document.finish(poured.left, broken),
            Reader::MemoryTimeline(timeline) => {
                let trace = timeline.finish(poured.text_bytes, broken.map(|broken| broken.why.as_str()))?;
                Ok(Parsed { trace, format: memory_timeline::FORMAT })
            }
        }
    }
}

/// Takes text in as it comes.
pub(crate) trait Pour {
    type Error: From<io::Error>;

    /// Takes in what is whole of the text in `buffer[from..to]`, which is followed by [`chrome::PADDING`] zero
    /// bytes. Answers where the unfinished rest begins. `last` says that no more text will come.
    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, last: bool) -> Result<usize, Self::Error>;
}

/// How a text ended.
pub(crate) struct Poured {
    compression: Compression,
    text_bytes: u64,
    /// Bytes at the end that were part of something unfinished.
    left: usize,
    /// Why the text broke off, if it did.
    broken: Option<Broken>,
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
