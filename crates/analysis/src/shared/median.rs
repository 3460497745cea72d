//! The value in the middle: of an even number the mean of the middle two, rounded towards zero.

use gpuscope_trace::Ns;

/// None of none.
pub(crate) fn median(values: Vec<Ns>) -> Option<Ns> {
    median_of(values.into_iter().map(|value| value.0).collect()).map(Ns)
}

/// The same of bytes and counts.
pub(crate) fn median_of(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(lower.midpoint(upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_in_the_middle_it_is_the_mean() {
        assert_eq!(median_of(vec![9, 1, 4]), Some(4));
        assert_eq!(median_of(vec![9, 1, 4, 7]), Some(5));
        assert_eq!(median(vec![Ns(3)]), Some(Ns(3)));
        assert_eq!(median(Vec::new()), None);
        assert_eq!(median_of(vec![i64::MIN, i64::MAX]), Some(0));
    }
}
