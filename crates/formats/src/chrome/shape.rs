//! Learned shapes: most of an event's bytes are the same for every event of its sort.
//!
//! A producer writes the same keys in the same order with the same white space between them. So the bytes
//! between the values of one event, learned once, tell in a few vector comparisons that the next event is laid
//! out alike, and only its values need to be read. Anything that does not match is read by
//! [`super::event`], and then learned. What follows what is predictable too: the shape to try first is the one
//! that came last time after the same two.

use gpuscope_trace::args::{ABSENT, float_to_slot};
use gpuscope_trace::{Arg, ArgSet, ArgType, Ns, Phase, TagId};

use super::block::WIDTH;
use super::cursor::{Cursor, Step, Stop};
use super::event::{EventReader, Key, next_raw_key};

/// More shapes than any producer is known to write; beyond it nothing new is learned.
const MOST_SHAPES: usize = 128;
/// Events with more or longer fields than this are too odd to be worth a shape.
const MOST_FIELDS: usize = 64;
const LONGEST_LITERAL: usize = 512;

/// What stands between two literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Name,
    Pid,
    Tid,
    Start,
    Dur,
    FlowId,
    Device,
    Stream,
    Int(Arg),
    Float(Arg),
    /// A string, its opening quote part of the literal.
    Text(Arg),
    /// A list or object, its opening bracket part of the literal.
    Raw(Arg),
    SkipString,
    SkipContainer,
    SkipScalar,
    /// Behind the last literal: the event is whole.
    End,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    /// Where in `literals` the bytes before this field begin.
    literal: u32,
    length: u32,
    field: Field,
}

#[derive(Debug)]
struct Shape {
    tag: TagId,
    present: ArgSet,
    tables: u32,
    parts: Vec<Part>,
    /// The bytes between values, each run padded to whole blocks.
    literals: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Shapes {
    shapes: Vec<Shape>,
    last: usize,
    before_last: usize,
    /// Indexed by the last two shapes: the one that followed.
    predicted: Vec<u8>,
}

impl Default for Shapes {
    fn default() -> Self {
        Shapes { shapes: Vec::new(), last: 0, before_last: 0, predicted: vec![0; MOST_SHAPES * MOST_SHAPES] }
    }
}

impl Shapes {
    /// Reads the event at the cursor and pushes it.
    #[inline]
    pub(super) fn read(&mut self, reader: &mut EventReader, cursor: &mut Cursor<'_>) -> Step<()> {
        let start = cursor.pos;
        let slot = self.before_last * MOST_SHAPES + self.last;
        let predicted = self.predicted[slot] as usize;
        if let Some(shape) = self.shapes.get(predicted) {
            if shape.read(reader, cursor) {
                self.remember(predicted);
                return Ok(());
            }
            cursor.pos = start;
        }
        for i in 0..self.shapes.len() {
            let shape = &self.shapes[i];
            if i == predicted || !shape.begins(cursor) {
                continue;
            }
            if shape.read(reader, cursor) {
                self.predicted[slot] = i as u8;
                self.remember(i);
                return Ok(());
            }
            cursor.pos = start;
        }
        reader.read(cursor)?;
        if self.shapes.len() < MOST_SHAPES
            && let Some(shape) = Shape::learn(reader, cursor, start)
        {
            self.predicted[slot] = self.shapes.len() as u8;
            self.shapes.push(shape);
            self.remember(self.shapes.len() - 1);
        }
        Ok(())
    }

    #[inline(always)]
    fn remember(&mut self, shape: usize) {
        self.before_last = self.last;
        self.last = shape;
    }
}

impl Shape {
    fn begins(&self, cursor: &Cursor<'_>) -> bool {
        self.parts.first().is_some_and(|part| self.is_literal(cursor, part))
    }

    #[inline(always)]
    fn is_literal(&self, cursor: &Cursor<'_>, part: &Part) -> bool {
        cursor.is_literal(&self.literals[part.literal as usize..], part.length as usize)
    }

    /// Reads an event of this shape and pushes it; `false` if it has another, or is not all there.
    #[inline]
    fn read(&self, reader: &mut EventReader, cursor: &mut Cursor<'_>) -> bool {
        reader.record.clear();
        if self.fill(reader, cursor) != Ok(true) {
            return false;
        }
        reader.record.tag = self.tag;
        reader.record.expect(self.present, self.tables);
        reader.builder.push(&reader.record);
        true
    }

    #[inline(always)]
    fn fill(&self, reader: &mut EventReader, cursor: &mut Cursor<'_>) -> Step<bool> {
        for part in &self.parts {
            if !self.is_literal(cursor, part) {
                return Ok(false);
            }
            cursor.pos += part.length as usize;
            match part.field {
                Field::Name => {
                    let string = cursor.string()?;
                    reader.record.name = reader.intern(string);
                }
                Field::Pid => reader.record.pid = reader.id(cursor)?,
                Field::Tid => reader.record.tid = reader.id(cursor)?,
                Field::Start => reader.record.start = cursor.us()?.map(Ns),
                Field::Dur => reader.record.dur = cursor.us()?.map(Ns),
                Field::FlowId => reader.record.flow_id = reader.id(cursor)?,
                Field::Device => reader.record.device = reader.id(cursor)?,
                Field::Stream => reader.record.stream = reader.id(cursor)?,
                Field::Int(arg) => {
                    let value = cursor.int()?;
                    reader.record.put(arg, value.unwrap_or(ABSENT));
                }
                Field::Float(arg) => {
                    let value = cursor.float()?;
                    reader.record.put(arg, value.map_or(ABSENT, float_to_slot));
                }
                Field::Text(arg) => {
                    let string = cursor.string()?;
                    let text = reader.intern(string);
                    reader.record.put(arg, i64::from(text.0));
                }
                Field::Raw(arg) => {
                    let from = cursor.pos - 1;
                    cursor.skip_container()?;
                    let text = reader.builder.strings().intern(cursor.text(from, cursor.pos));
                    reader.record.put(arg, i64::from(text.0));
                }
                Field::SkipString => {
                    cursor.string()?;
                }
                Field::SkipContainer => cursor.skip_container()?,
                Field::SkipScalar => {
                    cursor.scalar()?;
                }
                Field::End => return if cursor.is_past_end() { Err(Stop::Incomplete) } else { Ok(true) },
            }
        }
        Ok(false)
    }

    /// The shape of the event that has just been read from `start` to the cursor; `None` if it is not one that
    /// bytes alone can tell: escaped or repeated keys, free counters, fields of unusual types.
    #[cold]
    #[inline(never)]
    fn learn(reader: &EventReader, read: &Cursor<'_>, start: usize) -> Option<Shape> {
        let tag = reader.record.tag;
        if reader.has_readings() {
            return None;
        }
        let mut learner =
            Learner { cursor: read.rewound(start), literal_from: start, shape: Shape::empty(tag) };
        learner.event(reader).ok()?.then_some(())?;
        let shape = learner.shape;
        (shape.parts.len() <= MOST_FIELDS).then_some(shape)
    }

    fn empty(tag: TagId) -> Shape {
        Shape { tag, present: ArgSet::EMPTY, tables: 0, parts: Vec::new(), literals: Vec::new() }
    }
}

struct Learner<'t> {
    cursor: Cursor<'t>,
    literal_from: usize,
    shape: Shape,
}

impl Learner<'_> {
    fn event(&mut self, reader: &EventReader) -> Step<bool> {
        let mut seen: Vec<Key> = Vec::new();
        self.cursor.expect(b'{')?;
        while let Some(key) = next_raw_key(&mut self.cursor)? {
            if key.escaped {
                return Ok(false);
            }
            let key = Key::of(key.text);
            if key != Key::Other && seen.contains(&key) {
                return Ok(false);
            }
            seen.push(key);
            let first = self.cursor.byte();
            let done = match key {
                // Phase and category decide what an event is: their values are part of the shape.
                Key::Phase | Key::Category => {
                    let value = self.cursor.value()?;
                    first == b'"' && !value.contains(&b'\\')
                }
                Key::Name if first == b'"' => self.field(Field::Name)?,
                Key::Pid => self.field(Field::Pid)?,
                Key::Tid => self.field(Field::Tid)?,
                Key::Start => self.field(Field::Start)?,
                Key::Dur => self.field(Field::Dur)?,
                Key::FlowId => self.field(Field::FlowId)?,
                Key::Args if first == b'{' => self.args(reader)?,
                Key::Name | Key::Args => false,
                Key::Other => self.skip()?,
            };
            if !done {
                return Ok(false);
            }
        }
        let is_event = seen.contains(&Key::Phase) && reader.builder.phase(self.shape.tag) != Phase::Other;
        Ok(is_event && self.part(Field::End))
    }

    fn args(&mut self, reader: &EventReader) -> Step<bool> {
        let mut seen: Vec<Arg> = Vec::new();
        self.cursor.expect(b'{')?;
        while let Some(key) = next_raw_key(&mut self.cursor)? {
            if key.escaped {
                return Ok(false);
            }
            let done = match reader.keys.get(key.text) {
                Some(arg) if seen.contains(&arg) => false,
                Some(arg) => {
                    seen.push(arg);
                    self.arg(arg)?
                }
                None => self.skip()?,
            };
            if !done {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn arg(&mut self, arg: Arg) -> Step<bool> {
        let first = self.cursor.byte();
        let field = match (arg.arg_type(), first) {
            (ArgType::Int, _) => Field::Int(arg),
            (ArgType::Float, _) => Field::Float(arg),
            (ArgType::Text, b'"') => Field::Text(arg),
            (ArgType::Text, b'[' | b'{') => Field::Raw(arg),
            // A bare number or word where a text belongs: rare enough for the careful way.
            (ArgType::Text, _) => return Ok(false),
            (ArgType::Id, _) if arg == Arg::Device => Field::Device,
            (ArgType::Id, _) => Field::Stream,
        };
        if arg.arg_type() != ArgType::Id {
            self.shape.present = self.shape.present.with(arg);
            if arg.is_stored() {
                self.shape.tables |= 1 << arg.group() as u8;
            }
        }
        self.field(field)
    }

    fn skip(&mut self) -> Step<bool> {
        let field = match self.cursor.byte() {
            b'"' => Field::SkipString,
            b'[' | b'{' => Field::SkipContainer,
            _ => Field::SkipScalar,
        };
        self.field(field)
    }

    /// Ends the literal before the value at the cursor, and passes over the value.
    fn field(&mut self, field: Field) -> Step<bool> {
        let value = self.cursor.pos;
        let opened = matches!(
            field,
            Field::Name | Field::Text(_) | Field::Raw(_) | Field::SkipString | Field::SkipContainer
        );
        self.cursor.pos += usize::from(opened);
        let fits = self.part(field);
        self.cursor.pos = value;
        self.cursor.value()?;
        self.literal_from = self.cursor.pos;
        Ok(fits)
    }

    fn part(&mut self, field: Field) -> bool {
        let literal = self.cursor.text(self.literal_from, self.cursor.pos);
        let at = self.shape.literals.len();
        self.shape.literals.extend_from_slice(literal);
        // Padded so that whole blocks can be compared.
        let padded = self.shape.literals.len().next_multiple_of(WIDTH).max(at + WIDTH);
        self.shape.literals.resize(padded, 0);
        self.shape.parts.push(Part { literal: at as u32, length: literal.len() as u32, field });
        literal.len() <= LONGEST_LITERAL
    }
}
