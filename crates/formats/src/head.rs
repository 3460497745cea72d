//! The beginning of a file, looked at before it is read.

use std::io::{self, Cursor, Read};

use crate::decompress::{Compressed, Compression};
use crate::format::{FORMATS, Format, recognise};

/// What the first bytes tell.
#[derive(Clone, Debug)]
pub struct Head {
    pub compression: Compression,
    /// Decompressed, without the mark of its byte order.
    text: Vec<u8>,
}

impl Head {
    /// How much text is looked at; what tells the rank may come after the lists of a large job's process groups.
    pub const LOOK: usize = 64 << 10;

    /// A damaged beginning says nothing here; reading the file will say what is wrong and where.
    pub fn of(mut input: impl Read) -> io::Result<Head> {
        let mut raw = Vec::new();
        // Compressed text is longer than what it is compressed to, but for its own frame.
        input.by_ref().take(Head::LOOK as u64).read_to_end(&mut raw)?;
        let compression = Compression::of(&raw);
        let text = match compression {
            Compression::None => raw,
            Compression::Gzip | Compression::Zstd => {
                let mut text = Vec::new();
                let opened = Compressed::new(Cursor::new(raw).chain(input)).and_then(Compressed::open);
                // What came before the damage still counts.
                let _ =
                    opened.map(|mut opened| opened.by_ref().take(Head::LOOK as u64).read_to_end(&mut text));
                text
            }
        };
        Ok(Head { compression, text })
    }

    pub fn text(&self) -> &[u8] {
        self.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.text)
    }

    /// None if it is of no format that is known.
    pub fn format(&self) -> Option<&'static Format> {
        recognise(FORMATS, &self.text)
    }
}
