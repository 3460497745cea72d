//! The picture as bytes: a header, then columns of whole numbers (see [`crate::packing`]). Times are differences to the one
//! before, so that most take one or two bytes. `web/timeline/data.js` reads it.

use gpuscope_analysis::timeline::{Counter, Lane, Picture, SliceKind};
use serde_json::json;

use crate::packing::Columns;

pub(super) fn encode(picture: &Picture, left_out: &str) -> Vec<u8> {
    let tracks: Vec<_> = picture
        .tracks
        .iter()
        .map(|track| {
            let lanes: Vec<usize> = track.lanes.iter().map(Lane::len).collect();
            json!({
                "title": track.title, "group": track.group, "sort": track.sort.label(), "lanes": lanes,
                "points": track.counter.as_ref().map_or(0, |counter| counter.time.len()),
                "unit": track.counter.as_ref().map(|counter| counter.unit),
            })
        })
        .collect();
    let header = json!({
        "length_ns": picture.length.0, "names": picture.names, "notes": picture.notes,
        "kinds": SliceKind::ALL.map(SliceKind::label), "tracks": tracks, "arrows": picture.arrows.len(),
        "left_out": left_out,
    });
    let mut columns = Columns::after(&header);
    for track in &picture.tracks {
        track.lanes.iter().for_each(|lane| columns.lane(lane));
        track.counter.iter().for_each(|counter| columns.counter(counter));
    }
    let mut before = 0;
    for &(from, to) in &picture.arrows {
        columns.put(u64::from(to - before));
        columns.put_signed(i64::from(to) - i64::from(from));
        before = to;
    }
    columns.bytes
}

impl Columns {
    fn lane(&mut self, lane: &Lane) {
        let mut end_before = 0;
        for (start, end) in lane.start.iter().zip(&lane.end) {
            self.put((start.0 - end_before).max(0) as u64);
            self.put((end.0 - start.0).max(0) as u64);
            end_before = end.0;
        }
        lane.name.iter().for_each(|name| self.put(u64::from(*name)));
        lane.kind.iter().for_each(|kind| self.put(u64::from(*kind)));
        lane.note.iter().for_each(|note| self.put(u64::from(*note)));
    }

    fn counter(&mut self, counter: &Counter) {
        let mut before = 0;
        for time in &counter.time {
            self.put((time.0 - before).max(0) as u64);
            before = before.max(time.0);
        }
        let mut before = 0_i64;
        for value in &counter.value {
            self.put_signed(value.saturating_sub(before));
            before = *value;
        }
    }
}
