//! Compression, recognised by the first bytes.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

/// The container a text came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    pub fn of(head: &[u8]) -> Compression {
        match head {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }
}

const READ_AHEAD: usize = 128 << 10;

/// The text inside `input`; gzip files of several members are one text.
pub(crate) fn open<'r>(input: impl Read + Send + 'r) -> io::Result<(Compression, Box<dyn Read + Send + 'r>)> {
    let mut input = BufReader::with_capacity(READ_AHEAD, input);
    let compression = Compression::of(input.fill_buf()?);
    let reader: Box<dyn Read + Send> = match compression {
        Compression::None => Box::new(input),
        Compression::Gzip => Box::new(MultiGzDecoder::new(input)),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(input)?),
    };
    Ok((compression, reader))
}
