//! The whole of a Chrome trace: an object with `traceEvents` and metadata around it, or a bare array.
//!
//! Text arrives in buffers cut anywhere. Each call to [`Document::feed`] takes in all that is whole and says how
//! much that was; the rest comes again at the front of the next buffer.

use gpuscope_trace::{Code, Quality, Trace};

use super::cursor::{Cursor, PADDING, Stop};
use super::event::{EventReader, next_raw_key};
use super::metadata::{self, Taken};
use super::resync::next_event;
use super::shape::Shapes;
use super::skip::Skipper;
use super::{escape, xla};
use crate::{Broken, Parsed, Poured, ReadError, Stream, sniff};

/// One event or metadata value may be this long; what is longer is damage, or of no use to anyone.
pub(super) const LONGEST_VALUE: usize = 64 << 20;

#[derive(Debug)]
enum State {
    /// Nothing but white space so far.
    Start,
    /// Among the keys of the top-level object.
    Object,
    /// Inside the event array.
    Events,
    /// Inside a value that nobody needs and that is too long to hold.
    Skipping(Skipper),
    Done,
}

#[derive(Debug)]
pub(crate) struct Document {
    state: State,
    /// The event array is the document itself.
    bare_array: bool,
    events: EventReader,
    shapes: Shapes,
    /// Bytes of text before the current buffer.
    offset: u64,
    saw_event_array: bool,
    /// Top-level keys that are not metadata, to say what a foreign file may be.
    foreign_keys: Vec<String>,
    /// Entries whose value is no JSON, or nested deeper than anyone goes.
    unreadable_keys: Vec<String>,
    damaged: u64,
    first_damage: u64,
}

impl Default for Document {
    fn default() -> Self {
        Document {
            state: State::Start,
            bare_array: false,
            events: EventReader::default(),
            shapes: Shapes::default(),
            offset: 0,
            saw_event_array: false,
            foreign_keys: Vec::new(),
            unreadable_keys: Vec::new(),
            damaged: 0,
            first_damage: 0,
        }
    }
}

impl Stream for Document {
    fn taken(&self) -> (u64, u64) {
        (self.events.builder.heap_bytes() as u64, self.events.builder.elements())
    }

    fn finish(self: Box<Self>, poured: &Poured) -> Result<Parsed, ReadError> {
        let (trace, format) = self.into_trace(poured.left, poured.broken.as_ref())?;
        let traces = match trace.into_ranks() {
            Err(whole) => vec![*whole],
            Ok(parts) => parts.into_iter().map(|(_, part)| part).collect(),
        };
        Ok(Parsed { traces, format })
    }

    fn feed(&mut self, buffer: &[u8], from: usize, to: usize, last: bool) -> Result<usize, ReadError> {
        let mut cursor = Cursor::new(buffer, from, to);
        loop {
            let before = cursor.pos;
            let step = match &mut self.state {
                State::Start => self.start(&mut cursor)?,
                State::Object => self.object(&mut cursor, from)?,
                State::Events => self.event_array(&mut cursor)?,
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
                    cursor.jump_to_end();
                    Err(Stop::Incomplete)
                }
            };
            match step {
                Ok(()) => {}
                Err(Stop::Incomplete) if to - cursor.pos < LONGEST_VALUE && !last => break,
                Err(why) => {
                    if cursor.pos >= to || !self.recover(&mut cursor, why, last) {
                        break;
                    }
                    debug_assert!(cursor.pos > before || matches!(self.state, State::Skipping(_)));
                }
            }
        }
        self.offset += (cursor.pos - from) as u64;
        Ok(cursor.pos)
    }
}

impl Document {
    fn start(&mut self, cursor: &mut Cursor<'_>) -> Result<Result<(), Stop>, ReadError> {
        let head = cursor.rest();
        cursor.skip_space();
        if cursor.is_at_end() {
            return Ok(Err(Stop::Incomplete));
        }
        self.state = match cursor.byte() {
            b'{' => State::Object,
            b'[' => {
                self.bare_array = true;
                State::Events
            }
            _ => {
                let guess = sniff::foreign(head).map_or(String::new(), |what| format!("; this is {what}"));
                return Err(self.not_a_trace(&format!("a JSON object or array{guess}")));
            }
        };
        cursor.pos += 1;
        Ok(Ok(()))
    }

    /// One key of the top-level object and its value.
    fn object(&mut self, cursor: &mut Cursor<'_>, from: usize) -> Result<Result<(), Stop>, ReadError> {
        let start = cursor.pos;
        let key = match next_raw_key(cursor) {
            Ok(Some(key)) => key,
            Ok(None) => {
                self.state = State::Done;
                return Ok(Ok(()));
            }
            Err(stop) => {
                cursor.pos = start;
                return Ok(Err(stop));
            }
        };
        let mut name = Vec::new();
        escape::unescape(key.text, &mut name);
        if name == b"traceEvents" {
            if cursor.byte() != b'[' {
                self.offset += (cursor.pos - from) as u64;
                return Err(self.not_a_trace("an array as the value of `traceEvents`"));
            }
            cursor.pos += 1;
            self.state = State::Events;
            self.saw_event_array = true;
            return Ok(Ok(()));
        }
        match cursor.value() {
            Ok(value) => {
                let taken = metadata::take(self.events.builder.metadata_mut(), &name, value);
                let few = |keys: &mut Vec<String>| {
                    if keys.len() < 16 {
                        keys.push(String::from_utf8_lossy(&name).into_owned());
                    }
                };
                match taken {
                    Taken::Known => {}
                    Taken::Foreign => few(&mut self.foreign_keys),
                    Taken::Unreadable => few(&mut self.unreadable_keys),
                }
                Ok(Ok(()))
            }
            Err(stop) => {
                cursor.pos = start;
                Ok(Err(stop))
            }
        }
    }

    /// Events up to the end of the array or of the text. Where the processor has them, the newer instructions
    /// for counting and shifting bits make this a fifth faster.
    fn event_array(&mut self, cursor: &mut Cursor<'_>) -> Result<Result<(), Stop>, ReadError> {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("popcnt")
        {
            #[expect(unsafe_code, reason = "the features were asked for")]
            // SAFETY: the processor has each of the features that the function is compiled for.
            return unsafe { self.event_array_v3(cursor) };
        }
        self.event_array_any(cursor)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn event_array_v3(&mut self, cursor: &mut Cursor<'_>) -> Result<Result<(), Stop>, ReadError> {
        self.event_array_any(cursor)
    }

    #[inline(always)]
    fn event_array_any(&mut self, cursor: &mut Cursor<'_>) -> Result<Result<(), Stop>, ReadError> {
        // A copy that nothing else refers to stays in registers.
        let mut here = *cursor;
        let stop = loop {
            here.skip_space();
            cursor.pos = here.pos;
            if here.is_at_end() {
                break Err(Stop::Incomplete);
            }
            match here.byte() {
                b'{' => {
                    if let Err(stop) = self.shapes.read(&mut self.events, &mut here) {
                        break Err(stop);
                    }
                }
                b',' => here.pos += 1,
                b']' => {
                    cursor.pos += 1;
                    self.state = if self.bare_array { State::Done } else { State::Object };
                    break Ok(());
                }
                _ => match here.value() {
                    Ok(_) => self.events.builder.skip_element(),
                    Err(stop) => break Err(stop),
                },
            }
        };
        if self.events.builder.elements() > u64::from(u32::MAX) {
            return Err(self.not_a_trace("at most 4,294,967,295 events in one file"));
        }
        Ok(stop)
    }

    /// Finds a place to go on from behind damage; `false` if there is none in this text.
    fn recover(&mut self, cursor: &mut Cursor<'_>, stop: Stop, last: bool) -> bool {
        match self.state {
            State::Events => {}
            State::Object if stop == Stop::Incomplete && !last => {
                // A value too long to hold, and none that an analysis needs: pass over it as it comes.
                if next_raw_key(cursor).is_ok() && matches!(cursor.byte(), b'[' | b'{' | b'"') {
                    self.state = State::Skipping(Skipper::default());
                    return true;
                }
                return false;
            }
            _ => return false,
        }
        let at = self.offset;
        if let Some(found) = next_event(&mut self.events, cursor, last) {
            self.note_damage(at);
            cursor.pos = found;
            return true;
        }
        if stop == Stop::Bad || !last {
            // Nothing here can be told from damage: let it go, and look on in what follows.
            self.note_damage(at);
            cursor.jump_to_end();
        }
        false
    }

    fn note_damage(&mut self, at: u64) {
        if self.damaged == 0 {
            self.first_damage = at;
        }
        self.damaged += 1;
    }

    fn not_a_trace(&self, expected: &str) -> ReadError {
        ReadError::NotATrace { offset: self.offset, expected: format!("expected {expected}") }
    }

    /// The trace and what its format is called, when all text has been fed. `left` bytes at the end were part of something
    /// unfinished; `broken` says why the text itself broke off, if it did.
    pub(crate) fn into_trace(
        mut self,
        left: usize,
        broken: Option<&Broken>,
    ) -> Result<(Trace, &'static str), ReadError> {
        let elements = self.events.builder.elements();
        if !self.saw_event_array && !self.bare_array {
            return Err(self.no_events());
        }
        if self.bare_array && !self.events.saw_event {
            return Err(self.not_a_trace("trace events (objects with a `ph`) in the top-level array"));
        }
        // What follows a whole document is nobody's loss.
        if !matches!(self.state, State::Done) {
            let ends = if left > 0 { "the text ends inside an event" } else { "the text ends early" };
            let why = broken.map_or(ends, |broken| &broken.why);
            let message = format!(
                "the file breaks off at byte {} of its text ({why}); {elements} whole events were read",
                self.offset
            );
            self.events.builder.report(Quality::new(Code::Truncated, 1, message));
        }
        if let Some(broken) = broken.filter(|broken| matches!(self.state, State::Done) || broken.is_corrupt) {
            self.events.builder.report(Quality::new(Code::Corrupt, 1, corrupt(&broken.why)));
        }
        if self.damaged > 0 {
            let message = format!(
                "{} damaged places in the event array were passed over, the first at byte {}",
                self.damaged, self.first_damage
            );
            self.events.builder.report(Quality::new(Code::MalformedEvents, self.damaged, message));
        }
        if !self.unreadable_keys.is_empty() {
            let message = format!(
                "entries beside the events that are no JSON or nested too deep were passed over: {}",
                self.unreadable_keys.join(", ")
            );
            let count = self.unreadable_keys.len() as u64;
            self.events.builder.report(Quality::new(Code::MalformedEntries, count, message));
        }
        self.events.builder.mark_streams(xla::stream_of);
        let trace = self.events.builder.finish();
        let is_xla = trace.tracks.iter().any(|(_, track)| track.xla_stream);
        Ok((trace, if is_xla { "jax" } else { super::NAME }))
    }

    fn no_events(&mut self) -> ReadError {
        if matches!(self.state, State::Start) {
            return ReadError::NotATrace { offset: self.offset, expected: "the file is empty".to_owned() };
        }
        let plain = std::mem::take(&mut self.events.builder.metadata_mut().other);
        let has = |key: &str| plain.contains_key(key) || self.foreign_keys.iter().any(|k| k == key);
        let guess = if has("rocprofiler-sdk-tool") {
            " (this looks like a rocprofiler-sdk report)"
        } else if has("nodes") && has("schema") {
            " (this looks like a torch execution trace, which has no times)"
        } else if has("segments") && has("device_traces") {
            " (this looks like a memory snapshot)"
        } else {
            ""
        };
        self.not_a_trace(&format!("a `traceEvents` array{guess}"))
    }
}

/// A checksum that does not match, or a file that could not be read to its end though its document was whole.
pub(crate) fn corrupt(why: &str) -> String {
    format!("the file is damaged ({why}): what was read may be wrong; fetch or record it again")
}

const _: () = assert!(PADDING >= 64, "the cursor loads up to 64 bytes ahead");
