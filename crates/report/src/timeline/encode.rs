//! The picture as bytes: the length of a header, the header as JSON, then columns of whole numbers, each in as many bytes
//! of seven bits as it needs. Times are differences to the one before, so that most take one or two bytes.
//! `web/timeline/data.js` reads it.

use gpuscope_analysis::timeline::{Counter, Lane, Picture, SliceKind};
use serde_json::json;

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
    })
    .to_string();
    let mut columns = Columns { bytes: Vec::new() };
    columns.bytes.extend((header.len() as u32).to_le_bytes());
    columns.bytes.extend(header.as_bytes());
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

struct Columns {
    bytes: Vec<u8>,
}

impl Columns {
    fn lane(&mut self, lane: &Lane) {
        let mut end_before = 0;
        for (start, end) in lane.start.iter().zip(&lane.end) {
            // The last lane of very many takes what has no room elsewhere: it may begin before the last one ended.
            let start = start.0.max(end_before);
            let end = end.0.max(start);
            self.put((start - end_before) as u64);
            self.put((end - start) as u64);
            end_before = end;
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

    fn put(&mut self, mut value: u64) {
        while value >= 128 {
            self.bytes.push(value as u8 | 128);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// Small numbers of either sign stay small: 0, -1, 1, -2, …
    fn put_signed(&mut self, value: i64) {
        self.put(((value << 1) ^ (value >> 63)) as u64);
    }
}
