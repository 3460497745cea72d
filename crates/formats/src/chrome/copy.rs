//! Walks a document as [`super::document`] does, and copies it instead of reading it into columns.
//!
//! What counts as an element, what as damage, and where to go on behind it are decided by the same code as there
//! ([`EventReader::parse`], [`next_event`]), so that both give an element the same index; tests hold them to that.

use std::borrow::Cow;
use std::io::Write;

use super::array::ArrayWriter;
use super::cursor::{Cursor, Stop};
use super::document::LONGEST_VALUE;
use super::escape;
use super::event::{EventReader, next_raw_key};
use super::resync::next_event;
use super::skip::Skipper;
use crate::rewrite::{Editor, Element, RewriteError, Rewritten, is_white, lead, quoted, sound};
use crate::{Pour, ReadError};

#[derive(Debug)]
enum State {
    Start,
    Object,
    Events,
    /// Inside a value too long to hold: its place is taken by `null`.
    Skipping(Skipper),
    /// Behind the document; only white space is copied from here on.
    Done,
    /// The entries beside the events cannot be told apart from here on.
    Broken,
}

/// After so many elements the texts they hold are forgotten.
const FORGET_AFTER: u64 = 1 << 16;

pub(crate) struct Copier<'e> {
    out: &'e mut dyn Write,
    editor: &'e mut dyn Editor,
    state: State,
    bare_array: bool,
    events: EventReader,
    saw_event: bool,
    saw_event_array: bool,
    /// Entries of the top-level object that were written.
    entries: u64,
    array: ArrayWriter,
    /// Bytes of text before the current buffer.
    offset: u64,
    done: Rewritten,
}

impl Pour for Copier<'_> {
    type Error = RewriteError;

    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, last: bool) -> Result<usize, RewriteError> {
        let mut cursor = Cursor::new(buffer, from, to);
        loop {
            let step = match &mut self.state {
                State::Start => self.start(&mut cursor)?,
                State::Object => self.object(&mut cursor)?,
                State::Events => self.element(&mut cursor)?,
                State::Skipping(skipper) => {
                    if let Some(length) = skipper.feed(cursor.rest()) {
                        cursor.pos += length;
                        self.state = State::Object;
                        Ok(())
                    } else {
                        cursor.jump_to_end();
                        Err(Stop::Incomplete)
                    }
                }
                State::Done => {
                    let space = cursor.rest().iter().take_while(|byte| is_white(**byte)).count();
                    self.write(&cursor.rest()[..space])?;
                    if space < cursor.rest().len() {
                        self.state = State::Broken;
                    }
                    cursor.jump_to_end();
                    Err(Stop::Incomplete)
                }
                State::Broken => {
                    cursor.jump_to_end();
                    Err(Stop::Incomplete)
                }
            };
            match step {
                Ok(()) => {}
                Err(Stop::Incomplete) if to - cursor.pos < LONGEST_VALUE && !last => break,
                Err(why) => {
                    if cursor.pos >= to || !self.recover(&mut cursor, why, last)? {
                        break;
                    }
                }
            }
        }
        self.offset += (cursor.pos - from) as u64;
        Ok(cursor.pos)
    }
}

impl<'e> Copier<'e> {
    pub(crate) fn new(out: &'e mut dyn Write, editor: &'e mut dyn Editor) -> Copier<'e> {
        Copier {
            out,
            editor,
            state: State::Start,
            bare_array: false,
            events: EventReader::default(),
            saw_event: false,
            saw_event_array: false,
            entries: 0,
            array: ArrayWriter::default(),
            offset: 0,
            done: Rewritten::default(),
        }
    }

    fn write(&mut self, text: &[u8]) -> Result<(), RewriteError> {
        self.out.write_all(text).map_err(RewriteError::Write)
    }

    fn start(&mut self, cursor: &mut Cursor<'_>) -> Result<Result<(), Stop>, RewriteError> {
        let from = cursor.pos;
        cursor.skip_space();
        if cursor.is_at_end() {
            cursor.pos = from;
            return Ok(Err(Stop::Incomplete));
        }
        self.state = match cursor.byte() {
            b'{' => State::Object,
            b'[' => {
                (self.bare_array, self.saw_event_array) = (true, true);
                State::Events
            }
            _ => return Err(self.not_a_trace("a JSON object or array")),
        };
        let space: Vec<u8> =
            cursor.text(from, cursor.pos).iter().copied().filter(|byte| is_white(*byte)).collect();
        self.write(&space)?;
        cursor.pos += 1;
        self.write(cursor.text(cursor.pos - 1, cursor.pos))?;
        Ok(Ok(()))
    }

    fn object(&mut self, cursor: &mut Cursor<'_>) -> Result<Result<(), Stop>, RewriteError> {
        let start = cursor.pos;
        let key = match next_raw_key(cursor) {
            Ok(Some(key)) => key,
            Ok(None) => {
                self.state = State::Done;
                // A comma may stand here that leads to nothing.
                let end: Vec<u8> =
                    cursor.text(start, cursor.pos).iter().copied().filter(|byte| is_white(*byte)).collect();
                self.write(&end)?;
                self.write(b"}")?;
                return Ok(Ok(()));
            }
            Err(stop) => {
                cursor.pos = start;
                return Ok(Err(stop));
            }
        };
        let name = name_of(key.text);
        if name == "traceEvents" {
            if cursor.byte() != b'[' {
                return Err(self.not_a_trace("an array as the value of `traceEvents`"));
            }
            self.lead(cursor.text(start, cursor.pos), &name, key.text)?;
            cursor.pos += 1;
            self.write(b"[")?;
            self.state = State::Events;
            self.saw_event_array = true;
            self.array.open();
            return Ok(Ok(()));
        }
        let value_at = cursor.pos;
        let value = match cursor.value() {
            Ok(value) => value,
            Err(stop) => {
                cursor.pos = start;
                return Ok(Err(stop));
            }
        };
        let value = self.sound(value);
        self.lead(cursor.text(start, value_at), &name, key.text)?;
        match self.editor.entry(&name, &value) {
            Some(new) => self.write(new.as_bytes())?,
            None => self.write(&value)?,
        }
        Ok(Ok(()))
    }

    /// Key and colon of an entry, with a comma behind the one before.
    fn lead(&mut self, text: &[u8], name: &str, key: &[u8]) -> Result<(), RewriteError> {
        let comma = self.entries > 0;
        self.entries += 1;
        let text = match self.editor.key(name) {
            Some(new) => {
                let separator = if comma { ",\n" } else { "" };
                Cow::Owned(format!("{separator}{}: ", quoted(&new)).into_bytes())
            }
            None => lead(text, key, comma),
        };
        self.write(&text)
    }

    /// What is copied is JSON to the letter, whatever was read.
    fn sound<'t>(&mut self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let sound = sound(text);
        self.done.too_deep += sound.too_deep;
        self.done.mended += u64::from(matches!(sound.text, Cow::Owned(_)));
        sound.text
    }

    /// What comes next in the event array.
    fn element(&mut self, cursor: &mut Cursor<'_>) -> Result<Result<(), Stop>, RewriteError> {
        let from = cursor.pos;
        cursor.skip_space();
        self.array.space(cursor.text(from, cursor.pos));
        if cursor.is_at_end() {
            return Ok(Err(Stop::Incomplete));
        }
        let start = cursor.pos;
        let mut here = *cursor;
        let phase = match cursor.byte() {
            b',' => {
                cursor.pos += 1;
                self.array.comma();
                return Ok(Ok(()));
            }
            b']' => {
                cursor.pos += 1;
                self.close_array()?;
                self.state = if self.bare_array { State::Done } else { State::Object };
                return Ok(Ok(()));
            }
            b'{' => match self.events.parse(&mut here) {
                Ok(is_event) => {
                    self.saw_event |= is_event;
                    is_event.then(|| self.events.builder.phase(self.events.record.tag))
                }
                Err(stop) => return Ok(Err(stop)),
            },
            _ => match here.value() {
                Ok(_) => None,
                Err(stop) => return Ok(Err(stop)),
            },
        };
        cursor.pos = here.pos;
        let index = u32::try_from(self.done.elements)
            .map_err(|_| self.not_a_trace("at most 4,294,967,295 events in one file"))?;
        let text = self.sound(cursor.text(start, cursor.pos));
        let mut element = Element::new(index, phase, &text);
        self.editor.element(&mut element);
        self.done.elements += 1;
        if self.done.elements.is_multiple_of(FORGET_AFTER) {
            self.events = EventReader::default();
        }
        if element.is_dropped() {
            self.done.dropped += 1;
            self.array.forget_gap();
            return Ok(Ok(()));
        }
        self.array.element(element.text(), self.out).map_err(RewriteError::Write)?;
        Ok(Ok(()))
    }

    fn close_array(&mut self) -> Result<(), RewriteError> {
        self.done.appended += self.array.close(self.editor, self.out).map_err(RewriteError::Write)?;
        Ok(())
    }

    /// Finds a place to go on from behind damage; `false` if there is none in this text.
    fn recover(&mut self, cursor: &mut Cursor<'_>, stop: Stop, last: bool) -> Result<bool, RewriteError> {
        match self.state {
            State::Events => {}
            State::Object if stop == Stop::Incomplete && !last => {
                let start = cursor.pos;
                let Ok(Some(key)) = next_raw_key(cursor) else { return Ok(false) };
                if !matches!(cursor.byte(), b'[' | b'{' | b'"') {
                    return Ok(false);
                }
                let name = name_of(key.text);
                self.lead(cursor.text(start, cursor.pos), &name, key.text)?;
                self.done.emptied.push(name);
                self.write(b"null")?;
                self.state = State::Skipping(Skipper::default());
                return Ok(true);
            }
            State::Object if stop == Stop::Bad => {
                self.done.truncated = true;
                self.write(b"}")?;
                self.state = State::Broken;
                return Ok(true);
            }
            _ => return Ok(false),
        }
        if let Some(found) = next_event(&mut self.events, cursor, last) {
            self.done.damaged += 1;
            cursor.pos = found;
            return Ok(true);
        }
        if stop == Stop::Bad || !last {
            self.done.damaged += 1;
            cursor.jump_to_end();
        }
        Ok(false)
    }

    fn not_a_trace(&self, expected: &str) -> RewriteError {
        let expected = format!("expected {expected}");
        RewriteError::Read(ReadError::NotATrace { offset: self.offset, expected })
    }

    /// Closes what the text left open.
    pub(crate) fn finish(mut self) -> Result<Rewritten, RewriteError> {
        if !self.saw_event_array {
            return Err(self.not_a_trace("a `traceEvents` array"));
        }
        if self.bare_array && !self.saw_event {
            return Err(self.not_a_trace("trace events (objects with a `ph`) in the top-level array"));
        }
        match self.state {
            State::Done | State::Broken => return Ok(self.done),
            State::Events => {
                self.array.forget_gap();
                self.close_array()?;
                if !self.bare_array {
                    self.write(b"}")?;
                }
            }
            State::Start | State::Object | State::Skipping(_) => self.write(b"}")?,
        }
        self.done.truncated = true;
        Ok(self.done)
    }
}

fn name_of(key: &[u8]) -> String {
    let mut name = Vec::new();
    escape::unescape(key, &mut name);
    String::from_utf8_lossy(&name).into_owned()
}
