//! Turns records into columns: the one way into a [`Trace`], whatever the format.

use crate::args::Arg;
use crate::class::Class;
use crate::quality::{Code, Quality};
use crate::record::Record;
use crate::side_tables::ABSENT;
use crate::strings::{StrId, Strings};
use crate::tag::{Phase, TagId};
use crate::time::Ns;
use crate::trace::{Reading, Row, Trace};
use crate::track::{Id, ThreadId, TrackKey};

#[derive(Debug, Default)]
pub struct Builder {
    trace: Trace,
    /// Begin rows and end elements, to be paired when all are known: a file need not be in order of time.
    begins: Vec<Row>,
    ends: Vec<(ThreadId, i64, u32)>,
    invalid_times: u64,
}

impl Builder {
    pub fn strings(&mut self) -> &mut Strings {
        &mut self.trace.strings
    }

    pub fn tag(&mut self, phase: Phase, category: StrId) -> TagId {
        self.trace.tags.intern(phase, category, &self.trace.strings)
    }

    pub fn class(&self, tag: TagId) -> Class {
        self.trace.tags.get(tag).class
    }

    pub fn phase(&self, tag: TagId) -> Phase {
        self.trace.tags.get(tag).phase
    }

    /// Elements seen so far.
    pub fn elements(&self) -> u64 {
        self.trace.elements
    }

    pub fn metadata_mut(&mut self) -> &mut crate::metadata::Metadata {
        &mut self.trace.metadata
    }

    pub fn report(&mut self, quality: Quality) {
        self.trace.quality.push(quality);
    }

    /// Counts an element of the event array that is no event at all.
    pub fn skip_element(&mut self) {
        let tag = self.tag(Phase::Other, StrId::EMPTY);
        self.trace.tags.count(tag);
        self.trace.elements += 1;
    }

    /// The same for an object that says what it is, but not when or how.
    pub fn skip_element_of(&mut self, tag: TagId) {
        self.trace.tags.count(tag);
        self.trace.elements += 1;
    }

    /// Bytes of memory that what was read so far takes.
    pub fn heap_bytes(&self) -> usize {
        // About what an entry of a map takes.
        const ENTRY: usize = 96;
        let tracks = &self.trace.tracks;
        let labels = tracks.process_labels.len() + tracks.thread_labels.len();
        self.trace.heap_bytes()
            + (tracks.len() + labels) * ENTRY
            + self.begins.capacity() * size_of::<Row>()
            + self.ends.capacity() * size_of::<(ThreadId, i64, u32)>()
    }

    #[inline]
    pub fn push(&mut self, record: &Record) {
        let element = self.trace.elements as u32;
        self.trace.elements += 1;
        let phase = self.trace.tags.count(record.tag).phase;
        let key = TrackKey { pid: record.pid, tid: record.tid, device: record.device, stream: record.stream };
        match phase {
            Phase::Metadata => return self.push_label(record),
            Phase::FlowStart | Phase::FlowStep | Phase::FlowEnd => {
                return self.push_flow(record, key, element);
            }
            Phase::End => return self.push_end(record, key, element),
            _ => {}
        }
        let track = self.trace.tracks.intern(key);
        let (start, dur) = self.times(phase, record);
        let row = self.trace.columns.start.len() as Row;
        let columns = &mut self.trace.columns;
        columns.start.push(start);
        columns.dur.push(dur);
        columns.name.push(record.name);
        columns.track.push(track);
        columns.tag.push(record.tag);
        columns.element.push(element);
        self.trace.args.push(row, record.tables(), record.present(), record.values());
        if phase == Phase::Begin {
            self.begins.push(row);
        }
        if !record.readings.is_empty() {
            let readings = record.readings.iter().map(|&(name, value)| Reading { row, name, value });
            self.trace.readings.extend(readings);
        }
    }

    /// Start and duration as the columns hold them: a duration only with a start, and only for events that
    /// last; nothing that would overflow later.
    #[inline]
    fn times(&mut self, phase: Phase, record: &Record) -> (i64, i64) {
        let Some(start) = record.start else { return (ABSENT, ABSENT) };
        if !(-Ns::LIMIT.0..=Ns::LIMIT.0).contains(&start.0) {
            self.invalid_times += 1;
            return (ABSENT, ABSENT);
        }
        match record.dur {
            Some(dur) if phase == Phase::Complete => {
                if dur.0 < -Ns::LIMIT.0 || dur.0 > Ns::LIMIT.0 - start.0.max(0) {
                    self.invalid_times += 1;
                    return (start.0, ABSENT);
                }
                (start.0, dur.0)
            }
            _ => (start.0, ABSENT),
        }
    }

    fn push_flow(&mut self, record: &Record, key: TrackKey, element: u32) {
        let track = self.trace.tracks.intern(key);
        let id = match record.flow_id {
            Id::Absent => return,
            Id::Int(id) => id,
            // Far below any id that a producer counts up to.
            Id::Text(text) => i64::MIN + i64::from(text.0),
        };
        let flows = &mut self.trace.flows;
        flows.id.push(id);
        flows.time.push(record.start.map_or(ABSENT, |t| t.0));
        flows.track.push(track);
        flows.tag.push(record.tag);
        flows.element.push(element);
    }

    fn push_end(&mut self, record: &Record, key: TrackKey, element: u32) {
        let track = self.trace.tracks.intern(key);
        if let Some(time) = record.start {
            self.ends.push((self.trace.tracks.get(track).thread, time.0, element));
        }
    }

    fn push_label(&mut self, record: &Record) {
        let (pid, tid) = (record.pid, record.tid);
        let tracks = &mut self.trace.tracks;
        let what = self.trace.strings.get(record.name);
        let label = if what.starts_with("process_") {
            tracks.process_labels.entry(pid).or_default()
        } else if what.starts_with("thread_") {
            tracks.thread_labels.entry((pid, tid)).or_default()
        } else {
            return;
        };
        if let Some(name) = record.text(Arg::LabelName) {
            label.name = name;
        }
        if let Some(text) = record.text(Arg::LabelText) {
            label.labels = text;
        }
        if let Some(index) = record.int(Arg::SortIndex) {
            label.sort_index = Some(index);
        }
    }

    /// Makes GPU streams of the tracks that `stream_of(process name, thread name)` gives a device and stream
    /// for: formats that say by name alone which rows are GPU work.
    pub fn mark_streams(&mut self, stream_of: impl Fn(&str, &str) -> Option<(i64, i64)>) {
        let mut tracks = std::mem::take(&mut self.trace.tracks);
        let process: Vec<StrId> = tracks
            .iter()
            .map(|(_, t)| tracks.process_label(t.key.pid).map_or(StrId::EMPTY, |label| label.name))
            .collect();
        let thread: Vec<StrId> = tracks
            .iter()
            .map(|(_, t)| tracks.thread_label(t.key.pid, t.key.tid).map_or(StrId::EMPTY, |label| label.name))
            .collect();
        for (i, track) in tracks.iter_mut().enumerate() {
            let strings = &self.trace.strings;
            if let Some((device, stream)) = stream_of(strings.get(process[i]), strings.get(thread[i])) {
                (track.device, track.stream, track.xla_stream) = (device, Some(stream), true);
            }
        }
        self.trace.tracks = tracks;
    }

    pub fn finish(mut self) -> Trace {
        let unmatched = self.pair_begins_with_ends();
        let repaired = self.trace.strings.repaired();
        self.count(
            Code::UnmatchedBegin,
            unmatched,
            "begin or end events without their partner; their time is not counted",
        );
        self.count(
            Code::InvalidTime,
            self.invalid_times,
            "events with a time outside of what 64-bit nanoseconds can hold",
        );
        self.count(
            Code::InvalidUtf8,
            repaired,
            "texts that are not UTF-8; the bad bytes are shown as \u{fffd}",
        );
        self.trace
    }

    fn count(&mut self, code: Code, count: u64, what: &str) {
        if count > 0 {
            self.report(Quality::new(code, count, format!("{count} {what}")));
        }
    }

    /// Gives begin rows the duration to their end; answers how many found no partner.
    fn pair_begins_with_ends(&mut self) -> u64 {
        if self.begins.is_empty() && self.ends.is_empty() {
            return 0;
        }
        let mut points: Vec<(ThreadId, i64, u32, Option<Row>)> =
            self.ends.iter().map(|&(thread, time, element)| (thread, time, element, None)).collect();
        points.extend(self.begins.iter().filter_map(|&row| {
            let start = self.trace.start(row)?;
            Some((self.trace.track(row).thread, start.0, self.trace.element(row), Some(row)))
        }));
        points.sort_unstable();
        let mut open: Vec<(ThreadId, Row)> = Vec::new();
        let mut unmatched = 0;
        for (thread, time, element, begin) in points {
            match begin {
                Some(row) => open.push((thread, row)),
                None => match open.pop() {
                    Some((of, row)) if of == thread => {
                        self.complete(row, time);
                        self.trace.ends.push((row, element));
                    }
                    Some(other) => {
                        open.push(other);
                        unmatched += 1;
                    }
                    None => unmatched += 1,
                },
            }
        }
        self.trace.ends.sort_unstable();
        unmatched + open.len() as u64
    }

    fn complete(&mut self, row: Row, end: i64) {
        let category = self.trace.tag(row).category;
        // The element keeps the phase it was counted under; only the row changes its tag.
        let tag = self.tag(Phase::Complete, category);
        let columns = &mut self.trace.columns;
        let start = columns.start[row as usize];
        columns.tag[row as usize] = tag;
        columns.dur[row as usize] = end.min(Ns::LIMIT.0).saturating_sub(start).max(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(builder: &mut Builder, phase: Phase, name: &str, tid: i64, start: i64, dur: Option<i64>) {
        let mut record = Record::default();
        record.tag = builder.tag(phase, StrId::EMPTY);
        record.name = builder.strings().intern(name.as_bytes());
        record.tid = Id::Int(tid);
        record.start = Some(Ns(start));
        record.dur = dur.map(Ns);
        builder.push(&record);
    }

    #[test]
    fn begin_and_end_make_a_duration_by_time_not_by_file_order() {
        let mut builder = Builder::default();
        event(&mut builder, Phase::End, "", 1, 30, None);
        event(&mut builder, Phase::Begin, "outer", 1, 10, None);
        event(&mut builder, Phase::Begin, "inner", 1, 12, None);
        event(&mut builder, Phase::End, "", 1, 20, None);
        event(&mut builder, Phase::Begin, "never ends", 2, 5, None);
        let trace = builder.finish();
        assert_eq!(trace.span(0), Some((Ns(10), Ns(30))));
        assert_eq!(trace.span(1), Some((Ns(12), Ns(20))));
        assert_eq!(trace.span(2), None);
        assert_eq!((trace.elements, trace.ends), (5, vec![(0, 0), (1, 3)]));
        assert_eq!((trace.quality[0].code, trace.quality[0].count), (Code::UnmatchedBegin, 1));
    }

    #[test]
    fn a_time_that_would_overflow_is_absent_and_counted() {
        let mut builder = Builder::default();
        event(&mut builder, Phase::Complete, "far", 1, i64::MAX - 1, Some(5));
        event(&mut builder, Phase::Complete, "long", 1, 5, Some(i64::MAX - 1));
        event(&mut builder, Phase::Complete, "fine", 1, 5, Some(1));
        let trace = builder.finish();
        assert_eq!(trace.start(0), None);
        assert_eq!((trace.start(1), trace.span(1)), (Some(Ns(5)), None));
        assert_eq!(trace.extent(), Some((Ns(5), Ns(6))));
        assert_eq!((trace.quality[0].code, trace.quality[0].count), (Code::InvalidTime, 2));
    }
}
