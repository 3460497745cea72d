//! What the ends of collectives say about two clocks.
//!
//! In a collective in which everyone waits the last data arrive everywhere at nearly the same time, so that its members
//! end together, however far apart they began: to some tens of microseconds, and mostly to a few. That is no bound, but
//! where many collectives agree it says far more than the bounds do, which are as wide as ranks wait. Those that do not
//! agree with most of them are left out, and where there is no agreement nothing is said.

use super::line::{Bounds, STEEPEST};

/// Fewer ends than this show no agreement.
const ENOUGH: usize = 3;
/// With fewer ends than this a drift is noise.
const ENOUGH_FOR_DRIFT: usize = 9;
/// Ends are taken to be no closer together than this.
const CLOSE_NS: f64 = 10_000.0;
/// Half of the ends are within this of a line, or they do not agree.
const AGREED_NS: f64 = 50_000.0;
/// So many times as far from the line as half of the ends are: left out.
const FAR: f64 = 4.0;

/// Two members' ends of one collective.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// By the clock that is looked for.
    pub(super) time: i64,
    /// How far that is ahead of the end on a known clock.
    pub(super) ahead: i64,
    /// How far off the known clock may be.
    pub(super) half_width: i64,
}

/// Adds what the ends say; whether they say anything.
pub(super) fn bound(ends: &[End], bounds: &mut Bounds) -> bool {
    let Some(line) = Resistant::of(ends) else { return false };
    let distances: Vec<f64> = ends.iter().map(|end| line.distance(end)).collect();
    let typical = middle(&distances);
    let far = (FAR * typical).max(CLOSE_NS);
    let near = || ends.iter().zip(&distances).filter(|(_, distance)| **distance <= far);
    if typical > AGREED_NS || near().count() < ENOUGH {
        return false;
    }
    let apart = near().map(|(_, distance)| *distance).fold(CLOSE_NS, f64::max).ceil() as i64;
    for (end, _) in near() {
        let width = apart.saturating_add(end.half_width);
        bounds.at_least(end.time, end.ahead.saturating_sub(width));
        bounds.at_most(end.time, end.ahead.saturating_add(width));
    }
    true
}

/// A line that a few outliers do not move: through the medians of the first and the last third.
struct Resistant {
    origin: (i64, i64),
    slope: f64,
    offset: f64,
}

impl Resistant {
    fn of(ends: &[End]) -> Option<Resistant> {
        let first = ends.first().filter(|_| ends.len() >= ENOUGH)?;
        let mut line = Resistant { origin: (first.time, first.ahead), slope: 0.0, offset: 0.0 };
        if ends.len() >= ENOUGH_FOR_DRIFT {
            let mut points: Vec<(f64, f64)> = ends.iter().map(|end| line.relative(end)).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let third = points.len() / 3;
            let (left, right) = (centre(&points[..third]), centre(&points[points.len() - third..]));
            if right.0 > left.0 {
                line.slope = ((right.1 - left.1) / (right.0 - left.0)).clamp(-STEEPEST, STEEPEST);
            }
        }
        let left: Vec<f64> = ends.iter().map(|end| line.above(end)).collect();
        line.offset = middle(&left);
        Some(line)
    }

    fn relative(&self, end: &End) -> (f64, f64) {
        let (time, ahead) = self.origin;
        (end.time.saturating_sub(time) as f64, end.ahead.saturating_sub(ahead) as f64)
    }

    fn above(&self, end: &End) -> f64 {
        let (time, ahead) = self.relative(end);
        ahead - self.slope * time - self.offset
    }

    fn distance(&self, end: &End) -> f64 {
        self.above(end).abs()
    }
}

fn centre(points: &[(f64, f64)]) -> (f64, f64) {
    let of = |part: fn(&(f64, f64)) -> f64| middle(&points.iter().map(part).collect::<Vec<_>>());
    (of(|point| point.0), of(|point| point.1))
}

fn middle(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n => f64::midpoint(values[(n - 1) / 2], values[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(ahead: impl IntoIterator<Item = i64>) -> Vec<End> {
        let end = |(i, ahead): (i64, i64)| End { time: i * 10_000_000, ahead, half_width: 0 };
        (0..).zip(ahead).map(end).collect()
    }

    #[test]
    fn ends_that_agree_bound_the_clock_closely_whatever_one_of_them_says() {
        let mut bounds = Bounds::default();
        assert!(bound(&ends([7_000_000, 7_012_000, 6_990_000, 99_000_000, 7_001_000]), &mut bounds));
        let line = bounds.middle().unwrap();
        assert!((line.at(20_000_000) - 7_001_000).abs() < 5_000, "{line:?}");
        assert!(line.half_width(20_000_000) < 25_000, "{line:?}");
        assert_eq!(line.contradiction, None);
    }

    #[test]
    fn a_drift_is_followed() {
        // 100 ppm: a microsecond more at every end.
        let mut bounds = Bounds::default();
        assert!(bound(&ends((0..300).map(|i| 5_000 + i * 1_000)), &mut bounds));
        let line = bounds.middle().unwrap();
        assert!((line.slope_ppb() - 100_000).abs() < 3_000, "{}", line.slope_ppb());
    }

    #[test]
    fn ends_that_do_not_agree_say_nothing() {
        let mut bounds = Bounds::default();
        assert!(!bound(&ends([0, 1_500_000, -900_000, 3_300_000, 2_000_000]), &mut bounds));
        assert!(!bound(&ends([0, 1_000]), &mut bounds));
        assert!(bounds.middle().is_none());
    }
}
