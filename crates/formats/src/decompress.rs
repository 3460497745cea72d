//! Compression, recognised by the first bytes.

mod members;

use std::io::{self, BufRead, BufReader, Read};

/// The container a text came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "plain",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }

    pub fn of(head: &[u8]) -> Compression {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }
}

const READ_AHEAD: usize = 128 << 10;

/// An input whose compression is known, not yet opened: decompressors need not be movable between threads.
pub(crate) struct Compressed<R> {
    pub(crate) compression: Compression,
    input: BufReader<R>,
}

impl<R: Read> Compressed<R> {
    pub(crate) fn new(input: R) -> io::Result<Compressed<R>> {
        let mut input = BufReader::with_capacity(READ_AHEAD, input);
        Ok(Compressed { compression: Compression::of(input.fill_buf()?), input })
    }

    /// The text inside; gzip files of several members are one text.
    pub(crate) fn open<'r>(self) -> io::Result<Box<dyn Read + 'r>>
    where
        R: 'r,
    {
        Ok(match self.compression {
            Compression::None => Box::new(self.input),
            Compression::Gzip => gzip(self.input),
            Compression::Zstd => Box::new(members::Zstd::new(Box::new(self.input))?),
        })
    }
}

#[cfg(not(feature = "isal"))]
fn gzip<'r>(input: impl BufRead + 'r) -> Box<dyn Read + 'r> {
    Box::new(members::Gzip::new(Box::new(input)))
}

/// ISA-L inflates about twice as fast on x86-64; it needs an assembler to build.
#[cfg(feature = "isal")]
fn gzip<'r>(input: impl BufRead + 'r) -> Box<dyn Read + 'r> {
    Box::new(isal::read::GzipDecoder::new(EndOnce { input, reads_at_end: 0 }))
}

/// ISA-L's reader asks again and again when a stream breaks off; this ends it with an error.
#[cfg(feature = "isal")]
struct EndOnce<R> {
    input: R,
    reads_at_end: u32,
}

#[cfg(feature = "isal")]
impl<R: Read> Read for EndOnce<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // What it holds when the input ends, 16 KB, inflates to 17 MB at most: no more than a few hundred reads.
        const PATIENCE: u32 = 10_000;
        let n = self.input.read(buffer)?;
        self.reads_at_end = if n == 0 { self.reads_at_end + 1 } else { 0 };
        if self.reads_at_end > PATIENCE {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the gzip stream breaks off"));
        }
        Ok(n)
    }
}
