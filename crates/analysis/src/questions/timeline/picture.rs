//! All tracks of all ranks on one clock, with the names and notes of their slices and the arrows between them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use gpuscope_table::Unit;
use gpuscope_trace::{Arg, Class, GpuEvent, Id, Ns, Row, StrId, View};
use rustc_hash::FxHashMap;

use super::counters;
use super::lanes::{self, Lane, RowLanes, SliceKind};
use crate::collectives::{Matched, RankParts};
use crate::model::clocks::Offsets;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackSort {
    Steps,
    Gpu,
    Host,
    Counter,
}

impl TrackSort {
    pub fn label(self) -> &'static str {
        match self {
            TrackSort::Steps => "steps",
            TrackSort::Gpu => "gpu",
            TrackSort::Host => "host",
            TrackSort::Counter => "counter",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// `rank 0`
    pub group: String,
    pub title: String,
    pub sort: TrackSort,
    pub lanes: Vec<Lane>,
    pub counter: Option<Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    pub unit: Unit,
    pub time: Vec<Ns>,
    pub value: Vec<i64>,
}

/// What the picture does not show, since it would be too much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    pub host: u64,
    /// None of them was longer than this.
    pub host_longest: Ns,
    pub gpu: u64,
    pub gpu_longest: Ns,
}

/// A rank on the common clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawnRank {
    pub rank: u32,
    /// To be added to a time of its file to get one of the picture; clocks that drift apart meet in the middle.
    pub shift: Ns,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    pub ranks: Vec<DrawnRank>,
    /// The instant that times are counted from, as the first rank's file has it.
    pub start: Ns,
    pub length: Ns,
    pub names: Vec<String>,
    /// Arguments worth seeing; the first is empty.
    pub notes: Vec<String>,
    pub tracks: Vec<Track>,
    /// From a launching call to what it launched: slices, counted through all lanes of all tracks.
    pub arrows: Vec<(u32, u32)>,
    pub left_out: LeftOut,
}

/// One rank's part, in its own time.
#[derive(Debug)]
pub(super) struct OfRank {
    names: Vec<String>,
    notes: Vec<String>,
    tracks: Vec<Track>,
    arrows: Vec<(u32, u32)>,
    left_out: LeftOut,
    parts: Arc<RankParts>,
}

impl OfRank {
    pub(super) fn new(rank: u32, view: View<'_>, most: usize) -> OfRank {
        let kept = Kept::of(view, most);
        let group = format!("rank {rank}");
        let mut texts = Texts::new(view);
        let mut slice_of = vec![u32::MAX; view.trace.len()];
        let mut tracks = vec![texts.track(&group, "steps".to_owned(), TrackSort::Steps, steps(view))];
        tracks.extend(
            gpu(view, &kept)
                .into_iter()
                .map(|(title, rows)| texts.track(&group, title, TrackSort::Gpu, rows)),
        );
        tracks.extend(counters::of(rank, view, &group));
        tracks.extend(
            threads(view, &kept)
                .into_iter()
                .map(|(title, rows)| texts.track(&group, title, TrackSort::Host, rows)),
        );
        tracks.extend(
            system_calls(view, &kept)
                .into_iter()
                .map(|(title, rows)| texts.track(&group, title, TrackSort::Host, rows)),
        );
        // A step's annotation is in two tracks; the later number, on its thread, is the one that counts.
        for (slice, row) in texts.rows.iter().enumerate() {
            slice_of[*row as usize] = slice as u32;
        }
        let arrows = view.gpu().filter_map(|event| {
            let slice = |row: Row| Some(slice_of[row as usize]).filter(|slice| *slice != u32::MAX);
            Some((slice(view.launch(event.row)?)?, slice(event.row)?))
        });
        let mut arrows: Vec<(u32, u32)> = arrows.collect();
        arrows.sort_unstable_by_key(|(_, to)| *to);
        tracks.retain(|track| track.counter.is_some() || !track.lanes.is_empty());
        OfRank {
            arrows,
            tracks,
            left_out: kept.left_out,
            parts: RankParts::of(rank, view),
            names: texts.names,
            notes: texts.notes,
        }
    }
}

/// Which events there is room for: the longest.
struct Kept {
    gpu: Room,
    host: Room,
    left_out: LeftOut,
}

/// All that is longer is kept, and so many of exactly that length.
struct Room {
    longer_than: Ns,
    as_long: Cell<usize>,
}

impl Room {
    /// For so many, and what is left out of all.
    fn of<L: Iterator<Item = Ns>>(lengths: impl Fn() -> L, most: usize) -> (Room, u64) {
        let all = lengths().count();
        if all <= most {
            return (Room { longer_than: Ns(-1), as_long: Cell::new(0) }, 0);
        }
        let mut lengths: Vec<Ns> = lengths().map(|length| length.max(Ns::ZERO)).collect();
        let (longer, first_out, _) = lengths.select_nth_unstable_by(most, |a, b| b.cmp(a));
        let as_long = longer.iter().filter(|length| *length == first_out).count();
        (Room { longer_than: *first_out, as_long: Cell::new(as_long) }, (all - most) as u64)
    }

    fn takes(&self, length: Ns) -> bool {
        let length = length.max(Ns::ZERO);
        let left = self.as_long.get();
        if length == self.longer_than && left > 0 {
            self.as_long.set(left - 1);
            return true;
        }
        length > self.longer_than
    }
}

impl Kept {
    /// Events of the host give way to those of the GPU.
    fn of(view: View<'_>, most: usize) -> Kept {
        let (gpu, gpu_gone) = Room::of(|| view.gpu().map(GpuEvent::dur), most);
        let room = most.saturating_sub(view.gpu().count());
        let drawn = |row: &Row| view.selection.has(*row) && lanes::is_drawn(view.trace.class(*row));
        let spans = || view.trace.rows().filter(drawn).filter_map(|row| view.trace.span(row));
        let (host, host_gone) = Room::of(|| spans().map(|(start, end)| end - start), room);
        let left_out = LeftOut {
            host: host_gone,
            host_longest: host.longer_than.max(Ns::ZERO),
            gpu: gpu_gone,
            gpu_longest: gpu.longer_than.max(Ns::ZERO),
        };
        Kept { gpu, host, left_out }
    }
}

/// The steps in a lane of their own.
fn steps(view: View<'_>) -> RowLanes {
    let spans = view.steps().iter().filter_map(|step| Some((step.row, view.trace.span(step.row)?)));
    lanes::packed(spans)
}

type Spanned = (Row, (Ns, Ns));

fn gpu(view: View<'_>, kept: &Kept) -> Vec<(String, RowLanes)> {
    let mut streams: BTreeMap<(i64, Option<i64>), Vec<Spanned>> = BTreeMap::new();
    let events = view.gpu().filter(|event| kept.gpu.takes(event.dur()));
    for event in events {
        let stream = streams.entry((view.device(event.row), view.stream(event.row))).or_default();
        stream.push((event.row, (event.start, event.end)));
    }
    let one_device =
        streams.keys().all(|(device, _)| Some(*device) == streams.keys().next().map(|key| key.0));
    let title = |(device, stream): (i64, Option<i64>)| {
        let stream = stream.map_or("other streams".to_owned(), |stream| format!("stream {stream}"));
        if one_device { stream } else { format!("device {device}, {stream}") }
    };
    streams.into_iter().map(|(key, rows)| (title(key), lanes::packed(rows.into_iter()))).collect()
}

fn threads(view: View<'_>, kept: &Kept) -> Vec<(String, RowLanes)> {
    let trace = view.trace;
    let mut depth_of = vec![0; trace.len()];
    let long = |row: &Row| trace.span(*row).is_some_and(|(start, end)| kept.host.takes(end - start));
    let threads = view.index.host_threads(trace).filter_map(|rows| {
        let rows: Vec<Row> = rows
            .iter()
            .copied()
            .filter(|row| view.selection.has(*row) && lanes::is_drawn(trace.class(*row)) && long(row))
            .collect();
        let key = trace.track(*rows.first()?).key;
        let named = trace.tracks.thread_label(key.pid, key.tid).map(|label| trace.strings.get(label.name));
        let number = match key.tid {
            Id::Int(tid) => tid.to_string(),
            Id::Text(tid) => trace.strings.get(tid).to_owned(),
            Id::Absent => String::new(),
        };
        let title = match named {
            Some(name) if !name.is_empty() && name.contains(&number) => name.to_owned(),
            Some(name) if !name.is_empty() => format!("{name} {number}"),
            _ => format!("thread {number}"),
        };
        Some((title, lanes::nested(view, &rows, &mut depth_of)))
    });
    threads.collect()
}

/// Calls of the operating system, on rows of their own. Those that last beyond the recording say nothing about it.
fn system_calls(view: View<'_>, kept: &Kept) -> Vec<(String, RowLanes)> {
    let trace = view.trace;
    let Some((from, to)) = trace.extent() else { return Vec::new() };
    let mut threads: BTreeMap<String, Vec<Spanned>> = BTreeMap::new();
    let wanted = |row: &Row| trace.class(*row) == Class::OsRuntime && view.selection.has(*row);
    for row in trace.rows().filter(wanted) {
        let Some((start, end)) = trace.span(row).filter(|(start, end)| from <= *start && *end <= to) else {
            continue;
        };
        if kept.host.takes(end - start)
            && let Id::Text(title) = trace.track(row).key.tid
        {
            threads.entry(trace.strings.get(title).to_owned()).or_default().push((row, (start, end)));
        }
    }
    let lanes = |mut rows: Vec<Spanned>| {
        rows.sort_by_key(|(_, (start, end))| (*start, std::cmp::Reverse(*end)));
        lanes::packed(rows.into_iter())
    };
    threads.into_iter().map(|(title, rows)| (format!("thread {title}"), lanes(rows))).collect()
}

/// Gives names and notes numbers of their own, in order of first use.
struct Texts<'a> {
    view: View<'a>,
    names: Vec<String>,
    number_of: FxHashMap<StrId, u32>,
    notes: Vec<String>,
    note_of: FxHashMap<StrId, u32>,
    kind_of: FxHashMap<Row, SliceKind>,
    /// The row of every slice so far.
    rows: Vec<Row>,
}

impl<'a> Texts<'a> {
    fn new(view: View<'a>) -> Texts<'a> {
        Texts {
            view,
            names: Vec::new(),
            number_of: FxHashMap::default(),
            notes: vec![String::new()],
            note_of: FxHashMap::default(),
            kind_of: view.gpu().map(|event| (event.row, event.kind.into())).collect(),
            rows: Vec::new(),
        }
    }

    fn track(&mut self, group: &str, title: String, sort: TrackSort, lanes: RowLanes) -> Track {
        let lanes = lanes.into_iter().map(|rows| self.lane(rows)).collect();
        Track { group: group.to_owned(), title, sort, lanes, counter: None }
    }

    fn lane(&mut self, rows: Vec<Row>) -> Lane {
        let mut lane = Lane::default();
        for row in rows {
            let Some((start, end)) = self.view.trace.span(row) else { continue };
            lane.start.push(start);
            lane.end.push(end);
            lane.name.push(self.name(row));
            lane.kind.push(self.kind_of.get(&row).copied().unwrap_or(SliceKind::Host) as u8);
            lane.note.push(self.note(row));
            self.rows.push(row);
        }
        lane
    }

    fn name(&mut self, row: Row) -> u32 {
        let trace = self.view.trace;
        let names = &mut self.names;
        *self.number_of.entry(trace.name_id(row)).or_insert_with(|| {
            names.push(trace.name(row).to_owned());
            names.len() as u32 - 1
        })
    }

    /// The shapes of an operator, the grid of a kernel.
    fn note(&mut self, row: Row) -> u32 {
        let trace = self.view.trace;
        let text = trace.args.text(row, Arg::InputDims).or_else(|| trace.args.text(row, Arg::Grid));
        let Some(text) = text else { return 0 };
        let notes = &mut self.notes;
        *self.note_of.entry(text).or_insert_with(|| {
            notes.push(trace.strings.get(text).to_owned());
            notes.len() as u32 - 1
        })
    }
}

impl Picture {
    /// Puts the ranks on one clock, and their names into one list.
    pub(super) fn of(ranks: Vec<OfRank>) -> Picture {
        let matched = Matched::new(ranks.iter().map(|rank| &*rank.parts));
        let offsets = Offsets::of(&matched);
        let mut picture = Picture { notes: vec![String::new()], ..Picture::default() };
        let (mut names, mut notes) = (Numbers::default(), Numbers::default());
        notes.number(&mut picture.notes, "");
        let mut slices = 0;
        let mut members = (0..).zip(&matched.ranks).peekable();
        for rank in ranks {
            let base = Ns(rank.parts.base_ns);
            // Of several inputs for one rank only the first is matched; the others stay as their files have them.
            let member = members.next_if(|(_, member)| member.rank == rank.parts.rank);
            let aligned = |time: &mut Ns| {
                if let Some((member, _)) = member {
                    *time = offsets.aligned(member, *time + base) - offsets.reference_base(&matched, member);
                }
            };
            let middle = middle(&rank.tracks);
            let mut shifted = middle;
            aligned(&mut shifted);
            picture.ranks.push(DrawnRank { rank: rank.parts.rank, shift: shifted - middle });
            let name_of: Vec<u32> =
                rank.names.iter().map(|name| names.number(&mut picture.names, name)).collect();
            let note_of: Vec<u32> =
                rank.notes.iter().map(|note| notes.number(&mut picture.notes, note)).collect();
            let before = slices;
            for mut track in rank.tracks {
                for lane in &mut track.lanes {
                    lane.start.iter_mut().chain(&mut lane.end).for_each(aligned);
                    lane.name.iter_mut().for_each(|name| *name = name_of[*name as usize]);
                    lane.note.iter_mut().for_each(|note| *note = note_of[*note as usize]);
                    slices += lane.len() as u32;
                }
                track.counter.iter_mut().flat_map(|counter| &mut counter.time).for_each(aligned);
                picture.tracks.push(track);
            }
            picture.arrows.extend(rank.arrows.into_iter().map(|(from, to)| (before + from, before + to)));
            picture.left_out.add(rank.left_out);
        }
        picture.start_at_zero();
        picture
    }

    fn start_at_zero(&mut self) {
        let lanes = || self.tracks.iter().flat_map(|track| &track.lanes);
        let first = lanes().filter_map(|lane| lane.start.first()).min().copied().unwrap_or(Ns::ZERO);
        let last = lanes().filter_map(|lane| lane.end.last()).max().copied().unwrap_or(first);
        (self.start, self.length) = (first, last - first);
        self.ranks.iter_mut().for_each(|rank| rank.shift -= first);
        for track in &mut self.tracks {
            for lane in &mut track.lanes {
                lane.start.iter_mut().chain(&mut lane.end).for_each(|time| *time -= first);
                lane.untangle();
            }
            let counted = track.counter.iter_mut().flat_map(|counter| &mut counter.time);
            counted.for_each(|time| *time = (*time - first).max(Ns::ZERO));
        }
    }
}

/// Half way between the first start and the last end.
fn middle(tracks: &[Track]) -> Ns {
    let lanes = || tracks.iter().flat_map(|track| &track.lanes);
    let first = lanes().filter_map(|lane| lane.start.first()).min().map_or(0, |first| first.0);
    let last = lanes().filter_map(|lane| lane.end.last()).max().map_or(first, |last| last.0);
    Ns(first.midpoint(last))
}

impl LeftOut {
    fn add(&mut self, other: LeftOut) {
        *self = LeftOut {
            host: self.host + other.host,
            host_longest: self.host_longest.max(other.host_longest),
            gpu: self.gpu + other.gpu,
            gpu_longest: self.gpu_longest.max(other.gpu_longest),
        };
    }
}

/// Texts of all ranks, each once.
#[derive(Default)]
struct Numbers(FxHashMap<String, u32>);

impl Numbers {
    fn number(&mut self, all: &mut Vec<String>, text: &str) -> u32 {
        if let Some(number) = self.0.get(text) {
            return *number;
        }
        let number = self.0.len() as u32;
        if all.len() as u32 <= number {
            all.push(text.to_owned());
        }
        self.0.insert(text.to_owned(), number);
        number
    }
}
