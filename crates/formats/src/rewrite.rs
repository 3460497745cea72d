//! Copies a trace from one file to another, element by element, with changes on the way.
//!
//! The text is read and decompressed in chunks as the reader does, and written as it comes: memory does not grow
//! with the file. An [`Editor`] sees each element of the event array with the index that [`gpuscope_trace::Trace`]
//! keeps for its rows (`Trace::element`), so that an analysis can say which ones to mark or leave out. Whatever no
//! editor touches is copied byte for byte, white space and entries beside the events included. Damaged places,
//! which the reader passes over, are left out, and a text that breaks off is closed after its last whole element.
//! What comes out is JSON to the letter, also where what was read is not ([`sound`]).

mod check;
mod element;
mod events;
mod members;
mod sound;
mod target;

use std::io::{self, Read, Write};

pub use element::{Element, Overlay};
pub use events::{FlowEnd, NewEvent, quoted};
pub use members::{Member, items, members, string_of, unquoted};
pub use sound::DEEPEST;
pub use target::Target;

pub(crate) use check::is_white;
pub(crate) use sound::{lead, sound};

use crate::chrome::Copier;
use crate::{ReadError, ReadOptions, pour};

/// What changes on the way from one file to another.
pub trait Editor {
    /// One element of the event array: leave it, drop it, add arguments to it, or replace it.
    fn element(&mut self, element: &mut Element<'_>);

    /// One entry beside the events; a new value (as JSON text), or `None` to keep the one that is there.
    fn entry(&mut self, _key: &str, _value: &[u8]) -> Option<String> {
        None
    }

    /// Another name for an entry beside the events, or `None` to keep the one it has.
    fn key(&mut self, _key: &str) -> Option<String> {
        None
    }

    /// Further events, asked for once when the array ends; each call of `add` takes the text of one.
    fn append(&mut self, _add: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        Ok(())
    }
}

/// Changes nothing.
impl Editor for () {
    fn element(&mut self, _element: &mut Element<'_>) {}
}

impl<E: Editor + ?Sized> Editor for &mut E {
    fn element(&mut self, element: &mut Element<'_>) {
        (**self).element(element);
    }

    fn entry(&mut self, key: &str, value: &[u8]) -> Option<String> {
        (**self).entry(key, value)
    }

    fn key(&mut self, key: &str) -> Option<String> {
        (**self).key(key)
    }

    fn append(&mut self, add: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        (**self).append(add)
    }
}

/// One after the other: each sees what those before it left, and nothing of what they dropped.
impl<E: Editor + ?Sized> Editor for Vec<Box<E>> {
    fn element(&mut self, element: &mut Element<'_>) {
        for editor in self {
            if !element.is_dropped() {
                editor.element(element);
            }
        }
    }

    fn entry(&mut self, key: &str, value: &[u8]) -> Option<String> {
        let mut changed: Option<String> = None;
        for editor in self {
            let current = changed.as_deref().map_or(value, str::as_bytes);
            changed = editor.entry(key, current).or(changed);
        }
        changed
    }

    fn key(&mut self, key: &str) -> Option<String> {
        let mut changed: Option<String> = None;
        for editor in self {
            changed = editor.key(changed.as_deref().unwrap_or(key)).or(changed);
        }
        changed
    }

    fn append(&mut self, add: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        self.iter_mut().try_for_each(|editor| editor.append(add))
    }
}

/// What was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Elements of the event array that was read.
    pub elements: u64,
    pub dropped: u64,
    pub appended: u64,
    /// Bytes of text read, after decompression.
    pub text_bytes: u64,
    /// The text broke off.
    pub truncated: bool,
    /// Its file is damaged, so that what was read may be wrong: why, in words.
    pub corrupt: Option<String>,
    /// Damaged places in the event array that were left out.
    pub damaged: u64,
    /// Entries beside the events whose value was too long to hold (64 MB) and is now `null`.
    pub emptied: Vec<String>,
    /// Values that were nested deeper than [`DEEPEST`] and are now `null`.
    pub too_deep: u64,
    /// Elements and entries that were no JSON to the letter, and are now.
    pub mended: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot be written: {0}")]
    Write(io::Error),
}

impl From<io::Error> for RewriteError {
    fn from(error: io::Error) -> Self {
        RewriteError::Read(error.into())
    }
}

/// Copies the trace in `input`, its compression recognised by content, to `output` as plain text.
pub fn rewrite(
    input: impl Read + Send,
    options: ReadOptions,
    output: &mut dyn Write,
    editor: &mut dyn Editor,
) -> Result<Rewritten, RewriteError> {
    let mut copier = Copier::new(output, editor);
    let poured = pour(input, options, &mut copier)?;
    let done = copier.finish()?;
    let corrupt = poured.broken.filter(|broken| !done.truncated || broken.is_corrupt);
    let corrupt = corrupt.map(|broken| crate::chrome::corrupt(&broken.why));
    Ok(Rewritten { text_bytes: poured.text_bytes, corrupt, ..done })
}
