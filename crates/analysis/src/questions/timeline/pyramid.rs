//! What there is to draw of a lane however wide a pixel is, without looking at every slice.
//!
//! A slice at least a bucket long is a cell of its own; shorter ones that end within the bucket they begin in are one
//! cell together, which knows how many they are, how long they took in all, and the longest of them. So there are at most
//! two cells for each bucket, every slice is in exactly one, and nothing that was summed is estimated.
//!
//! Sums come from running totals, the longest slice of a range from a pyramid of the longest of every sixteen, of those
//! of every sixteen, and so on.

use std::ops::Range;

use gpuscope_trace::Ns;

use super::Lane;

/// Slices, or blocks of slices, that share a block above.
const FAN: usize = 16;

#[derive(Clone, Debug, Default)]
pub struct Pyramid {
    /// How long all slices before one took; the last is of all.
    before: Vec<i64>,
    /// The longest slice of every block: of sixteen slices, of sixteen such blocks, …
    longest: Vec<Vec<u32>>,
}

/// A slice, or several that are too short to be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub start: Ns,
    pub end: Ns,
    pub busy: Ns,
    /// The first slice, and how many follow with it.
    pub first: u32,
    pub count: u32,
    /// The longest of them.
    pub longest: u32,
}

impl Pyramid {
    /// The lane's slices do not overlap and are in order of time.
    pub fn of(lane: &Lane) -> Pyramid {
        let mut before = Vec::with_capacity(lane.len() + 1);
        let mut sum = 0_i64;
        before.push(sum);
        for (start, end) in lane.start.iter().zip(&lane.end) {
            sum = sum.saturating_add((*end - *start).0);
            before.push(sum);
        }
        let longer = |a: u32, b: u32| if length(lane, b) > length(lane, a) { b } else { a };
        let mut longest: Vec<Vec<u32>> = Vec::new();
        let slices: Vec<u32> = (0..lane.len() as u32).collect();
        let mut below = &slices;
        while below.len() > 1 {
            let blocks = below.chunks(FAN).filter_map(|block| block.iter().copied().reduce(longer));
            longest.push(blocks.collect());
            below = longest.last().unwrap_or(&slices);
        }
        Pyramid { before, longest }
    }

    /// All that is in sight from one time to another, as buckets of this length show it.
    pub fn cells(&self, lane: &Lane, sight: Range<Ns>, bucket: Ns) -> Vec<Cell> {
        let bucket = bucket.0.max(1);
        let mut cells = Vec::new();
        let mut first = lane.end.partition_point(|end| *end <= sight.start);
        while first < lane.len() && lane.start[first] < sight.end {
            // Where the bucket ends that this slice begins in.
            let until = lane.start[first].0.div_euclid(bucket).saturating_add(1).saturating_mul(bucket);
            let next = if length(lane, first as u32) >= bucket {
                first + 1
            } else {
                // What is as short as an instant at the end of the bucket is in the next one.
                let ended = after(&lane.end, first, Ns(until));
                let begun = first + lane.start[first..ended].partition_point(|start| start.0 < until);
                begun.max(first + 1)
            };
            cells.push(Cell {
                start: lane.start[first],
                end: lane.end[next - 1],
                busy: Ns(self.before[next] - self.before[first]),
                first: first as u32,
                count: (next - first) as u32,
                longest: self.longest(lane, first..next),
            });
            first = next;
        }
        cells
    }

    /// The first of the longest slices of a range that is not empty.
    fn longest(&self, lane: &Lane, slices: Range<usize>) -> u32 {
        let mut best = slices.start as u32;
        let mut consider = |slice: u32| {
            let (long, most) = (length(lane, slice), length(lane, best));
            if long > most || (long == most && slice < best) {
                best = slice;
            }
        };
        let (mut from, mut to) = (slices.start, slices.end);
        // At each height the ends that fill no block are looked at one by one.
        for height in 0..=self.longest.len() {
            let at = |i: usize| if height == 0 { i as u32 } else { self.longest[height - 1][i] };
            if height == self.longest.len() || to - from <= 2 * FAN {
                (from..to).map(at).for_each(&mut consider);
                break;
            }
            let (inner_from, inner_to) = (from.next_multiple_of(FAN), to / FAN * FAN);
            (from..inner_from).chain(inner_to..to).map(at).for_each(&mut consider);
            (from, to) = (inner_from / FAN, inner_to / FAN);
        }
        best
    }

    /// How long slices took up to a time.
    pub fn busy_until(&self, lane: &Lane, time: Ns) -> Ns {
        let ended = lane.end.partition_point(|end| *end <= time);
        let begun = lane.start.get(ended).map_or(Ns::ZERO, |start| (time - *start).max(Ns::ZERO));
        Ns(self.before[ended]) + begun
    }
}

fn length(lane: &Lane, slice: u32) -> i64 {
    (lane.end[slice as usize] - lane.start[slice as usize]).0
}

/// The first from a place on that ends after a time: fast if it is near.
fn after(ends: &[Ns], from: usize, time: Ns) -> usize {
    let mut step = 1;
    while from + step < ends.len() && ends[from + step] <= time {
        step *= 2;
    }
    let to = (from + step + 1).min(ends.len());
    from + ends[from..to].partition_point(|end| *end <= time)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Slices from gaps and lengths.
    fn lane(parts: &[(i64, i64)]) -> Lane {
        let mut lane = Lane::default();
        let mut at = 0;
        for (gap, long) in parts {
            lane.start.push(Ns(at + gap));
            at += gap + long;
            lane.end.push(Ns(at));
        }
        lane
    }

    /// The same by looking at every slice.
    fn plain(lane: &Lane, sight: &Range<Ns>, bucket: i64) -> Vec<Cell> {
        let mut cells: Vec<(i64, Cell)> = Vec::new();
        for i in 0..lane.len() {
            let (start, end) = (lane.start[i], lane.end[i]);
            let long = end - start;
            let at = start.0.div_euclid(bucket);
            let fits = end.0 <= (at + 1) * bucket;
            match cells.last_mut() {
                // One that fills its bucket may have instants before it.
                Some((with, cell)) if fits && *with == at => {
                    let most = lane.end[cell.longest as usize] - lane.start[cell.longest as usize];
                    if long > most {
                        cell.longest = i as u32;
                    }
                    (cell.end, cell.busy, cell.count) = (end, cell.busy + long, cell.count + 1);
                }
                _ => {
                    let cell = Cell { start, end, busy: long, first: i as u32, count: 1, longest: i as u32 };
                    cells.push((if fits && long.0 < bucket { at } else { i64::MIN }, cell));
                }
            }
        }
        let is_in = |cell: &Cell| cell.end > sight.start && cell.start < sight.end;
        cells.into_iter().map(|(_, cell)| cell).filter(is_in).collect()
    }

    fn parts() -> impl Strategy<Value = Vec<(i64, i64)>> {
        let long = prop_oneof![8 => 0..6_i64, 2 => 0..200_i64];
        prop::collection::vec((prop_oneof![8 => 0..4_i64, 1 => 0..300_i64], long), 0..700)
    }

    proptest! {
        #[test]
        fn every_slice_is_in_one_cell_and_sums_are_exact(parts in parts(), bucket in 1..300_i64) {
            let lane = lane(&parts);
            let all = Ns(-1)..Ns(i64::MAX);
            let cells = Pyramid::of(&lane).cells(&lane, all.clone(), Ns(bucket));
            prop_assert_eq!(&cells, &plain(&lane, &all, bucket));
            let covered: Vec<u32> = cells.iter().flat_map(|cell| cell.first..cell.first + cell.count).collect();
            let shown: Vec<u32> = (0..lane.len() as u32).filter(|i| lane.end[*i as usize] > Ns(-1)).collect();
            prop_assert_eq!(covered, shown);
            let busy: i64 = cells.iter().map(|cell| cell.busy.0).sum();
            prop_assert_eq!(busy, parts.iter().map(|(_, long)| long).sum::<i64>());
            let length = lane.end.last().map_or(0, |end| end.0);
            prop_assert!(cells.iter().filter(|cell| cell.busy.0 > 0).count() as i64 <= 2 * (length / bucket + 1));
        }

        #[test]
        fn a_part_in_sight_has_all_that_touches_it(
            parts in parts(), bucket in 1..64_i64, from in 0..2000_i64, long in 1..2000_i64,
        ) {
            let lane = lane(&parts);
            // Tiles begin where buckets do.
            let from = from / bucket * bucket;
            let cells = Pyramid::of(&lane).cells(&lane, Ns(from)..Ns(from + long), Ns(bucket));
            for i in 0..lane.len() {
                if lane.end[i].0 > from && lane.start[i].0 < from + long {
                    let i = i as u32;
                    let holds = cells.iter().filter(|cell| cell.first <= i && i < cell.first + cell.count).count();
                    prop_assert_eq!(holds, 1, "slice {}", i);
                }
            }
        }
    }
}
