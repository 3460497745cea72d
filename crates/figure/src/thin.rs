//! Long courses made short without losing what can be seen of them.

/// A line has at most about this many points: more than a chart has pixels.
pub const MOST_POINTS: usize = 2_000;

/// The places to keep: all, or of each of many equal stretches of time the first, the lowest, the highest and the last.
/// `x` grows. Every value kept is one that was there, and no extreme is lost.
pub fn kept(x: &[f64], y: &[f64]) -> Vec<usize> {
    let count = x.len().min(y.len());
    let (Some(first), Some(last)) = (x.first(), x.get(count.saturating_sub(1))) else { return Vec::new() };
    if count <= MOST_POINTS {
        return (0..count).collect();
    }
    let stretches = (MOST_POINTS / 4) as f64;
    let length = ((last - first) / stretches).max(f64::MIN_POSITIVE);
    let stretch = |i: usize| ((x[i] - first) / length).min(stretches - 1.0) as usize;
    let mut kept = Vec::with_capacity(MOST_POINTS);
    let mut from = 0;
    while from < count {
        let to = (from..count).find(|i| stretch(*i) != stretch(from)).unwrap_or(count);
        let by_height = |a: &usize, b: &usize| y[*a].total_cmp(&y[*b]);
        let lowest = (from..to).min_by(by_height).unwrap_or(from);
        let highest = (from..to).max_by(by_height).unwrap_or(from);
        let mut here = [from, lowest, highest, to - 1];
        here.sort_unstable();
        kept.extend(here);
        from = to;
    }
    kept.dedup();
    kept
}

pub(crate) fn thinned(x: Vec<f64>, y: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
    if x.len() <= MOST_POINTS {
        return (x, y);
    }
    kept(&x, &y).into_iter().map(|i| (x[i], y[i])).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_and_ends_are_kept() {
        let x: Vec<f64> = (0..100_000).map(f64::from).collect();
        let mut y: Vec<f64> = x.iter().map(|x| (x / 500.0).sin()).collect();
        (y[31_337], y[77_777]) = (9.0, -9.0);
        let kept = kept(&x, &y);
        assert!(kept.len() <= MOST_POINTS, "{}", kept.len());
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]));
        for place in [0, 31_337, 77_777, 99_999] {
            assert!(kept.contains(&place), "{place}");
        }
    }

    #[test]
    fn short_ones_stay_as_they_are_and_hostile_ones_end() {
        assert_eq!(kept(&[1.0, 2.0], &[5.0, 5.0]), [0, 1]);
        assert_eq!(kept(&[], &[]), [0; 0]);
        let same = vec![7.0; 5_000];
        assert!(kept(&same, &same).len() <= 4);
        let wild: Vec<f64> = (0..5_000).map(|i| if i % 7 == 0 { f64::NAN } else { f64::from(i) }).collect();
        assert!(kept(&wild, &wild).len() <= 5_000);
    }
}
