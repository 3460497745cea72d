//! How likely a difference is if nothing differs: values are dealt out again at random, and one counts how often chance
//! does as well. Nothing is assumed of their distribution but that their order does not matter.

use statrs::function::erf::erfc;

use crate::random;

/// Divisions of two sets that are all tried rather than drawn.
const MOST_EXACT: u128 = 20_000;
/// Once chance has done as well this often, the answer is known well enough (Besag and Clifford, 1991).
const ENOUGH: u32 = 40;

/// The share of deals whose statistic is at least the observed one. With at most `draws` deals, the smallest answer is
/// `1 / (draws + 1)`; it is a valid level at any number of deals.
pub(crate) fn by_chance(values: &[f64], draws: u32, statistic: impl Fn(&[f64]) -> f64) -> f64 {
    let observed = statistic(values) - 1e-12;
    let mut random = random::fixed();
    let mut dealt = values.to_vec();
    let mut as_well = 0;
    for draw in 1..=draws {
        random.shuffle(&mut dealt);
        as_well += u32::from(statistic(&dealt) >= observed);
        if as_well == ENOUGH {
            return f64::from(as_well) / f64::from(draw);
        }
    }
    f64::from(as_well + 1) / f64::from(draws + 1)
}

/// How likely two sets of values of one distribution differ as much as these do, in either direction, by their ranks.
pub fn two_sets(a: &[f64], b: &[f64], draws: u32) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let all: Vec<f64> = short.iter().chain(long).copied().collect();
    let ranks = ranks(&all);
    let expected = short.len() as f64 * (all.len() + 1) as f64 / 2.0;
    let distance = |sum: f64| (sum - expected).abs();
    if divisions(all.len(), short.len()) <= MOST_EXACT {
        return exact(&ranks, short.len(), distance);
    }
    let found = by_chance(&ranks, draws, |dealt| distance(dealt[..short.len()].iter().sum()));
    if found > 1.0 / f64::from(draws) {
        return found;
    }
    // No deal did as well: how far beyond, sums of many ranks tell by their normal distribution.
    let z = standardised(ranks[..short.len()].iter().sum(), short.len(), ranks.len()).abs();
    found.min(erfc(z / std::f64::consts::SQRT_2))
}

/// A sum of `k` of `n` ranks in units of its deviation when ranks are dealt at random.
pub(crate) fn standardised(sum: f64, k: usize, n: usize) -> f64 {
    let (k, n) = (k as f64, n as f64);
    (sum - k * (n + 1.0) / 2.0) / (k * (n - k) * (n + 1.0) / 12.0).sqrt()
}

/// The share of all choices of `k` of the ranks whose sum is at least this: every choice is counted, by its sum.
pub(crate) fn sums_of_at_least(ranks: &[f64], k: usize, sum: f64) -> f64 {
    // Ranks that are shared may be halves.
    let doubled: Vec<usize> = ranks.iter().map(|rank| (rank * 2.0).round() as usize).collect();
    let most = doubled.iter().max().map_or(0, |most| most * k);
    let mut ways = vec![vec![0.0_f64; most + 1]; k + 1];
    ways[0][0] = 1.0;
    for rank in doubled {
        for chosen in (1..=k).rev() {
            for total in (rank..=most).rev() {
                ways[chosen][total] += ways[chosen - 1][total - rank];
            }
        }
    }
    let least = (sum * 2.0 - 1e-6).ceil().max(0.0) as usize;
    let all: f64 = ways[k].iter().sum();
    ways[k].iter().skip(least).sum::<f64>() / all
}

/// Places in order from 1; equal values share the mean of theirs.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut first = 0;
    for same in order.chunk_by(|&a, &b| values[a].total_cmp(&values[b]).is_eq()) {
        let rank = first as f64 + (same.len() + 1) as f64 / 2.0;
        for &i in same {
            ranks[i] = rank;
        }
        first += same.len();
    }
    ranks
}

/// The number of ways to choose `k` of `n`.
fn divisions(n: usize, k: usize) -> u128 {
    let k = k.min(n - k) as u128;
    (0..k).try_fold(1_u128, |ways, i| Some(ways.checked_mul(n as u128 - i)? / (i + 1))).unwrap_or(u128::MAX)
}

/// Every way to choose the first `k`; `ranks` begins with the observed one.
fn exact(ranks: &[f64], k: usize, distance: impl Fn(f64) -> f64) -> f64 {
    let observed = distance(ranks[..k].iter().sum()) - 1e-9;
    let (mut ways, mut as_well) = (0_u32, 0_u32);
    let mut chosen: Vec<usize> = (0..k).collect();
    loop {
        ways += 1;
        as_well += u32::from(distance(chosen.iter().map(|&i| ranks[i]).sum()) >= observed);
        // The next choice in order: the last place that can move on does, and those behind follow it.
        let Some(moving) = (0..k).rev().find(|&place| chosen[place] < ranks.len() - k + place) else {
            return f64::from(as_well) / f64::from(ways);
        };
        chosen[moving] += 1;
        for place in moving + 1..k {
            chosen[place] = chosen[place - 1] + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sets_are_exact() {
        // All of three above all of four: 2 of the 35 divisions are as far apart.
        let p = two_sets(&[10.0, 11.0, 12.0], &[1.0, 2.0, 3.0, 4.0], 99);
        assert!((p - 2.0 / 35.0).abs() < 1e-12, "{p}");
        // The middle of a symmetric set is as near as can be.
        assert!((two_sets(&[2.0], &[1.0, 3.0], 99) - 1.0).abs() < 1e-12);
        assert!((two_sets(&[5.0; 4], &[5.0; 6], 99) - 1.0).abs() < 1e-12, "equal values say nothing");
        assert!((two_sets(&[], &[1.0], 99) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn draws_agree_with_all_divisions() {
        let mut random = fastrand::Rng::with_seed(3);
        for shift in [0.0, 0.8, 1.5] {
            let a: Vec<f64> = (0..7).map(|_| random::normal(&mut random)).collect();
            let b: Vec<f64> = (0..8).map(|_| random::normal(&mut random) + shift).collect();
            let exact = two_sets(&a, &b, 1);
            let all: Vec<f64> = a.iter().chain(&b).copied().collect();
            let distance = |dealt: &[f64]| (dealt[..7].iter().sum::<f64>() - 56.0).abs();
            let drawn = by_chance(&ranks(&all), 9_999, distance);
            assert!((exact - drawn).abs() < 0.4 * exact + 0.002, "{exact} {drawn}");
        }
    }

    #[test]
    fn every_choice_is_counted_by_its_sum() {
        // Of the 10 pairs of 1..=5, {4, 5} has 9, {3, 5} has 8.
        let ranks = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert!((sums_of_at_least(&ranks, 2, 9.0) - 0.1).abs() < 1e-12);
        assert!((sums_of_at_least(&ranks, 2, 8.0) - 0.2).abs() < 1e-12);
        assert!((sums_of_at_least(&[1.0, 2.5, 2.5], 1, 2.5) - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_far_apart_is_less_likely_than_any_number_of_draws_tells() {
        let (low, high): (Vec<f64>, Vec<f64>) = (0..50).map(|i| (f64::from(i), f64::from(i + 100))).unzip();
        assert!(two_sets(&low, &high, 999) < 1e-12);
    }

    #[test]
    fn equal_values_share_their_rank() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }

    #[test]
    fn of_equal_sets_few_are_called_different() {
        let mut random = fastrand::Rng::with_seed(11);
        let alarms = (0..2_000).filter(|_| {
            let set =
                |random: &mut fastrand::Rng| (0..20).map(|_| random::normal(random)).collect::<Vec<_>>();
            two_sets(&set(&mut random), &set(&mut random), 999) <= 0.05
        });
        let share = alarms.count() as f64 / 2_000.0;
        assert!((0.035..0.065).contains(&share), "{share}");
    }
}
