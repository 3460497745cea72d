//! A timeline that is asked for piece by piece: the page without its slices, and windows of them as they come into sight.
//! `web/timeline/served.js` reads both.

use std::io::{self, Write};
use std::ops::Range;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use gpuscope_analysis::timeline::{Atlas, Cell, Lane, SliceKind};
use gpuscope_trace::Ns;
use serde_json::json;

use crate::packing::Columns;

/// The minimap's columns.
const COLUMNS: usize = 600;
/// No screen has more pixels: who asks for more gets wider buckets.
const MOST_BUCKETS: i64 = 1 << 14;

pub fn write_served(atlas: &Atlas, title: &str, out: impl Write) -> io::Result<()> {
    let header = Columns::after(&header(atlas));
    super::page(super::with_data(title, "", &header.bytes), title).write_served(out)
}

fn header(atlas: &Atlas) -> serde_json::Value {
    let picture = atlas.picture();
    let tracks: Vec<_> = picture
        .tracks
        .iter()
        .map(|track| {
            json!({
                "title": track.title, "group": track.group, "sort": track.sort.label(),
                "lanes": track.lanes.iter().map(Lane::len).collect::<Vec<_>>(),
                "unit": track.counter.as_ref().map(|counter| counter.unit),
                "most": track.counter.as_ref().and_then(|counter| counter.value.iter().max()),
            })
        })
        .collect();
    json!({
        "served": true, "length_ns": picture.length.0, "names": picture.names, "notes": [],
        "kinds": SliceKind::ALL.map(SliceKind::label), "tracks": tracks, "arrows": 0, "left_out": "",
        "busy": atlas.busy_shares(COLUMNS),
    })
}

/// What is in sight: times, how long a bucket is, lanes and counters by number.
#[derive(Clone, Debug)]
pub struct Window {
    pub sight: Range<Ns>,
    pub bucket: Ns,
    /// Through all tracks.
    pub lanes: Vec<usize>,
    /// Tracks.
    pub counters: Vec<usize>,
}

/// Deflated columns of all that a window shows.
pub fn window(atlas: &Atlas, window: &Window) -> io::Result<Vec<u8>> {
    let length = (window.sight.end - window.sight.start).0.max(1);
    let bucket = Ns(window.bucket.0.max(length / MOST_BUCKETS).max(1));
    let lanes: Vec<Vec<Cell>> =
        window.lanes.iter().map(|lane| atlas.cells(*lane, window.sight.clone(), bucket)).collect();
    let counters: Vec<Vec<(Ns, i64)>> =
        window.counters.iter().map(|track| atlas.points(*track, window.sight.clone(), bucket)).collect();
    let mut columns = Columns::after(&json!({
        "lanes": lanes.iter().map(Vec::len).collect::<Vec<_>>(),
        "counters": counters.iter().map(Vec::len).collect::<Vec<_>>(),
    }));
    for (number, cells) in window.lanes.iter().zip(&lanes) {
        if let Some((lane, first)) = atlas.lane(*number) {
            columns.cells(cells, lane, first);
        }
    }
    for points in &counters {
        columns.points(points);
    }
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::fast());
    deflate.write_all(&columns.bytes)?;
    deflate.finish()
}

impl Columns {
    fn cells(&mut self, cells: &[Cell], lane: &Lane, first: u32) {
        let mut end_before = 0;
        for cell in cells {
            self.put((cell.start.0 - end_before).max(0) as u64);
            self.put((cell.end - cell.start).0 as u64);
            end_before = cell.end.0;
        }
        for cell in cells {
            self.put(u64::from(cell.count));
        }
        // Of a slice alone, how long it took is known.
        for cell in cells.iter().filter(|cell| cell.count > 1) {
            self.put(cell.busy.0 as u64);
        }
        for cell in cells {
            self.put(u64::from(lane.name[cell.longest as usize]));
        }
        for cell in cells {
            self.put(u64::from(lane.kind[cell.longest as usize]));
        }
        let mut before = 0;
        for cell in cells {
            let number = i64::from(first + cell.longest);
            self.put_signed(number - before);
            before = number;
        }
    }

    fn points(&mut self, points: &[(Ns, i64)]) {
        let (mut time_before, mut value_before) = (0, 0_i64);
        for (time, _) in points {
            self.put((time.0 - time_before).max(0) as u64);
            time_before = time.0;
        }
        for (_, value) in points {
            self.put_signed(value.saturating_sub(value_before));
            value_before = *value;
        }
    }
}
