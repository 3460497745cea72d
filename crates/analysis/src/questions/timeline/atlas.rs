//! A picture that is asked about rather than shipped: for more events than a page can hold.
//!
//! Lanes are counted through all tracks, slices through all lanes; `web/timeline` uses the same numbers.

use std::ops::Range;

use gpuscope_trace::Ns;
use serde::Serialize;

use super::pyramid::{Cell, Pyramid};
use super::{Counter, Lane, Picture, Track, TrackSort};

#[derive(Debug)]
pub struct Atlas {
    picture: Picture,
    lanes: Vec<Charted>,
    /// Of every name, how many slices have it and how long they took, steps aside.
    pub(super) by_name: Vec<(u64, Ns)>,
    /// The arrows by where they begin.
    from_launch: Vec<(u32, u32)>,
}

/// A lane, where it is, and what makes it quick to ask.
#[derive(Debug)]
pub(super) struct Charted {
    pub(super) track: u32,
    /// Within its track.
    pub(super) lane: u32,
    /// The number of its first slice.
    pub(super) first: u32,
    pub(super) pyramid: Pyramid,
}

/// A slice and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Slice {
    pub number: u32,
    pub name: String,
    pub start_ns: Ns,
    pub end_ns: Ns,
    pub track: u32,
    pub lane: u32,
}

/// A slice with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Described {
    pub slice: Slice,
    pub note: String,
    pub launched_by: Vec<Slice>,
    pub launched: Vec<Slice>,
    /// Outermost first.
    pub around: Vec<Slice>,
}

/// A slice may launch thousands, as a graph does; more than this say no more.
const MOST_LINKS: usize = 200;

impl Atlas {
    pub fn new(picture: Picture) -> Atlas {
        let mut lanes = Vec::new();
        let mut by_name = vec![(0, Ns::ZERO); picture.names.len()];
        let mut first = 0;
        for (track_number, track) in picture.tracks.iter().enumerate() {
            for (number, lane) in track.lanes.iter().enumerate() {
                let pyramid = Pyramid::of(lane);
                lanes.push(Charted { track: track_number as u32, lane: number as u32, first, pyramid });
                first += lane.len() as u32;
                // Steps are on their threads, too.
                if track.sort == TrackSort::Steps {
                    continue;
                }
                for (i, name) in lane.name.iter().enumerate() {
                    let (count, total): &mut (u64, Ns) = &mut by_name[*name as usize];
                    *count += 1;
                    *total += lane.end[i] - lane.start[i];
                }
            }
        }
        let mut from_launch = picture.arrows.clone();
        from_launch.sort_unstable();
        Atlas { picture, lanes, by_name, from_launch }
    }

    pub fn picture(&self) -> &Picture {
        &self.picture
    }

    pub(super) fn lanes(&self) -> impl DoubleEndedIterator<Item = (&Charted, &Track, &Lane)> {
        self.lanes.iter().map(|charted| {
            let track = &self.picture.tracks[charted.track as usize];
            (charted, track, &track.lanes[charted.lane as usize])
        })
    }

    /// What there is to draw of a lane, by its number; nothing of one that does not exist.
    pub fn cells(&self, lane: usize, sight: Range<Ns>, bucket: Ns) -> Vec<Cell> {
        let Some(charted) = self.lanes.get(lane) else { return Vec::new() };
        charted.pyramid.cells(self.lane_of(charted), sight, bucket)
    }

    /// A lane by its number, with the number of its first slice.
    pub fn lane(&self, lane: usize) -> Option<(&Lane, u32)> {
        self.lanes.get(lane).map(|charted| (self.lane_of(charted), charted.first))
    }

    fn lane_of(&self, charted: &Charted) -> &Lane {
        &self.picture.tracks[charted.track as usize].lanes[charted.lane as usize]
    }

    /// Of each bucket of a counter its highest value and its last.
    pub fn points(&self, track: usize, sight: Range<Ns>, bucket: Ns) -> Vec<(Ns, i64)> {
        let counter = self.picture.tracks.get(track).and_then(|track| track.counter.as_ref());
        counter.map_or(Vec::new(), |counter| thinned(counter, &sight, bucket))
    }

    /// The whole run in so many columns: which share of each the GPUs' streams were busy, the busiest being one.
    pub fn busy_shares(&self, columns: usize) -> Vec<f64> {
        let length = self.picture.length.0.max(1) as f64;
        let edge = |column: usize| Ns((length * column as f64 / columns as f64) as i64);
        let mut busy = vec![0.0; columns];
        let streams =
            self.lanes().filter(|(charted, track, _)| track.sort == TrackSort::Gpu && charted.lane == 0);
        for (charted, _, lane) in streams {
            let mut before = Ns::ZERO;
            for (column, sum) in busy.iter_mut().enumerate() {
                let until = charted.pyramid.busy_until(lane, edge(column + 1));
                *sum += (until - before).0 as f64;
                before = until;
            }
        }
        let width = length / columns as f64;
        let most = busy.iter().copied().fold(width, f64::max);
        busy.into_iter().map(|sum| sum / most).collect()
    }

    pub fn slice(&self, number: u32) -> Option<Slice> {
        let (charted, i) = self.locate(number)?;
        let lane = self.lane_of(charted);
        Some(Slice {
            number,
            name: self.picture.names[lane.name[i] as usize].clone(),
            start_ns: lane.start[i],
            end_ns: lane.end[i],
            track: charted.track,
            lane: charted.lane,
        })
    }

    fn locate(&self, number: u32) -> Option<(&Charted, usize)> {
        // The last of several that begin at one number is the one with slices.
        let after = self.lanes.partition_point(|lane| lane.first <= number);
        let charted = self.lanes.get(after.checked_sub(1)?)?;
        let i = (number - charted.first) as usize;
        (i < self.lane_of(charted).len()).then_some((charted, i))
    }

    pub fn described(&self, number: u32) -> Option<Described> {
        let slice = self.slice(number)?;
        let (charted, i) = self.locate(number)?;
        let note = self.picture.notes[self.lane_of(charted).note[i] as usize].clone();
        let begins = self.from_launch.partition_point(|(from, _)| *from < number);
        let launched = self.from_launch[begins..].iter().take_while(|(from, _)| *from == number);
        let launched = launched.take(MOST_LINKS).filter_map(|(_, to)| self.slice(*to)).collect();
        let ends = self.picture.arrows.partition_point(|(_, to)| *to < number);
        let by = self.picture.arrows[ends..].iter().take_while(|(_, to)| *to == number);
        let launched_by = by.take(MOST_LINKS).filter_map(|(from, _)| self.slice(*from)).collect();
        Some(Described { around: self.around(charted, &slice), slice, note, launched_by, launched })
    }

    /// What is around a slice on its thread.
    fn around(&self, charted: &Charted, slice: &Slice) -> Vec<Slice> {
        let track = &self.picture.tracks[charted.track as usize];
        if track.sort != TrackSort::Host {
            return Vec::new();
        }
        let inside = |outer: &&Charted| outer.track == charted.track && outer.lane < charted.lane;
        let holder = |outer: &Charted| {
            let lane = self.lane_of(outer);
            let i = lane.end.partition_point(|end| *end <= slice.start_ns);
            let holds = i < lane.len() && lane.start[i] <= slice.start_ns && lane.end[i] >= slice.end_ns;
            if holds { self.slice(outer.first + i as u32) } else { None }
        };
        self.lanes.iter().filter(inside).filter_map(holder).collect()
    }
}

fn thinned(counter: &Counter, sight: &Range<Ns>, bucket: Ns) -> Vec<(Ns, i64)> {
    let bucket = bucket.0.max(1);
    // What holds at the beginning was set before it.
    let mut first = counter.time.partition_point(|time| *time <= sight.start).saturating_sub(1);
    let mut points: Vec<(Ns, i64)> = Vec::new();
    while first < counter.time.len() && counter.time[first] < sight.end {
        let at = counter.time[first].0.div_euclid(bucket);
        let until = Ns(at.saturating_add(1).saturating_mul(bucket));
        let next = first + counter.time[first..].partition_point(|time| *time < until).max(1);
        let highest =
            (first..next).max_by_key(|i| (counter.value[*i], std::cmp::Reverse(*i))).unwrap_or(first);
        points.push((counter.time[highest], counter.value[highest]));
        if highest != next - 1 {
            points.push((counter.time[next - 1], counter.value[next - 1]));
        }
        first = next;
    }
    points
}
