//! All rows by track, then start, longer ones first, then file order: the order in which a track is drawn,
//! nested and searched.

use std::cmp::Reverse;

use crate::time::Ns;
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

/// The host events of every thread that have a span, by start, longer ones first, then file order.
#[derive(Debug, Default)]
pub(super) struct ThreadOrder {
    rows: Vec<Row>,
    /// Where each thread begins in `rows`; one more entry at the end.
    first: Vec<u32>,
}

impl ThreadOrder {
    pub(super) fn new(trace: &Trace) -> ThreadOrder {
        let (all, starts) = group_by(trace, trace.tracks.threads(), |row| trace.track(row).thread.0 as usize);
        let mut order = ThreadOrder { rows: Vec::new(), first: vec![0] };
        // The keys beside the rows: sorting looks at them many times.
        let mut thread: Vec<(Ns, Reverse<Option<Ns>>, Row)> = Vec::new();
        for range in starts.windows(2) {
            let rows = &all[range[0] as usize..range[1] as usize];
            let key = |row: &Row| Some((trace.span(*row)?.0, Reverse(trace.dur(*row)), *row));
            thread.clear();
            thread.extend(rows.iter().filter(|row| trace.class(**row).is_host()).filter_map(key));
            // Adaptive: rows come in file order, which is nearly the order of time.
            thread.sort();
            order.rows.extend(thread.iter().map(|(_, _, row)| *row));
            order.first.push(order.rows.len() as u32);
        }
        order
    }

    pub(super) fn threads(&self) -> impl Iterator<Item = &[Row]> {
        self.first.windows(2).map(|range| &self.rows[range[0] as usize..range[1] as usize])
    }
}

/// Rows sorted into groups in one pass, file order kept; and where each group begins.
fn group_by(trace: &Trace, groups: usize, group_of: impl Fn(Row) -> usize) -> (Vec<Row>, Vec<u32>) {
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
fn sort_by_start(trace: &Trace, rows: &mut [Row]) {
    rows.sort_by_key(|row| (trace.start(*row), Reverse(trace.dur(*row))));
}
