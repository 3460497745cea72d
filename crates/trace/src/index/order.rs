//! All rows by track, then start, longer ones first, then file order: the order in which a track is drawn,
//! nested and searched.

use crate::trace::{Row, Trace};
use crate::track::TrackId;

#[derive(Debug, Default)]
pub struct Order {
    rows: Vec<Row>,
    /// Where each track begins in `rows`; one more entry at the end.
    first: Vec<u32>,
}

impl Order {
    pub(super) fn new(trace: &Trace) -> Order {
        let (mut rows, first) = group_by(trace, trace.tracks.len(), |row| trace.track_id(row).0 as usize);
        for range in first.windows(2) {
            sort_by_start(trace, &mut rows[range[0] as usize..range[1] as usize]);
        }
        Order { rows, first }
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn track(&self, track: TrackId) -> &[Row] {
        let i = track.0 as usize;
        &self.rows[self.first[i] as usize..self.first[i + 1] as usize]
    }
}

/// Rows sorted into groups in one pass, file order kept; and where each group begins.
pub(super) fn group_by(
    trace: &Trace,
    groups: usize,
    group_of: impl Fn(Row) -> usize,
) -> (Vec<Row>, Vec<u32>) {
    let mut first = vec![0u32; groups + 1];
    for row in trace.rows() {
        first[group_of(row) + 1] += 1;
    }
    for i in 0..groups {
        first[i + 1] += first[i];
    }
    let mut next = first.clone();
    let mut rows = vec![0; trace.len()];
    for row in trace.rows() {
        let slot = &mut next[group_of(row)];
        rows[*slot as usize] = row;
        *slot += 1;
    }
    (rows, first)
}

/// Stable and adaptive: rows come in file order, which is nearly the order of time.
pub(super) fn sort_by_start(trace: &Trace, rows: &mut [Row]) {
    rows.sort_by_key(|row| (trace.start(*row), std::cmp::Reverse(trace.dur(*row))));
}
