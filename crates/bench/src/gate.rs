//! Did the newest runs get worse? A gate that people can leave on: it says so only if the change is large in itself, large
//! beside the level before, and more than chance would do.
//!
//! Runs differ more from each other than repeats within one, so what is tested is runs: the newest few beside those
//! before, back to the last known change of level. How many of the newest are worse is not known beforehand; the test
//! takes the clearest of the choices, and deals runs at random to see how clear that choice is by chance alone. So its
//! level holds whatever the noise is like.

mod answer;

use serde::Serialize;

use crate::changes::{levels, standardised};
use crate::metric::Better;
use crate::permutation::{by_chance, ranks};
use crate::summary::median;

pub use answer::{GateAnswer, Gated};

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

/// With fewer runs even the clearest change could be chance.
pub const LEAST_RUNS: usize = 10;

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
    /// In percent of what was before; positive where the value grew.
    pub change_pct: f64,
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
    let draws = draws(series.len(), policy.level);
    let scans: Vec<Option<Scan>> = series.iter().map(|one| Scan::of(one, policy, draws)).collect();
    let significant =
        holm(&scans.iter().map(|scan| scan.as_ref().map(|scan| scan.p)).collect::<Vec<_>>(), policy.level);
    let judged = series.iter().zip(&scans).zip(significant);
    judged.map(|((one, scan), significant)| judgement(one, scan.as_ref(), significant, policy)).collect()
}

/// Enough to tell the level that the least likely of so many must reach.
fn draws(series: usize, level: f64) -> u32 {
    (4.0 * series as f64 / level).clamp(999.0, 200_000.0) as u32
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
    fn of(series: &Judged<'_>, policy: &Policy, draws: u32) -> Option<Scan> {
        let values = since_last_change(series.values, policy);
        if values.len() < LEAST_RUNS {
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
        let p = by_chance(ranks, draws, |dealt| clearest(dealt, newest).1);
        let (newest, _) = clearest(ranks, newest);
        Some(Scan { newest, before: values.len() - newest, p, worse: is_worse })
    }
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

fn percent(before: f64, newest: f64) -> f64 {
    if before == 0.0 { 0.0 } else { (newest - before) / before.abs() * 100.0 }
}

#[cfg(test)]
mod tests;
