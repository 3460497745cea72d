//! Where an event happened: process, thread, device and stream as one interned handle.

use rustc_hash::FxHashMap;

use crate::strings::StrId;

/// A process, thread or stream id as a trace writes it: a number of up to 64 bits, a string, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    #[default]
    Absent,
    Int(i64),
    Text(StrId),
}

impl Id {
    pub fn int(self) -> Option<i64> {
        match self {
            Id::Int(value) => Some(value),
            _ => None,
        }
    }
}

/// Names one [`Track`] of one trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackId(pub u32);

/// Names one (process, thread) pair of one trace. Several tracks may share a thread: a host operator that
/// carries a `stream` argument still runs on its thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadId(pub u32);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TrackKey {
    pub pid: Id,
    pub tid: Id,
    pub device: Id,
    pub stream: Id,
}

const RECENT: usize = 64;

impl TrackKey {
    #[inline]
    fn slot(self) -> usize {
        let bits = |id: Id| match id {
            Id::Absent => 0,
            Id::Int(value) => value as u64,
            Id::Text(text) => u64::from(text.0),
        };
        let mixed = bits(self.pid)
            ^ bits(self.tid).rotate_left(3)
            ^ bits(self.stream).rotate_left(5)
            ^ bits(self.device);
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % RECENT
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Track {
    pub key: TrackKey,
    pub thread: ThreadId,
    /// The device that GPU events on this track ran on.
    pub device: i64,
    /// The stream, if the trace gives it as a number.
    pub stream: Option<i64>,
    /// The track is a GPU stream by its name alone (XLA), whatever the category of its events.
    pub xla_stream: bool,
}

/// Names of a process or thread from metadata elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    pub name: StrId,
    pub labels: StrId,
    pub sort_index: Option<i64>,
}

#[derive(Clone, Debug, Default)]
pub struct Tracks {
    all: Vec<Track>,
    by_key: FxHashMap<TrackKey, TrackId>,
    threads: Vec<(Id, Id)>,
    by_thread: FxHashMap<(Id, Id), ThreadId>,
    /// Recently met keys by a few of their bits: events of a handful of tracks take turns.
    recent: Vec<(TrackKey, TrackId)>,
    pub(crate) process_labels: FxHashMap<Id, Label>,
    pub(crate) thread_labels: FxHashMap<(Id, Id), Label>,
}

impl Tracks {
    #[inline]
    pub fn intern(&mut self, key: TrackKey) -> TrackId {
        let slot = key.slot();
        match self.recent.get(slot) {
            Some((recent, id)) if *recent == key => *id,
            _ => self.intern_slowly(key, slot),
        }
    }

    #[cold]
    #[inline(never)]
    fn intern_slowly(&mut self, key: TrackKey, slot: usize) -> TrackId {
        let id = match self.by_key.get(&key) {
            Some(id) => *id,
            None => self.insert(key),
        };
        if self.recent.is_empty() {
            self.recent = vec![(key, id); RECENT];
        }
        self.recent[slot] = (key, id);
        id
    }

    fn insert(&mut self, key: TrackKey) -> TrackId {
        let next_thread = ThreadId(self.threads.len() as u32);
        let thread = *self.by_thread.entry((key.pid, key.tid)).or_insert(next_thread);
        if thread == next_thread {
            self.threads.push((key.pid, key.tid));
        }
        let id = TrackId(self.all.len() as u32);
        let device = key.device.int().or(key.pid.int()).unwrap_or(0);
        self.all.push(Track { key, thread, device, stream: key.stream.int(), xla_stream: false });
        self.by_key.insert(key, id);
        id
    }

    pub fn get(&self, id: TrackId) -> &Track {
        &self.all[id.0 as usize]
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Process and thread id of a thread handle.
    pub fn thread(&self, id: ThreadId) -> (Id, Id) {
        self.threads[id.0 as usize]
    }

    pub fn iter(&self) -> impl Iterator<Item = (TrackId, &Track)> {
        self.all.iter().enumerate().map(|(i, track)| (TrackId(i as u32), track))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Track> {
        self.all.iter_mut()
    }

    pub fn process_label(&self, pid: Id) -> Option<&Label> {
        self.process_labels.get(&pid)
    }

    pub fn thread_label(&self, pid: Id, tid: Id) -> Option<&Label> {
        self.thread_labels.get(&(pid, tid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(pid: i64, tid: i64, stream: Id) -> TrackKey {
        TrackKey { pid: Id::Int(pid), tid: Id::Int(tid), device: Id::Absent, stream }
    }

    #[test]
    fn tracks_of_one_thread_share_it() {
        let mut tracks = Tracks::default();
        let plain = tracks.intern(key(1, 2, Id::Absent));
        let with_stream = tracks.intern(key(1, 2, Id::Int(7)));
        let other = tracks.intern(key(1, 3, Id::Absent));
        assert_ne!(plain, with_stream);
        assert_eq!(tracks.get(plain).thread, tracks.get(with_stream).thread);
        assert_ne!(tracks.get(plain).thread, tracks.get(other).thread);
        assert_eq!(tracks.intern(key(1, 2, Id::Absent)), plain);
    }

    #[test]
    fn the_device_is_the_argument_else_the_process() {
        let mut tracks = Tracks::default();
        let by_pid = tracks.intern(key(3, 7, Id::Int(7)));
        let by_arg = tracks.intern(TrackKey { device: Id::Int(1), ..key(3, 7, Id::Int(7)) });
        assert_eq!(tracks.get(by_pid).device, 3);
        assert_eq!(tracks.get(by_arg).device, 1);
    }
}
