//! What was slower on a late rank than on the median of those it works with.

use gpuscope_trace::Ns;
use serde::Serialize;

use super::work::{Amount, Work};

/// Why a rank was late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The same kernels took longer.
    SlowerKernels,
    /// There were more kernels.
    MoreWork,
    /// The GPU waited for its host.
    Host,
    /// None of these explains a good part of it.
    Unknown,
}

impl Why {
    pub fn label(self) -> &'static str {
        match self {
            Why::SlowerKernels => "slower kernels",
            Why::MoreWork => "more work",
            Why::Host => "host",
            Why::Unknown => "unknown",
        }
    }
}

/// A late rank against the median of its peers, over the steps in which it was late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    pub why: Why,
    pub slower_kernels_ns: Ns,
    pub more_work_ns: Ns,
    pub host_ns: Ns,
    /// The kernel that took most more time than on the median rank, if kernels are to blame.
    pub kernel: Option<String>,
}

/// Less than this share of the lateness explains nothing.
const SHARE: i64 = 4;

pub(super) fn of(own: &Work, peers: &[&Work], steps: &[i64], lateness: Ns) -> Option<Cause> {
    if peers.is_empty() {
        return None;
    }
    let amounts: Vec<Amount> = peers.iter().map(|peer| peer.during(steps)).collect();
    let mid = |value: fn(&Amount) -> i64| median(amounts.iter().map(value).collect());
    let (kernels, compute, host) = (mid(|a| a.kernels), mid(|a| a.compute.0), mid(|a| a.host.0));
    let mine = own.during(steps);
    let more =
        i128::from(mine.kernels.saturating_sub(kernels)) * i128::from(compute) / i128::from(kernels.max(1));
    let more_work_ns = Ns(more.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64);
    let slower_kernels_ns = mine.compute - Ns(compute) - more_work_ns;
    let host_ns = mine.host - Ns(host);
    let candidates =
        [(slower_kernels_ns, Why::SlowerKernels), (more_work_ns, Why::MoreWork), (host_ns, Why::Host)];
    let largest = candidates.into_iter().reduce(|best, next| if next.0 > best.0 { next } else { best });
    let why = largest
        .filter(|(ns, _)| ns.0.saturating_mul(SHARE) >= lateness.0)
        .map_or(Why::Unknown, |(_, why)| why);
    let kernel = matches!(why, Why::SlowerKernels | Why::MoreWork).then(|| kernel(own, peers)).flatten();
    Some(Cause { why, slower_kernels_ns, more_work_ns, host_ns, kernel })
}

/// The kernel whose time exceeds the median of the peers most.
fn kernel(own: &Work, peers: &[&Work]) -> Option<String> {
    let excess = |(name, sum): (&String, &Ns)| {
        let sums = peers.iter().map(|peer| peer.kernels.get(name).map_or(0, |sum| sum.0)).collect();
        (*sum - Ns(median(sums)), name.clone())
    };
    own.kernels.iter().map(excess).max().filter(|(excess, _)| *excess > Ns::ZERO).map(|(_, name)| name)
}

fn median(mut values: Vec<i64>) -> i64 {
    let middle = values.len() / 2;
    if values.is_empty() { 0 } else { *values.select_nth_unstable(middle).1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(kernels: i64, compute: i64, host: i64) -> Work {
        Work { total: Amount { kernels, compute: Ns(compute), host: Ns(host) }, ..Work::default() }
    }

    fn why(own: &Work, lateness: i64) -> Why {
        let (a, b, c) = (work(10, 1_000, 50), work(10, 990, 60), work(10, 1_010, 55));
        of(own, &[&a, &b, &c], &[], Ns(lateness)).unwrap().why
    }

    #[test]
    fn the_largest_difference_from_the_median_is_to_blame() {
        assert_eq!(why(&work(10, 1_500, 55), 500), Why::SlowerKernels);
        assert_eq!(why(&work(15, 1_500, 55), 500), Why::MoreWork);
        assert_eq!(why(&work(10, 1_000, 555), 500), Why::Host);
        assert_eq!(why(&work(10, 1_000, 55), 500), Why::Unknown);
        assert_eq!(of(&work(1, 1, 1), &[], &[], Ns(5)), None);
    }

    #[test]
    fn hostile_amounts_do_no_harm() {
        let huge = work(i64::MAX, i64::MAX, i64::MAX);
        let tiny = work(0, i64::MIN, i64::MIN);
        assert!(of(&huge, &[&tiny, &huge], &[], Ns(i64::MAX)).is_some());
        assert!(of(&tiny, &[&huge], &[], Ns(0)).is_some());
    }
}
