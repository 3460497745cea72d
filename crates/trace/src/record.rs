//! One event on its way from a reader into the columns.

use crate::args::{Arg, ArgSet};
use crate::side_tables::float_to_slot;
use crate::strings::StrId;
use crate::tag::TagId;
use crate::time::Ns;
use crate::track::Id;

/// The fields of one event. Readers fill one record again and again; nothing is allocated per event.
#[derive(Clone, Debug)]
pub struct Record {
    pub tag: TagId,
    pub name: StrId,
    pub pid: Id,
    pub tid: Id,
    pub start: Option<Ns>,
    pub dur: Option<Ns>,
    /// The `id` of a flow element.
    pub flow_id: Id,
    pub device: Id,
    pub stream: Id,
    present: ArgSet,
    tables: u32,
    values: [i64; Arg::COUNT],
    /// Numbers under keys that have no column: readings of counters.
    pub readings: Vec<(StrId, f64)>,
}

impl Default for Record {
    fn default() -> Self {
        Record {
            tag: TagId::default(),
            name: StrId::EMPTY,
            pid: Id::Absent,
            tid: Id::Absent,
            start: None,
            dur: None,
            flow_id: Id::Absent,
            device: Id::Absent,
            stream: Id::Absent,
            present: ArgSet::EMPTY,
            tables: 0,
            values: [0; Arg::COUNT],
            readings: Vec::new(),
        }
    }
}

impl Record {
    /// Empties the record for the next event.
    #[inline]
    pub fn clear(&mut self) {
        self.tag = TagId::default();
        self.name = StrId::EMPTY;
        self.pid = Id::Absent;
        self.tid = Id::Absent;
        self.start = None;
        self.dur = None;
        self.flow_id = Id::Absent;
        self.clear_args();
    }

    /// Forgets the arguments: a second `args` object replaces the first.
    #[inline]
    pub fn clear_args(&mut self) {
        self.device = Id::Absent;
        self.stream = Id::Absent;
        self.present = ArgSet::EMPTY;
        self.tables = 0;
        self.readings.clear();
    }

    /// Says at once which arguments are about to be given by [`Record::put`]: for readers that know an
    /// event's shape before they read its values.
    #[inline]
    pub fn expect(&mut self, present: ArgSet, tables: u32) {
        self.present = present;
        self.tables = tables;
    }

    /// A value of an argument announced by [`Record::expect`].
    #[inline]
    pub fn put(&mut self, arg: Arg, slot: i64) {
        self.values[arg as usize] = slot;
    }

    pub fn set_int(&mut self, arg: Arg, value: i64) {
        self.set(arg, value);
    }

    pub fn set_float(&mut self, arg: Arg, value: f64) {
        self.set(arg, float_to_slot(value));
    }

    pub fn set_text(&mut self, arg: Arg, value: StrId) {
        self.set(arg, i64::from(value.0));
    }

    fn set(&mut self, arg: Arg, slot: i64) {
        self.values[arg as usize] = slot;
        self.present = self.present.with(arg);
        if arg.is_stored() {
            self.tables |= 1 << arg.group() as u8;
        }
    }

    /// Takes an argument back: a later duplicate of its key had no value.
    pub fn unset(&mut self, arg: Arg) {
        self.present = self.present.without(arg);
        self.tables = self.present.tables();
    }

    pub fn present(&self) -> ArgSet {
        self.present
    }

    pub fn tables(&self) -> u32 {
        self.tables
    }

    pub fn values(&self) -> &[i64; Arg::COUNT] {
        &self.values
    }

    pub fn int(&self, arg: Arg) -> Option<i64> {
        self.present.has(arg).then(|| self.values[arg as usize])
    }

    pub fn text(&self, arg: Arg) -> Option<StrId> {
        self.int(arg).map(|slot| StrId(slot as u32))
    }
}
