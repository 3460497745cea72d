//! One trace event, field by field, in whatever order and layout it comes.

use gpuscope_trace::{Arg, ArgType, Builder, Class, Id, Ns, Phase, Record, StrId};

use super::cursor::{Cursor, RawString, Step, Stop};
use super::escape::unescape;

/// A field of an event that has a place in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Phase,
    Category,
    Name,
    Pid,
    Tid,
    Start,
    Dur,
    FlowId,
    Args,
    Other,
}

impl Key {
    #[inline]
    pub(super) fn of(key: &[u8]) -> Key {
        match key {
            b"ph" => Key::Phase,
            b"cat" => Key::Category,
            b"name" => Key::Name,
            b"pid" => Key::Pid,
            b"tid" => Key::Tid,
            b"ts" => Key::Start,
            b"dur" => Key::Dur,
            b"id" => Key::FlowId,
            b"args" => Key::Args,
            _ => Key::Other,
        }
    }
}

/// Argument keys by their length: a handful of candidates each.
#[derive(Debug)]
pub(super) struct ArgKeys(Vec<Vec<(&'static [u8], Arg)>>);

impl Default for ArgKeys {
    fn default() -> Self {
        let mut by_length: Vec<Vec<(&[u8], Arg)>> = Vec::new();
        for arg in Arg::ALL {
            for key in arg.keys() {
                by_length.resize_with(by_length.len().max(key.len() + 1), Vec::new);
                by_length[key.len()].push((key.as_bytes(), *arg));
            }
        }
        ArgKeys(by_length)
    }
}

impl ArgKeys {
    #[inline]
    pub(super) fn get(&self, key: &[u8]) -> Option<Arg> {
        self.0.get(key.len())?.iter().find(|(candidate, _)| *candidate == key).map(|(_, arg)| *arg)
    }
}

/// Reads events one by one into a record, which the builder takes over.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    pub(super) builder: Builder,
    pub(super) record: Record,
    pub(super) keys: ArgKeys,
    /// At least one object with a phase was read.
    pub(super) saw_event: bool,
    scratch: Vec<u8>,
}

impl EventReader {
    /// Interns a string, escapes resolved.
    #[inline(always)]
    pub(super) fn intern(&mut self, string: RawString<'_>) -> StrId {
        if string.escaped {
            self.intern_escaped(string.text)
        } else {
            self.builder.strings().intern(string.text)
        }
    }

    #[cold]
    #[inline(never)]
    fn intern_escaped(&mut self, raw: &[u8]) -> StrId {
        self.scratch.clear();
        unescape(raw, &mut self.scratch);
        self.builder.strings().intern(&self.scratch)
    }

    /// Reads the event at the cursor's `{` and pushes it. Nothing is pushed unless the event is whole.
    #[inline(never)]
    pub(super) fn read(&mut self, cursor: &mut Cursor<'_>) -> Step<()> {
        if self.parse(cursor)? {
            self.saw_event = true;
            self.builder.push(&self.record);
        } else {
            // An object without a phase is no event: it leaves no row.
            self.builder.skip_element_of(self.record.tag);
        }
        Ok(())
    }

    /// Reads the event into the record. Answers whether it is an event at all: an object with a phase.
    pub(super) fn parse(&mut self, cursor: &mut Cursor<'_>) -> Step<bool> {
        self.record.clear();
        let mut phase = None;
        let mut category = StrId::EMPTY;
        let mut args = None;
        cursor.expect(b'{')?;
        while let Some(key) = self.next_key(cursor)? {
            match key {
                Key::Phase => phase = self.phase(cursor)?,
                Key::Category => category = self.string_or_empty(cursor)?,
                Key::Name => self.record.name = self.string_or_empty(cursor)?,
                Key::Pid => self.record.pid = self.id(cursor)?,
                Key::Tid => self.record.tid = self.id(cursor)?,
                Key::Start => self.record.start = cursor.us()?.map(Ns),
                Key::Dur => self.record.dur = cursor.us()?.map(Ns),
                Key::FlowId => self.record.flow_id = self.id(cursor)?,
                Key::Args => {
                    self.record.clear_args();
                    args = (cursor.byte() == b'{').then_some(cursor.pos);
                    match args {
                        Some(_) => self.args(cursor)?,
                        None => {
                            cursor.value()?;
                        }
                    }
                }
                Key::Other => {
                    cursor.value()?;
                }
            }
        }
        self.record.tag = self.builder.tag(phase.unwrap_or_default(), category);
        if let Some(args) = args.filter(|_| self.has_readings()) {
            let end = cursor.pos;
            cursor.pos = args;
            self.readings(cursor)?;
            cursor.pos = end;
        }
        Ok(phase.is_some())
    }

    /// Whether the numbers under free names in this event's arguments are measurements to keep.
    pub(super) fn has_readings(&self) -> bool {
        let tag = self.record.tag;
        self.builder.phase(tag) == Phase::Counter
            || matches!(self.builder.class(tag), Class::ProfilerRange | Class::Counter)
    }

    /// The next key of the object at the cursor, which then stands at the value; `None` behind its end.
    #[inline]
    fn next_key(&mut self, cursor: &mut Cursor<'_>) -> Step<Option<Key>> {
        let Some(key) = next_raw_key(cursor)? else { return Ok(None) };
        if !key.escaped {
            return Ok(Some(Key::of(key.text)));
        }
        self.scratch.clear();
        unescape(key.text, &mut self.scratch);
        Ok(Some(Key::of(&self.scratch)))
    }

    fn args(&mut self, cursor: &mut Cursor<'_>) -> Step<()> {
        cursor.expect(b'{')?;
        while let Some(key) = next_raw_key(cursor)? {
            let arg = if key.escaped {
                self.scratch.clear();
                unescape(key.text, &mut self.scratch);
                self.keys.get(&self.scratch)
            } else {
                self.keys.get(key.text)
            };
            match arg {
                Some(arg) => self.arg(cursor, arg)?,
                None => {
                    cursor.value()?;
                }
            }
        }
        Ok(())
    }

    fn arg(&mut self, cursor: &mut Cursor<'_>, arg: Arg) -> Step<()> {
        match arg.arg_type() {
            ArgType::Int => match cursor.int()? {
                Some(value) => self.record.set_int(arg, value),
                None => self.record.unset(arg),
            },
            ArgType::Float => match cursor.float()? {
                Some(value) => self.record.set_float(arg, value),
                None => self.record.unset(arg),
            },
            ArgType::Text => match self.text(cursor)? {
                Some(text) => self.record.set_text(arg, text),
                None => self.record.unset(arg),
            },
            ArgType::Id => {
                let id = self.id(cursor)?;
                match arg {
                    Arg::Device => self.record.device = id,
                    _ => self.record.stream = id,
                }
            }
        }
        Ok(())
    }

    /// A string's text, or the raw text of any other value but `null`.
    #[inline(always)]
    pub(super) fn text(&mut self, cursor: &mut Cursor<'_>) -> Step<Option<StrId>> {
        if cursor.byte() == b'"' {
            cursor.pos += 1;
            let string = cursor.string()?;
            return Ok(Some(self.intern(string)));
        }
        let raw = cursor.value()?;
        Ok((raw != b"null").then(|| self.builder.strings().intern(raw)))
    }

    /// A process, thread, stream or flow id: a number, or a word.
    #[inline(always)]
    pub(super) fn id(&mut self, cursor: &mut Cursor<'_>) -> Step<Id> {
        if let Some(value) = cursor.plain_int() {
            return Ok(Id::Int(value));
        }
        if cursor.byte() == b'"' {
            cursor.pos += 1;
            let string = cursor.string()?;
            return Ok(Id::Text(self.intern(string)));
        }
        Ok(cursor.int()?.map_or(Id::Absent, Id::Int))
    }

    fn phase(&mut self, cursor: &mut Cursor<'_>) -> Step<Option<Phase>> {
        if cursor.byte() != b'"' {
            cursor.value()?;
            return Ok(None);
        }
        cursor.pos += 1;
        let string = cursor.string()?;
        if !string.escaped {
            return Ok(Some(Phase::of(string.text)));
        }
        self.scratch.clear();
        unescape(string.text, &mut self.scratch);
        Ok(Some(Phase::of(&self.scratch)))
    }

    fn string_or_empty(&mut self, cursor: &mut Cursor<'_>) -> Step<StrId> {
        if cursor.byte() != b'"' {
            cursor.value()?;
            return Ok(StrId::EMPTY);
        }
        cursor.pos += 1;
        let string = cursor.string()?;
        Ok(self.intern(string))
    }

    /// Collects the numbers of the arguments object at the cursor under their own names.
    fn readings(&mut self, cursor: &mut Cursor<'_>) -> Step<()> {
        cursor.expect(b'{')?;
        while let Some(key) = next_raw_key(cursor)? {
            let is_number = matches!(cursor.byte(), b'-' | b'0'..=b'9');
            if is_number && let Some(value) = cursor.float()? {
                let name = self.intern(key);
                self.record.readings.push((name, value));
            } else if !is_number {
                cursor.value()?;
            }
        }
        Ok(())
    }
}

/// The next key inside an object; the cursor then stands at its value. `None` behind the closing brace.
#[inline(always)]
pub(super) fn next_raw_key<'t>(cursor: &mut Cursor<'t>) -> Step<Option<RawString<'t>>> {
    loop {
        cursor.skip_space();
        match cursor.byte() {
            b',' => cursor.pos += 1,
            b'"' => break,
            b'}' if !cursor.is_at_end() => {
                cursor.pos += 1;
                return Ok(None);
            }
            _ => return cursor.unexpected(),
        }
    }
    cursor.pos += 1;
    let key = cursor.string()?;
    cursor.skip_space();
    cursor.expect(b':')?;
    cursor.skip_space();
    if cursor.is_at_end() {
        return Err(Stop::Incomplete);
    }
    Ok(Some(key))
}
