//! Did the newest runs get worse? A gate that people can leave on: it says so only if the change is large in itself, large
//! beside the level before, and more than chance would do.
//!
//! Runs differ more from each other than repeats within one, so what is tested is runs: the newest few beside those
//! before, back to the last known change of level. How many of the newest are worse is not known beforehand; the test
//! takes the clearest of the choices, and deals runs at random to see how clear that choice is by chance alone. So its
//! level holds whatever the noise is like.

mod answer;

use serde::Serialize;

use crate::changes::levels;
use crate::metric::Better;
use crate::permutation::{by_chance, ranks, standardised, sums_of_at_least};
use crate::summary::median;

pub use answer::{GateAnswer, Gated, still_measured};

/// What is too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Of the level before: 0.03 for three percent.
    pub relative: f64,
    /// The chance of an alarm without a cause, for all series of a call together.
    pub level: f64,
    /// So many of the newest runs may be worse without having become the new level.
    pub newest: usize,
    /// Runs before them that count.
    pub before: usize,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy { relative: 0.03, level: 0.005, newest: 5, before: 50 }
    }
}

const DRAWS: u32 = 1_999;

impl Policy {
    /// With fewer runs even the clearest change could be chance; the more numbers are judged in one call, the more runs it
    /// takes. `None` if no history that is looked at is long enough.
    pub fn least_runs(&self, numbers: usize) -> Option<usize> {
        let level = self.level / numbers.max(1) as f64;
        // The clearest change is all of the newest above all others: one of so many deals.
        let deals =
            |runs: usize| (0..self.newest).map(|i| (runs - i) as f64 / (i + 1) as f64).product::<f64>();
        (self.newest + 1..=self.before + self.newest).find(|&runs| 1.0 / deals(runs) <= level)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Worse,
    Better,
    Same,
    TooFewRuns,
}

/// What became of one series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Judgement {
    pub verdict: Verdict,
    /// Medians of the runs before, and of the newest.
    pub before: f64,
    pub newest: f64,
    /// In percent of what was before; positive where the value grew. Nothing has no percent.
    pub change_pct: Option<f64>,
    pub runs_before: usize,
    pub runs_newest: usize,
    /// How likely a change as clear as this is by chance.
    pub p: Option<f64>,
}

/// One series, the newest run last, and the least change of it that matters.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'v> {
    pub values: &'v [f64],
    pub better: Better,
    pub absolute: f64,
}

/// All series of one call. The more are looked at, the clearer each has to be (Holm, 1979).
pub fn judge(series: &[Judged<'_>], policy: &Policy) -> Vec<Judgement> {
    let least = policy.least_runs(series.len()).unwrap_or(usize::MAX);
    let scans: Vec<Option<Scan>> = series.iter().map(|one| Scan::of(one, policy, least)).collect();
    let significant =
        holm(&scans.iter().map(|scan| scan.as_ref().map(|scan| scan.p)).collect::<Vec<_>>(), policy.level);
    let judged = series.iter().zip(&scans).zip(significant);
    judged.map(|((one, scan), significant)| judgement(one, scan.as_ref(), significant, policy)).collect()
}

/// The clearest change of the newest runs.
#[derive(Clone, Copy, Debug)]
struct Scan {
    newest: usize,
    before: usize,
    p: f64,
    /// In the direction that is worse.
    worse: bool,
}

impl Scan {
    fn of(series: &Judged<'_>, policy: &Policy, least_runs: usize) -> Option<Scan> {
        let values = since_last_change(series.values, policy);
        if values.len() < least_runs {
            return None;
        }
        let newest = policy.newest.min(values.len() - 1);
        let upwards = ranks(values);
        let downwards: Vec<f64> = upwards.iter().map(|rank| (values.len() + 1) as f64 - rank).collect();
        let (worse, better) = match series.better {
            Better::Lower => (&upwards, &downwards),
            Better::Higher => (&downwards, &upwards),
        };
        let is_worse = clearest(worse, newest).1 >= clearest(better, newest).1;
        let ranks = if is_worse { worse } else { better };
        let drawn = by_chance(ranks, DRAWS, |dealt| clearest(dealt, newest).1);
        // No deal did as well: then the sum over all numbers of newest runs is not much more than the chance itself.
        let p = if drawn > 1.0 / f64::from(DRAWS) { drawn } else { drawn.min(at_most(ranks, newest)) };
        let (newest, _) = clearest(ranks, newest);
        Some(Scan { newest, before: values.len() - newest, p, worse: is_worse })
    }
}

/// A chance that is not exceeded: of any of the sums of newest ranks to be as clear as the clearest is, each counted out.
fn at_most(ranks: &[f64], newest: usize) -> f64 {
    let (_, observed) = clearest(ranks, newest);
    let n = ranks.len() as f64;
    let one = |k: usize| {
        let size = k as f64;
        let deviation = (size * (n - size) * (n + 1.0) / 12.0).sqrt();
        sums_of_at_least(ranks, k, size * (n + 1.0) / 2.0 + observed * deviation - 1e-9)
    };
    (1..=newest).map(one).sum::<f64>().min(1.0)
}

/// Back to the last change of level that is older than the newest runs.
fn since_last_change<'v>(values: &'v [f64], policy: &Policy) -> &'v [f64] {
    let values = &values[values.len().saturating_sub(policy.before + policy.newest)..];
    let older = &values[..values.len().saturating_sub(policy.newest)];
    let first = levels(older).last().map_or(0, |level| level.first);
    &values[first..]
}

/// How many of the newest differ most from those before, and how much.
fn clearest(ranks: &[f64], newest: usize) -> (usize, f64) {
    let mut sum = 0.0;
    let mut best = (1, f64::NEG_INFINITY);
    for (k, rank) in (1..=newest).zip(ranks.iter().rev()) {
        sum += rank;
        let difference = standardised(sum, k, ranks.len());
        if difference > best.1 {
            best = (k, difference);
        }
    }
    best
}

/// Which of several chances are below the level when all are looked at together.
pub(crate) fn holm(chances: &[Option<f64>], level: f64) -> Vec<bool> {
    let mut order: Vec<(usize, f64)> =
        chances.iter().enumerate().filter_map(|(i, p)| Some((i, (*p)?))).collect();
    order.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
    let mut significant = vec![false; chances.len()];
    for (place, (i, p)) in order.iter().enumerate() {
        if *p > level / (order.len() - place) as f64 {
            break;
        }
        significant[*i] = true;
    }
    significant
}

fn judgement(series: &Judged<'_>, scan: Option<&Scan>, significant: bool, policy: &Policy) -> Judgement {
    let values = series.values;
    let Some(scan) = scan else {
        let (last, before) = values.split_last().map_or((f64::NAN, values), |(last, before)| (*last, before));
        let before_median = if before.is_empty() { last } else { median(before) };
        return Judgement {
            verdict: Verdict::TooFewRuns,
            before: before_median,
            newest: last,
            change_pct: percent(before_median, last),
            runs_before: before.len(),
            runs_newest: values.len() - before.len(),
            p: None,
        };
    };
    let used = &values[values.len() - scan.before - scan.newest..];
    let (before, newest) = used.split_at(scan.before);
    let (before, newest) = (median(before), median(newest));
    let change = newest - before;
    let large = change.abs() >= series.absolute && change.abs() >= policy.relative * before.abs();
    let towards_worse = (change > 0.0) == (series.better == Better::Lower);
    let verdict = match (significant && large, scan.worse && towards_worse) {
        (true, true) => Verdict::Worse,
        (true, false) if !scan.worse => Verdict::Better,
        _ => Verdict::Same,
    };
    Judgement {
        verdict,
        before,
        newest,
        change_pct: percent(before, newest),
        runs_before: scan.before,
        runs_newest: scan.newest,
        p: Some(scan.p),
    }
}

pub(crate) fn percent(before: f64, newest: f64) -> Option<f64> {
    (before != 0.0).then(|| (newest - before) / before.abs() * 100.0)
}

#[cfg(test)]
mod tests;
