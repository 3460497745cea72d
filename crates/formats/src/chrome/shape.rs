//! Learned shapes: most of an event's bytes are the same for every event of its sort.
//!
//! A producer writes the same keys in the same order with the same white space between them. So the bytes
//! between the values of an event, learned once, tell in a few vector comparisons that the next event is laid
//! out alike, and only its values need to be read. Shapes that begin alike share their beginning: together they
//! are a tree, each node a run of literal bytes and the value behind it, and reading an event is one walk from
//! the root to a leaf. Where several nodes may follow, the one taken last time is tried first. An event that
//! leaves the tree is read by [`super::event`], and its shape is added.

use gpuscope_trace::side_tables::{ABSENT, float_to_slot};
use gpuscope_trace::{Arg, ArgSet, ArgType, Ns, Phase, TagId};

use super::cursor::{Cursor, Step, Stop};
use super::event::{EventReader, Key, next_raw_key};
use super::literal::Literal;

/// No producer is known to come near these; beyond them nothing new is learned.
const MOST_NODES: usize = 8192;
const MOST_BRANCHES: usize = 64;
/// Events with more or longer fields than this are too odd to be worth a shape.
const MOST_FIELDS: usize = 64;
const LONGEST_LITERAL: usize = 512;

const ROOT: usize = 0;
/// The end of a shape that is being learned, its leaf not yet numbered.
const NEW_LEAF: Field = Field::End(u32::MAX);

/// What stands behind a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// Nothing: where the tree begins.
    Root,
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
    /// The event is whole, and what it is stands in this leaf.
    End(u32),
}

/// What a whole event of one shape is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaf {
    tag: TagId,
    present: ArgSet,
    tables: u32,
}

#[derive(Debug)]
struct Node {
    /// Bytes that are the same in all events that pass here.
    literal: Literal,
    field: Field,
    /// The branch to try first.
    recent: u32,
}

impl Node {
    fn new(literal: Literal, field: Field) -> Node {
        Node { literal, field, recent: 0 }
    }
}

#[derive(Debug)]
pub(super) struct Shapes {
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    /// Per node, all that may follow it.
    branches: Vec<Vec<u32>>,
    /// Per first node of a shape, the first node of the shape that came next last time.
    next_first: Vec<u32>,
    last_first: usize,
}

impl Default for Shapes {
    fn default() -> Self {
        // No event begins like this, so that the root never follows by mistake.
        let root = Node::new(Literal::new(b"\xff\xff"), Field::Root);
        Shapes {
            nodes: vec![root],
            leaves: Vec::new(),
            branches: vec![Vec::new()],
            next_first: vec![0],
            last_first: ROOT,
        }
    }
}

impl Shapes {
    /// Reads the event at the cursor and pushes it.
    #[inline(always)]
    pub(super) fn read(&mut self, reader: &mut EventReader, cursor: &mut Cursor<'_>) -> Step<()> {
        let start = cursor.pos;
        self.nodes[ROOT].recent = self.next_first[self.last_first];
        if self.walk(reader, cursor) == Ok(true) {
            let first = self.nodes[ROOT].recent;
            self.next_first[self.last_first] = first;
            self.last_first = first as usize;
            return Ok(());
        }
        cursor.pos = self.read_and_learn(reader, cursor.rewound(start))?;
        Ok(())
    }

    /// Reads an event of no known shape, and learns its shape. Answers where it ends.
    #[cold]
    #[inline(never)]
    fn read_and_learn(&mut self, reader: &mut EventReader, mut cursor: Cursor<'_>) -> Step<usize> {
        let start = cursor.pos;
        reader.read(&mut cursor)?;
        self.learn(reader, &cursor, start);
        Ok(cursor.pos)
    }

    /// Reads an event of a known shape and pushes it; `false` if it has another.
    #[inline(always)]
    fn walk(&mut self, reader: &mut EventReader, cursor: &mut Cursor<'_>) -> Step<bool> {
        reader.record.clear();
        let mut at = ROOT;
        loop {
            let mut next = self.nodes[at].recent as usize;
            let mut node = &self.nodes[next];
            if !cursor.is_literal(&node.literal) {
                let Some(other) = self.other_branch(at, *cursor) else { return Ok(false) };
                next = other;
                node = &self.nodes[next];
            }
            at = next;
            cursor.pos += node.literal.length;
            match node.field {
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
                Field::Root => return Ok(false),
                Field::End(leaf) => {
                    if cursor.is_past_end() {
                        return Err(Stop::Incomplete);
                    }
                    let leaf = &self.leaves[leaf as usize];
                    reader.record.tag = leaf.tag;
                    reader.record.expect(leaf.present, leaf.tables);
                    reader.builder.push(&reader.record);
                    return Ok(true);
                }
            }
        }
    }

    /// The node behind `at` whose literal stands at the cursor, if it is not the one that was tried first.
    #[inline(never)]
    fn other_branch(&mut self, at: usize, cursor: Cursor<'_>) -> Option<usize> {
        let is_here = |branch: &&u32| cursor.is_literal(&self.nodes[**branch as usize].literal);
        let found = *self.branches[at].iter().find(is_here)?;
        self.nodes[at].recent = found;
        Some(found as usize)
    }

    /// Adds the shape of the event that has just been read from `start` to the cursor, unless it is one that
    /// bytes alone cannot tell: escaped or repeated keys, free counters, fields of unusual types.
    fn learn(&mut self, reader: &EventReader, read: &Cursor<'_>, start: usize) {
        if reader.has_readings() {
            return;
        }
        let mut learner = Learner::new(read.rewound(start), reader.record.tag);
        if learner.event(reader) == Ok(true) && learner.parts.len() <= MOST_FIELDS {
            let tables = learner.leaf.present.tables();
            self.insert(learner.parts, Leaf { tables, ..learner.leaf });
        }
    }

    fn insert(&mut self, parts: Vec<(Literal, Field)>, leaf: Leaf) {
        let mut at = ROOT;
        let known = self.leaves.iter().position(|other| *other == leaf);
        let number = known.unwrap_or(self.leaves.len()) as u32;
        if known.is_none() {
            self.leaves.push(leaf);
        }
        for (literal, field) in parts {
            let field = if field == NEW_LEAF { Field::End(number) } else { field };
            let is_same = |branch: &&u32| {
                let node = &self.nodes[**branch as usize];
                node.literal == literal && node.field == field
            };
            let next = match self.branches[at].iter().find(is_same) {
                Some(branch) => *branch,
                None if self.nodes.len() >= MOST_NODES || self.branches[at].len() >= MOST_BRANCHES => {
                    return;
                }
                None => {
                    let new = self.nodes.len() as u32;
                    self.nodes.push(Node::new(literal, field));
                    self.next_first.push(new);
                    self.branches.push(Vec::new());
                    self.branches[at].push(new);
                    new
                }
            };
            self.nodes[at].recent = next;
            at = next as usize;
        }
    }
}

struct Learner<'t> {
    cursor: Cursor<'t>,
    literal_from: usize,
    leaf: Leaf,
    parts: Vec<(Literal, Field)>,
}

impl<'t> Learner<'t> {
    fn new(cursor: Cursor<'t>, tag: TagId) -> Learner<'t> {
        let leaf = Leaf { tag, present: ArgSet::EMPTY, tables: 0 };
        Learner { literal_from: cursor.pos, cursor, leaf, parts: Vec::new() }
    }

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
        let is_event = seen.contains(&Key::Phase) && reader.builder.phase(self.leaf.tag) != Phase::Other;
        Ok(is_event && self.part(NEW_LEAF))
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
            self.leaf.present = self.leaf.present.with(arg);
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
        self.parts.push((Literal::new(literal), field));
        literal.len() <= LONGEST_LITERAL
    }
}
