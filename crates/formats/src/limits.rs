//! The least that reading can cost, for benchmarks: a bare scan, a bare inflate, and parsing from memory.

use std::io::{self, Read};
use std::path::Path;

use gpuscope_trace::Trace;

use crate::chrome::{Document, PADDING, skip_document};
use crate::decompress::Compressed;
use crate::sqlite::Database;
use crate::{ReadError, Stream, nsys};

/// Text followed by the zero bytes that the scanner needs.
pub fn padded(text: &[u8]) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(text.len() + PADDING);
    buffer.extend_from_slice(text);
    buffer.resize(text.len() + PADDING, 0);
    buffer
}

/// A bare structural scan of a document made by [`padded`]: every bracket and quote found, nothing kept.
pub fn scan(padded: &[u8]) -> usize {
    skip_document(padded, padded.len() - PADDING)
}

/// Decompresses and throws the text away; answers its length.
pub fn inflate(compressed: &[u8]) -> io::Result<u64> {
    let mut text = Compressed::new(compressed)?.open()?;
    let mut buffer = vec![0; 256 << 10];
    let mut length = 0;
    loop {
        match text.read(&mut buffer)? {
            0 => return Ok(length),
            n => length += n as u64,
        }
    }
}

/// Passes over the rows and columns of a database that its reader needs, and does nothing with them; answers how many rows.
pub fn rows(path: &Path) -> Result<u64, ReadError> {
    nsys::pass_over(Database::open(path, &|| true)?)
}

/// Parses a document made by [`padded`] into columns, straight from memory.
pub fn parse(padded: &[u8]) -> Result<Trace, ReadError> {
    let length = padded.len() - PADDING;
    let mut document = Document::default();
    let whole_to = document.feed(padded, 0, length, true)?;
    Ok(document.into_trace(length - whole_to, None)?.0)
}
