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
mod peek;
mod resync;
mod shape;
mod skip;
mod xla;

pub(crate) use copy::Copier;
pub(crate) use cursor::PADDING;
pub(crate) use document::{Document, corrupt};
pub(crate) use escape::unescape;
pub(crate) use peek::{moment, rank};
pub(crate) use xla::stream_of;

use cursor::Cursor;

/// What such files are called as inputs, unless JAX wrote them.
pub(crate) const NAME: &str = "kineto";

/// Whether a text begins like JSON; whether it is a trace, reading it tells.
pub(crate) fn is_one(head: &[u8]) -> bool {
    matches!(head.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// Passes over one document without looking into it: the least that any reader must do. For benchmarks.
pub(crate) fn skip_document(padded: &[u8], length: usize) -> usize {
    let mut cursor = Cursor::new(padded, 0, length);
    cursor.skip_space();
    cursor.pos += 1;
    // Where it stops is all that matters: a broken document simply ends sooner.
    let _ = cursor.skip_container();
    cursor.pos.min(length)
}

/// Words of which a trace has at least one near its beginning.
const WORDS: [&[u8]; 4] = [b"\"traceEvents\"", b"\"schemaVersion\"", b"\"deviceProperties\"", b"\"ph\""];

/// Other JSON than that of traces lies beside them.
pub(crate) fn is_certain(head: &[u8]) -> bool {
    // A bare list of events.
    head.trim_ascii_start().starts_with(b"[")
        || WORDS.iter().any(|word| memchr::memmem::find(head, word).is_some())
}
