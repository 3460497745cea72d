//! The critical path on top of a trace: its events are marked, and arrows lead from one place to the next.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gpuscope_analysis::critical_path::PathStretch;
use gpuscope_analysis::{CriticalPath, Question};
use gpuscope_formats::rewrite::{FlowEnd, NewEvent, Overlay, quoted};
use gpuscope_trace::{Id, Ns, Row, TrackId, View};

pub(super) fn overlay(question: &CriticalPath, rank: u32, view: View<'_>) -> Overlay {
    let path = question.merge(vec![question.local(rank, view)]).path;
    let rows = rows_of(view, &path);
    let mut on_path: BTreeMap<u32, (Ns, &'static str)> = BTreeMap::new();
    for stretch in &path {
        if let Some(element) = stretch.element {
            on_path.entry(element).or_insert((Ns::ZERO, stretch.bound_by.label())).0 += stretch.dur_ns;
        }
    }
    let mark = |(element, (time, bound)): (u32, (Ns, &str))| {
        (element, Cow::Owned(format!("\"critical\":1,\"critical_ns\":{},\"bound_by\":\"{bound}\"", time.0)))
    };
    Overlay::new(on_path.into_iter().map(mark).collect(), arrows(view, &path, &rows))
}

/// The rows of the path's events, by element.
fn rows_of(view: View<'_>, path: &[PathStretch]) -> BTreeMap<u32, Row> {
    let mut rows: BTreeMap<u32, Row> =
        path.iter().filter_map(|stretch| Some((stretch.element?, Row::MAX))).collect();
    for row in view.trace.rows() {
        if let Some(known) = rows.get_mut(&view.trace.element(row)) {
            *known = row;
        }
    }
    rows
}

/// From each stretch to the next that is on another thread or stream.
fn arrows(view: View<'_>, path: &[PathStretch], rows: &BTreeMap<u32, Row>) -> Vec<NewEvent> {
    let track = |stretch: &PathStretch| Some(view.trace.track_id(*rows.get(&stretch.element?)?));
    let placed: Vec<(&PathStretch, TrackId)> =
        path.iter().filter_map(|stretch| Some((stretch, track(stretch)?))).collect();
    let mut arrows = Vec::new();
    for pair in placed.windows(2).filter(|pair| pair[0].1 != pair[1].1) {
        let [(before, from), (after, to)] = [pair[0], pair[1]];
        // Viewers tie an arrow to what runs at its time, so it must begin before the end.
        let leaves = before.start_ns + (before.dur_ns - Ns(1)).max(Ns::ZERO);
        arrows.push(NewEvent::Flow {
            category: "critical_path",
            name: "critical_path",
            id: arrows.len() as u64 + 1,
            from: end(view, from, leaves),
            to: end(view, to, after.start_ns),
        });
    }
    arrows
}

fn end(view: View<'_>, track: TrackId, time: Ns) -> FlowEnd {
    let (pid, tid) = view.trace.tracks.thread(view.trace.tracks.get(track).thread);
    let text = |id: Id| match id {
        Id::Int(number) => number.to_string(),
        Id::Text(text) => quoted(view.trace.strings.get(text)),
        Id::Absent => "0".to_owned(),
    };
    FlowEnd { pid: text(pid), tid: text(tid), time }
}
