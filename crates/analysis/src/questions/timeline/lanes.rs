//! Events in lanes, so that nothing in a lane overlaps: what is inside another event goes below it, and what overlaps
//! another goes to the next lane that is free.

use gpuscope_trace::{Class, Kind, Ns, Row, View};

/// What a slice is, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum SliceKind {
    Host,
    Compute,
    Communication,
    Copy,
    Memset,
}

impl SliceKind {
    pub const ALL: [SliceKind; 5] =
        [SliceKind::Host, SliceKind::Compute, SliceKind::Communication, SliceKind::Copy, SliceKind::Memset];

    pub fn label(self) -> &'static str {
        match self {
            SliceKind::Host => "host",
            SliceKind::Compute => "compute",
            SliceKind::Communication => "communication",
            SliceKind::Copy => "copy",
            SliceKind::Memset => "memset",
        }
    }
}

impl From<Kind> for SliceKind {
    fn from(kind: Kind) -> SliceKind {
        match kind {
            Kind::Computation => SliceKind::Compute,
            Kind::Communication => SliceKind::Communication,
            Kind::Memcpy => SliceKind::Copy,
            Kind::Memset => SliceKind::Memset,
        }
    }
}

/// Slices by start, none of which overlap, one value for each in every column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    pub start: Vec<Ns>,
    pub end: Vec<Ns>,
    /// In the picture's names.
    pub name: Vec<u32>,
    pub kind: Vec<u8>,
    /// In the picture's notes; 0 for none.
    pub note: Vec<u32>,
}

impl Lane {
    pub fn len(&self) -> usize {
        self.start.len()
    }

    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// The last lane of very many takes what has no room elsewhere: there a slice begins when the one before has ended.
    pub(super) fn untangle(&mut self) {
        let mut end_before = Ns(i64::MIN);
        for (start, end) in self.start.iter_mut().zip(&mut self.end) {
            *start = (*start).max(end_before);
            *end = (*end).max(*start);
            end_before = *end;
        }
    }
}

/// Rows in lanes, by start; each lane's rows do not overlap.
pub(super) type RowLanes = Vec<Vec<Row>>;

/// A thread's events, by start and longer first: each at least one lane below what is around it.
pub(super) fn nested(view: View<'_>, rows: &[Row], depth_of: &mut [u32]) -> RowLanes {
    let trace = view.trace;
    let nesting = view.index.nesting(trace);
    let mut lanes = Lanes::default();
    for &row in rows {
        let Some((start, end)) = trace.span(row) else { continue };
        // What is around it may have been left out; then what is around that counts.
        let above = nesting.parent(row).map_or(0, |parent| depth_of[parent as usize]);
        let lane = lanes.put(row, (start, end), above as usize);
        depth_of[row as usize] = lane as u32 + 1;
    }
    lanes.rows
}

/// A stream's events: one lane, and more where they overlap.
pub(super) fn packed(rows: impl Iterator<Item = (Row, (Ns, Ns))>) -> RowLanes {
    let mut lanes = Lanes::default();
    for (row, span) in rows {
        lanes.put(row, span, 0);
    }
    lanes.rows
}

#[derive(Default)]
struct Lanes {
    rows: RowLanes,
    ends: Vec<Ns>,
}

/// Lanes beyond this are looked for no further: the last one takes the rest, however many overlap there.
const MOST_LANES: usize = 512;

impl Lanes {
    fn put(&mut self, row: Row, (start, end): (Ns, Ns), from: usize) -> usize {
        let from = from.min(MOST_LANES - 1);
        let lane = (from..MOST_LANES - 1).find(|lane| self.ends.get(*lane).is_none_or(|end| *end <= start));
        let lane = lane.unwrap_or(MOST_LANES - 1);
        if lane >= self.rows.len() {
            self.rows.resize_with(lane + 1, Vec::new);
            self.ends.resize(lane + 1, Ns(i64::MIN));
        }
        self.rows[lane].push(row);
        self.ends[lane] = self.ends[lane].max(end);
        lane
    }
}

/// Host events that are worth a slice: what the profiler writes about itself is not.
pub(super) fn is_drawn(class: Class) -> bool {
    class.is_host() || class == Class::OsRuntime
}
