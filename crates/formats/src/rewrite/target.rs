//! Where a rewritten trace goes: plain, gzip or zstd.

use std::io::{self, BufWriter, Write};

use flate2::write::GzEncoder;

use crate::Compression;

const BUFFER: usize = 256 << 10;

/// A compressing writer. It is complete only after [`Target::finish`].
pub enum Target<W: Write> {
    Plain(BufWriter<W>),
    Gzip(BufWriter<GzEncoder<W>>),
    Zstd(BufWriter<zstd::stream::write::Encoder<'static, W>>),
}

impl<W: Write> Target<W> {
    pub fn new(out: W, compression: Compression) -> io::Result<Target<W>> {
        Ok(match compression {
            Compression::None => Target::Plain(BufWriter::with_capacity(BUFFER, out)),
            Compression::Gzip => Target::Gzip(BufWriter::with_capacity(
                BUFFER,
                GzEncoder::new(out, flate2::Compression::default()),
            )),
            Compression::Zstd => Target::Zstd(BufWriter::with_capacity(
                BUFFER,
                zstd::stream::write::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?,
            )),
        })
    }

    /// Writes what is left, and gives back what was written to.
    pub fn finish(self) -> io::Result<W> {
        let mut out = match self {
            Target::Plain(out) => out.into_inner().map_err(io::IntoInnerError::into_error)?,
            Target::Gzip(out) => out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?,
            Target::Zstd(out) => out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?,
        };
        out.flush()?;
        Ok(out)
    }
}

impl<W: Write> std::fmt::Debug for Target<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Target::Plain(_) => "Plain",
            Target::Gzip(_) => "Gzip",
            Target::Zstd(_) => "Zstd",
        })
    }
}

impl<W: Write> Write for Target<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Plain(out) => out.write(bytes),
            Target::Gzip(out) => out.write(bytes),
            Target::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Plain(out) => out.flush(),
            Target::Gzip(out) => out.flush(),
            Target::Zstd(out) => out.flush(),
        }
    }
}
