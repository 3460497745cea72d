//! Readers for GPU trace files: compression and format are recognised by content, text is taken in as it
//! arrives, and what is damaged is passed over and reported.

pub mod anonymize;
mod chrome;
mod chunks;
mod decompress;
pub mod format;
mod head;
mod installed;
pub mod limits;
mod memory_timeline;
mod ncu;
mod nsys;
mod parquet_folder;
pub mod rewrite;
mod sniff;
mod sqlite;
mod stream;
#[doc(hidden)]
pub mod strict;
pub mod torch_trace;

use std::io::{self, Read};
use std::path::Path;

use gpuscope_trace::Trace;

pub use decompress::Compression;
pub use format::{FORMATS, Format, Parsed, Reading};
pub use head::Head;
pub use stream::{Poured, Stream};

pub(crate) use stream::{Broken, Pour, pour};

use stream::Spooled;

/// What was read, and from what.
#[derive(Debug)]
pub struct Loaded {
    /// One for each rank, or process, that is in it: nearly always one.
    pub traces: Vec<Trace>,
    /// `kineto`, `jax`, `memory_timeline`, …
    pub format: &'static str,
    pub compression: Compression,
    /// Bytes of text after decompression.
    pub text_bytes: u64,
}

impl Loaded {
    /// The only trace of a file of one rank; of one of several the first.
    pub fn into_trace(self) -> Trace {
        self.traces.into_iter().next().unwrap_or_default()
    }
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
    /// A format that is known and not read: what it is, and what to do instead, in which `FILE` stands for its name.
    #[error("this is {title}; {instead}")]
    NotRead { title: &'static str, instead: &'static str },
    /// What was expected, and what kept it from being read.
    #[error("expected {what}, found a damaged one ({why})")]
    Damaged { what: &'static str, why: String },
    /// The text holds no record of torch.compile's log.
    #[error(
        "expected a record of a TORCH_TRACE log, a line such as `V0401 12:34:56.123456 4242 torch/x.py:7] {{…}}`"
    )]
    NotALog,
}

/// Reads what a file holds; compression and format are recognised by content.
pub fn read(input: impl Read + Send, options: ReadOptions) -> Result<Loaded, ReadError> {
    read_as(FORMATS, input, options)
}

/// The same with a table of formats of one's own.
pub fn read_as(
    formats: &'static [Format],
    input: impl Read + Send,
    options: ReadOptions,
) -> Result<Loaded, ReadError> {
    let mut reader = Reader { formats, stream: None, memory: options.memory };
    let poured = pour(input, options, &mut reader)?;
    let stream = reader.stream.unwrap_or_else(|| Box::<chrome::Document>::default());
    let Parsed { traces, format } = stream.finish(&poured)?;
    Ok(Loaded { traces, format, compression: poured.compression, text_bytes: poured.text_bytes })
}

/// Reads a file by its place, where its format wants that: None for one that is to be read as it comes.
pub fn read_file(
    path: &Path,
    format: &Format,
    goes_on: &dyn Fn() -> bool,
    options: ReadOptions,
) -> Option<Result<Loaded, ReadError>> {
    let format::Read::File(read) = format.read else { return None };
    let text_bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let reading = Reading { goes_on, memory: options.memory };
    let loaded =
        |Parsed { traces, format }| Loaded { traces, format, compression: Compression::None, text_bytes };
    Some(read(path, &reading).map(loaded))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Finds out what a text is when some of it was seen, and takes in as much as memory allows: a few bytes of an archive can
/// become any number of events.
struct Reader {
    formats: &'static [Format],
    stream: Option<Box<dyn Stream>>,
    memory: u64,
}

/// The reader for a text that begins so.
fn begin(formats: &'static [Format], head: &[u8], memory: u64) -> Result<Box<dyn Stream>, ReadError> {
    let Some(format) = format::recognise(formats, &head[..head.len().min(Head::LOOK)]) else {
        // Its reader says what was expected.
        return Ok(Box::<chrome::Document>::default());
    };
    Ok(match format.read {
        format::Read::Stream(stream) => stream(),
        format::Read::File(read) => Box::new(Spooled::new(read, memory)?),
        format::Read::Not(instead) => return Err(ReadError::NotRead { title: format.title, instead }),
    })
}

impl Pour for Reader {
    type Error = ReadError;

    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, last: bool) -> Result<usize, ReadError> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            // What tells a format may come a little further on.
            None if to - from < Head::LOOK && !last => return Ok(from),
            none => none.insert(begin(self.formats, &buffer[from..to], self.memory)?),
        };
        let whole_to = stream.feed(buffer, from, to, last)?;
        match stream.taken() {
            (bytes, events) if bytes > self.memory => Err(ReadError::TooLarge { limit: self.memory, events }),
            _ => Ok(whole_to),
        }
    }
}
