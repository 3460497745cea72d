//! The least that reading can cost, for benchmarks: a bare scan, a bare inflate, and parsing from memory.

use std::io::{self, Read};

use crate::chrome::{PADDING, skip_document};
use crate::{Loaded, ReadError, ReadOptions, decompress, read};

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
    let (_, mut text) = decompress::open(compressed)?;
    let mut buffer = vec![0; 256 << 10];
    let mut length = 0;
    loop {
        match text.read(&mut buffer)? {
            0 => return Ok(length),
            n => length += n as u64,
        }
    }
}

/// Parses text from memory into columns.
pub fn parse(text: &[u8]) -> Result<Loaded, ReadError> {
    read(text, ReadOptions::default())
}
