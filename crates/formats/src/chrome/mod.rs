//! Chrome trace JSON, as the `PyTorch` profiler (Kineto) and JAX write it.
#![expect(clippy::inline_always, reason = "the steps of the scanner are a few instructions each; measured")]

mod array;
mod block;
mod copy;
mod cursor;
mod digits;
mod document;
mod escape;
mod event;
mod literal;
mod metadata;
pub(crate) mod number;
mod resync;
mod shape;
mod skip;
mod xla;

pub(crate) use copy::Copier;
pub(crate) use cursor::PADDING;
pub(crate) use document::{Document, Parsed, corrupt};
pub(crate) use escape::unescape;
pub(crate) use xla::stream_of;

use cursor::Cursor;

/// Passes over one document without looking into it: the least that any reader must do. For benchmarks.
pub(crate) fn skip_document(padded: &[u8], length: usize) -> usize {
    let mut cursor = Cursor::new(padded, 0, length);
    cursor.skip_space();
    cursor.pos += 1;
    // Where it stops is all that matters: a broken document simply ends sooner.
    let _ = cursor.skip_container();
    cursor.pos.min(length)
}
