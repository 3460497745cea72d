//! The columns of one trace file, complete and no longer changing.

use crate::class::Class;
use crate::holds::{Holds, Payload};
use crate::metadata::Metadata;
use crate::quality::Quality;
use crate::side_tables::{ABSENT, Args};
use crate::strings::{StrId, Strings};
use crate::tag::{Phase, Tag, TagId, Tags};
use crate::time::Ns;
use crate::track::{Track, TrackId, Tracks};

/// The number of an event in the columns: file order, flow and metadata elements left out.
pub type Row = u32;

/// One value per row and column. About 32 bytes an event; the arguments come on top.
#[derive(Debug, Default)]
pub struct Columns {
    pub(crate) start: Vec<i64>,
    pub(crate) dur: Vec<i64>,
    pub(crate) name: Vec<StrId>,
    pub(crate) track: Vec<TrackId>,
    pub(crate) tag: Vec<TagId>,
    pub(crate) element: Vec<u32>,
}

impl Columns {
    pub(crate) fn push_from(&mut self, other: &Columns, row: Row) {
        let i = row as usize;
        self.start.push(other.start[i]);
        self.dur.push(other.dur[i]);
        self.name.push(other.name[i]);
        self.track.push(other.track[i]);
        self.tag.push(other.tag[i]);
        self.element.push(other.element[i]);
    }

    pub fn heap_bytes(&self) -> usize {
        (self.start.capacity() + self.dur.capacity()) * 8
            + (self.name.capacity() + self.track.capacity() + self.tag.capacity() + self.element.capacity())
                * 4
    }
}

/// Arrows between events, as the file gives them.
#[derive(Debug, Default)]
pub struct Flows {
    pub(crate) id: Vec<i64>,
    pub(crate) time: Vec<i64>,
    pub(crate) track: Vec<TrackId>,
    pub(crate) tag: Vec<TagId>,
    pub(crate) element: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPoint {
    pub id: i64,
    pub time: Option<Ns>,
    pub track: TrackId,
    pub tag: TagId,
    /// Index of its element in the file's event array.
    pub element: u32,
}

impl Flows {
    pub(crate) fn push_from(&mut self, other: &Flows, i: usize) {
        self.id.push(other.id[i]);
        self.time.push(other.time[i]);
        self.track.push(other.track[i]);
        self.tag.push(other.tag[i]);
        self.element.push(other.element[i]);
    }

    pub fn len(&self) -> usize {
        self.id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }

    pub fn get(&self, i: usize) -> FlowPoint {
        FlowPoint {
            id: self.id[i],
            time: present(self.time[i]),
            track: self.track[i],
            tag: self.tag[i],
            element: self.element[i],
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = FlowPoint> {
        (0..self.len()).map(|i| self.get(i))
    }
}

/// A number that a counter event or a profiler range gives under a name of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    pub row: Row,
    pub name: StrId,
    pub value: f64,
}

#[derive(Debug, Default)]
pub struct Trace {
    pub strings: Strings,
    pub tags: Tags,
    pub tracks: Tracks,
    pub columns: Columns,
    pub args: Args,
    pub flows: Flows,
    pub readings: Vec<Reading>,
    /// Set for files that hold this and no events.
    pub payload: Option<Payload>,
    /// Rows that were a begin and an end, with the element of the end; by row.
    pub ends: Vec<(Row, u32)>,
    pub metadata: Metadata,
    /// Elements of the file's event array, of every phase.
    pub elements: u64,
    /// One rank of a file that holds several.
    pub is_part: bool,
    /// What the reader found wrong.
    pub quality: Vec<Quality>,
}

fn present(value: i64) -> Option<Ns> {
    (value != ABSENT).then_some(Ns(value))
}

impl Trace {
    /// What the file held.
    pub fn holds(&self) -> Holds {
        self.payload.as_ref().map_or(Holds::Events, Payload::holds)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.columns.start.len()
    }

    pub fn is_empty(&self) -> bool {
        self.columns.start.is_empty()
    }

    pub fn rows(&self) -> std::ops::Range<Row> {
        0..self.len() as Row
    }

    pub fn start(&self, row: Row) -> Option<Ns> {
        present(self.columns.start[row as usize])
    }

    /// The duration as written, which may be negative. Only duration events have one.
    pub fn dur(&self, row: Row) -> Option<Ns> {
        present(self.columns.dur[row as usize])
    }

    /// Start and end of a duration event; a negative duration counts as none.
    #[inline]
    pub fn span(&self, row: Row) -> Option<(Ns, Ns)> {
        let dur = self.columns.dur[row as usize];
        (dur != ABSENT).then(|| {
            let start = self.columns.start[row as usize];
            (Ns(start), Ns(start + dur.max(0)))
        })
    }

    pub fn name_id(&self, row: Row) -> StrId {
        self.columns.name[row as usize]
    }

    pub fn name(&self, row: Row) -> &str {
        self.strings.get(self.name_id(row))
    }

    pub fn track_id(&self, row: Row) -> TrackId {
        self.columns.track[row as usize]
    }

    #[inline]
    pub fn track(&self, row: Row) -> &Track {
        self.tracks.get(self.track_id(row))
    }

    #[inline]
    pub fn tag(&self, row: Row) -> &Tag {
        self.tags.get(self.columns.tag[row as usize])
    }

    pub fn phase(&self, row: Row) -> Phase {
        self.tag(row).phase
    }

    #[inline]
    pub fn class(&self, row: Row) -> Class {
        match self.tag(row).class {
            Class::Uncategorised if self.track(row).xla_stream => Class::XlaDevice,
            class => class,
        }
    }

    /// Index of the row's element in the file's event array.
    pub fn element(&self, row: Row) -> u32 {
        self.columns.element[row as usize]
    }

    /// Every category with its number of elements, flows and metadata included; "" for none.
    pub fn elements_by_category(&self) -> std::collections::BTreeMap<&str, u64> {
        let mut counts = std::collections::BTreeMap::new();
        for tag in self.tags.iter().filter(|tag| tag.elements > 0) {
            *counts.entry(self.strings.get(tag.category)).or_default() += tag.elements;
        }
        counts
    }

    /// First start and last end over all duration events, but for calls of the operating system: threads that serve
    /// nobody wait in them for as long as the process lives.
    pub fn extent(&self) -> Option<(Ns, Ns)> {
        let counts = |row: &Row| self.class(*row) != Class::OsRuntime;
        self.rows()
            .filter(counts)
            .filter_map(|row| self.span(row))
            .reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))
    }

    /// Bytes of memory the columns take.
    pub fn heap_bytes(&self) -> usize {
        self.columns.heap_bytes()
            + self.args.heap_bytes()
            + self.strings.heap_bytes()
            + self.flows.id.capacity() * 28
            + self.readings.capacity() * size_of::<Reading>()
    }
}
