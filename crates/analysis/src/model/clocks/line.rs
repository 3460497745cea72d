//! Every linear function that keeps above some points and below others, and the one in their middle.
//!
//! A clock that runs evenly is off by a linear function of its time. Each collective bounds that function from
//! one or both sides at one time. For a slope, the functions that keep all bounds form an interval, from the
//! largest `y - slope·x` of the lower bounds to the smallest of the upper ones; only the convex hulls of the
//! points matter. The interval's length is concave in the slope, so searches by halving find where it is
//! longest and between which slopes it is there at all.

/// Crystals are off by some tens of parts per million, and clock discipline steers by at most 500.
pub(super) const STEEPEST: f64 = 500e-6;

/// Bounds may contradict by this much, in nanoseconds: clocks are read in whole ones.
const ROUNDING: f64 = 2.0;

#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// The first point: all others are taken relative to it, so that floats hold them to the nanosecond.
    origin: Option<(i64, i64)>,
    at_least: Vec<(f64, f64)>,
    at_most: Vec<(f64, f64)>,
}

/// The middle of all functions that keep the bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Line {
    origin: (i64, i64),
    offset: f64,
    slope: f64,
    /// First, middle and last time of the bounds, with how far any other function is from this one there. In
    /// between it is no further than the straight line that joins them.
    half_widths: [(f64, f64); 3],
    /// By how much the bounds contradict each other, if they do.
    pub(super) contradiction: Option<f64>,
}

impl Bounds {
    /// The function is at least `y` at `x`.
    pub(super) fn at_least(&mut self, x: i64, y: i64) {
        let point = self.relative(x, y);
        self.at_least.push(point);
    }

    pub(super) fn at_most(&mut self, x: i64, y: i64) {
        let point = self.relative(x, y);
        self.at_most.push(point);
    }

    fn relative(&mut self, x: i64, y: i64) -> (f64, f64) {
        let (x0, y0) = *self.origin.get_or_insert((x, y));
        (x.saturating_sub(x0) as f64, y.saturating_sub(y0) as f64)
    }

    /// None unless bounded from both sides.
    pub(super) fn middle(self) -> Option<Line> {
        let origin = self.origin.filter(|_| !self.at_least.is_empty() && !self.at_most.is_empty())?;
        let xs = || self.at_least.iter().chain(&self.at_most).map(|point| point.0);
        let (first, last) = (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max));
        let hulls = Hulls { lower: upper_hull(self.at_least, 1.0), upper: upper_hull(self.at_most, -1.0) };
        let best = peak(-STEEPEST, STEEPEST, |slope| hulls.room(slope));
        let room = hulls.room(best);
        if room < -ROUNDING {
            // No function keeps the bounds, so none is preferred to "not off at all".
            let half_widths = [first, f64::midpoint(first, last), last].map(|x| (x, -room));
            let origin = (origin.0, 0);
            return Some(Line { origin, offset: 0.0, slope: 0.0, half_widths, contradiction: Some(-room) });
        }
        let slack = -room.min(0.0);
        let possible = |slope: f64| hulls.room(slope) + slack >= 0.0;
        let (flattest, steepest) = (border(best, -STEEPEST, possible), border(best, STEEPEST, possible));
        let slope = f64::midpoint(flattest, steepest);
        let offset = f64::midpoint(hulls.least(slope), hulls.most(slope));
        let width = |x: f64| {
            let top = peak(flattest, steepest, |slope| hulls.most(slope) + slope * x);
            let bottom = peak(flattest, steepest, |slope| -hulls.least(slope) - slope * x);
            let middle = offset + slope * x;
            let above = hulls.most(top) + top * x - middle;
            let below = middle - hulls.least(bottom) - bottom * x;
            (x, above.max(below).max(0.0))
        };
        let half_widths = [first, f64::midpoint(first, last), last].map(width);
        Some(Line { origin, offset, slope, half_widths, contradiction: None })
    }
}

impl Line {
    pub(super) fn at(&self, x: i64) -> i64 {
        let value = self.offset + self.slope * self.relative(x);
        self.origin.1.saturating_add(value.round() as i64)
    }

    /// How far off the true function may be at a time.
    pub(super) fn half_width(&self, x: i64) -> i64 {
        let x = self.relative(x);
        let [first, middle, last] = self.half_widths;
        let (from, to) = if x <= middle.0 { (first, middle) } else { (middle, last) };
        let width = if to.0 > from.0 {
            let share = ((x - from.0) / (to.0 - from.0)).clamp(0.0, 1.0);
            from.1 + (to.1 - from.1) * share
        } else {
            from.1.max(to.1)
        };
        // Beyond the last bound the slope may be any.
        let beyond = (first.0 - x).max(x - last.0).max(0.0) * 2.0 * STEEPEST;
        (width + beyond).ceil() as i64 + 1
    }

    pub(super) fn slope_ppb(&self) -> i64 {
        (self.slope * 1e9).round() as i64
    }

    fn relative(&self, x: i64) -> f64 {
        x.saturating_sub(self.origin.0) as f64
    }
}

struct Hulls {
    /// Lower bounds that are the tightest for some slope.
    lower: Vec<(f64, f64)>,
    upper: Vec<(f64, f64)>,
}

impl Hulls {
    fn least(&self, slope: f64) -> f64 {
        self.lower.iter().map(|(x, y)| y - slope * x).fold(f64::NEG_INFINITY, f64::max)
    }

    fn most(&self, slope: f64) -> f64 {
        self.upper.iter().map(|(x, y)| y - slope * x).fold(f64::INFINITY, f64::min)
    }

    fn room(&self, slope: f64) -> f64 {
        self.most(slope) - self.least(slope)
    }
}

/// The points that no line between others lies above; below, with `sign` -1.
fn upper_hull(mut points: Vec<(f64, f64)>, sign: f64) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for (x, y) in points {
        let turns_in = |hull: &[(f64, f64)]| match hull {
            [.., (x0, y0), (x1, y1)] => sign * ((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)) >= 0.0,
            _ => false,
        };
        while turns_in(&hull) {
            hull.pop();
        }
        hull.push((x, y));
    }
    hull
}

const HALVINGS: usize = 80;

/// Where a concave function is largest.
fn peak(mut from: f64, mut to: f64, value: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..HALVINGS {
        let third = (to - from) / 3.0;
        let (left, right) = (from + third, to - third);
        match value(left).total_cmp(&value(right)) {
            std::cmp::Ordering::Less => from = left,
            std::cmp::Ordering::Greater => to = right,
            std::cmp::Ordering::Equal => (from, to) = (left, right),
        }
    }
    f64::midpoint(from, to)
}

/// The last place on the way from `inside` to `limit` at which a condition holds.
fn border(mut inside: f64, limit: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(limit) {
        return limit;
    }
    let mut outside = limit;
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(inside, outside);
        if holds(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(at_least: &[(i64, i64)], at_most: &[(i64, i64)]) -> Bounds {
        let mut bounds = Bounds::default();
        for (x, y) in at_least {
            bounds.at_least(*x, *y);
        }
        for (x, y) in at_most {
            bounds.at_most(*x, *y);
        }
        bounds
    }

    #[test]
    fn two_bounds_at_one_time_leave_their_middle() {
        let line = bounds(&[(1_000, 40)], &[(1_000, 60)]).middle().unwrap();
        assert_eq!((line.at(1_000), line.half_width(1_000)), (50, 11));
        assert_eq!(line.contradiction, None);
    }

    #[test]
    fn one_sided_bounds_say_nothing() {
        assert_eq!(bounds(&[(0, 1), (5, 2)], &[]).middle(), None);
        assert_eq!(bounds(&[], &[]).middle(), None);
    }

    #[test]
    fn a_drift_is_found() {
        // 100 ppm: 100 µs a second, held to ±50 ns once a second.
        let truth = |x: i64| 7_000_000_000 + x / 10_000;
        let times: Vec<i64> = (0..100).map(|i| i * 1_000_000_000).collect();
        let around = |by: i64| times.iter().map(|x| (*x, truth(*x) + by)).collect::<Vec<_>>();
        let line = bounds(&around(-50), &around(50)).middle().unwrap();
        assert!((line.slope_ppb() - 100_000).abs() <= 2, "{line:?}");
        for x in times {
            assert!((line.at(x) - truth(x)).abs() <= line.half_width(x), "{x}");
            assert!(line.half_width(x) <= 53, "{x} {}", line.half_width(x));
        }
    }

    #[test]
    fn contradictions_are_measured() {
        let line = bounds(&[(0, 100), (10, 100)], &[(0, 40), (10, 40)]).middle().unwrap();
        assert_eq!(line.contradiction.map(f64::round), Some(60.0));
        assert!(line.half_width(5) >= 60);
    }

    #[test]
    fn hostile_points_do_no_harm() {
        let far = [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (0, 0)];
        let line = bounds(&far, &far).middle().unwrap();
        let _ = (line.at(i64::MAX), line.half_width(i64::MIN), line.slope_ppb());
    }

    /// Against every function on a fine grid: none that keeps the bounds is further away than the half-width,
    /// and the middle keeps them itself.
    #[test]
    fn no_possible_function_is_further_away() {
        let mut state = 1u64;
        let mut random = |below: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) as i64) % below
        };
        for _ in 0..50 {
            let (offset, ppm) = (random(1_000_000), random(401) - 200);
            let truth = |x: i64| offset + x * ppm / 1_000_000;
            let mut bound = Bounds::default();
            let mut points: Vec<(i64, i64, i64)> = Vec::new();
            for _ in 0..12 {
                let x = random(1_000_000_000);
                let (low, high) = (truth(x) - 1 - random(90_000), truth(x) + 1 + random(90_000));
                bound.at_least(x, low);
                bound.at_most(x, high);
                points.push((x, low, high));
            }
            let line = bound.middle().unwrap();
            for slope in (-500..=500).step_by(5) {
                let least = points.iter().map(|(x, low, _)| low - x * slope / 1_000_000).max().unwrap();
                let most = points.iter().map(|(x, _, high)| high - x * slope / 1_000_000).min().unwrap();
                for start in [least, most].into_iter().filter(|_| least <= most) {
                    for x in [0, 250_000_000, 500_000_000, 1_000_000_000] {
                        let value = start + x * slope / 1_000_000;
                        let distance = (line.at(x) - value).abs();
                        assert!(distance <= line.half_width(x) + 2, "{distance} {}", line.half_width(x));
                    }
                }
            }
            for (x, low, high) in points {
                assert!(low - 1 <= line.at(x) && line.at(x) <= high + 1);
            }
        }
    }
}
