//! Two or more runs of the same benchmarks side by side: how much faster each is than the first, how sure that is, and
//! what else differs between them.

mod figures;

use gpuscope_report::units;
use gpuscope_table::{Table, Tabular, Unit};
use serde::Serialize;

use crate::data::{Benchmark, Side};
use crate::gate::holm;
use crate::overview::{NS_PER_MS, config};
use crate::permutation::two_sets;
use crate::random;
use crate::summary::{mean, quantile, sorted};

/// For those who only look.
const LEVEL: f64 = 0.01;
const DRAWS: u32 = 9_999;
/// Times that both sides are drawn anew for the interval of a speed-up.
const RESAMPLES: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Faster,
    Slower,
    NoSignificantDifference,
    /// Without samples nobody can tell.
    NotTested,
}

/// One configuration on one side; times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    pub benchmark: String,
    pub side: String,
    pub mean_ns: f64,
    pub std_ns: Option<f64>,
    pub throughput_per_s: Option<f64>,
    /// How many times as fast as the first side, and the interval of that; the first side has none.
    pub speedup: Option<f64>,
    pub speedup_low: Option<f64>,
    pub speedup_high: Option<f64>,
    /// How likely a difference as clear as this is by chance.
    pub p: Option<f64>,
    pub change: Option<Change>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    pub fact: String,
    pub side: String,
    pub value: String,
}

/// The answer of `bench compare`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    pub verdict: String,
    pub sides: Vec<String>,
    pub rows: Vec<Compared>,
    /// What the sides say of themselves and do not have in common.
    pub differences: Vec<Difference>,
    /// Configurations that the first side has and another has not, or the other way round.
    pub missing: Vec<String>,
}

impl Comparison {
    /// Of a run beside the first; `None` if they have nothing in common.
    pub fn speedups(&self, side: &str) -> Option<Speedups> {
        Speedups::of(&self.rows, side)
    }

    /// `sides` holds at least one.
    pub fn of(sides: &[Side]) -> Comparison {
        Comparison::at_level(sides, LEVEL)
    }

    /// `level` is the chance of calling any of the compared different when none is.
    pub fn at_level(sides: &[Side], level: f64) -> Comparison {
        let labels = told_apart(sides);
        let [first, others @ ..] = sides else {
            return Comparison {
                verdict: "There is nothing to compare.".to_owned(),
                sides: labels,
                rows: Vec::new(),
                differences: Vec::new(),
                missing: Vec::new(),
            };
        };
        let mut rows = Vec::new();
        for (key, base) in &first.measured.benchmarks {
            rows.push(row(key, &labels[0], base));
            for (side, label) in others.iter().zip(&labels[1..]) {
                if let Some(other) = side.measured.benchmarks.get(key) {
                    rows.push(beside(row(key, label, other), base, other));
                }
            }
        }
        let significant = holm(&rows.iter().map(|row| row.p).collect::<Vec<_>>(), level);
        for (row, significant) in rows.iter_mut().zip(significant) {
            row.change = change(row, significant);
        }
        let keys = |side: &Side| side.measured.benchmarks.keys().cloned().collect::<Vec<_>>();
        let everywhere = |key: &String| sides.iter().all(|side| side.measured.benchmarks.contains_key(key));
        let mut missing: Vec<String> = sides.iter().flat_map(keys).filter(|key| !everywhere(key)).collect();
        missing.sort_unstable();
        missing.dedup();
        let verdict = verdict(&labels, &rows);
        Comparison { verdict, rows, differences: differences(sides, &labels), missing, sides: labels }
    }
}

/// No two have the same name.
fn told_apart(sides: &[Side]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for side in sides {
        let mut names =
            std::iter::once(side.label.clone()).chain((2..).map(|n| format!("{} ({n})", side.label)));
        labels.extend(names.find(|name| !labels.contains(name)));
    }
    labels
}

fn row(key: &str, label: &str, one: &Benchmark) -> Compared {
    Compared {
        benchmark: key.to_owned(),
        side: label.to_owned(),
        mean_ns: one.timing.mean * NS_PER_MS,
        std_ns: one.deviation().map(|std| std * NS_PER_MS),
        throughput_per_s: one.throughput_tokens_per_sec,
        speedup: None,
        speedup_low: None,
        speedup_high: None,
        p: None,
        change: None,
    }
}

fn beside(row: Compared, base: &Benchmark, other: &Benchmark) -> Compared {
    let speedup = (other.timing.mean > 0.0).then(|| base.timing.mean / other.timing.mean);
    let (a, b) = (&base.samples_ms, &other.samples_ms);
    if a.len() < 2 || b.len() < 2 {
        return Compared { speedup, change: Some(Change::NotTested), ..row };
    }
    // What the interval is of: a file may say another mean than its samples have.
    let speedup = Some(mean(a) / mean(b)).filter(|ratio| ratio.is_finite()).or(speedup);
    let (low, high) = interval(a, b);
    Compared {
        speedup,
        speedup_low: Some(low),
        speedup_high: Some(high),
        p: Some(two_sets(a, b, DRAWS)),
        ..row
    }
}

/// Of the ratio of the means, by drawing both sides anew from what was measured: 95 %.
fn interval(base: &[f64], other: &[f64]) -> (f64, f64) {
    let mut random = random::fixed();
    let mut drawn = |samples: &[f64]| {
        let sum: f64 = (0..samples.len()).map(|_| samples[random.usize(..samples.len())]).sum();
        sum / samples.len() as f64
    };
    let ratios: Vec<f64> =
        (0..RESAMPLES).map(|_| drawn(base) / drawn(other)).filter(|ratio| ratio.is_finite()).collect();
    if ratios.is_empty() {
        let ratio = mean(base) / mean(other);
        return (ratio, ratio);
    }
    let ratios = sorted(&ratios);
    (quantile(&ratios, 0.025), quantile(&ratios, 0.975))
}

fn change(row: &Compared, significant: bool) -> Option<Change> {
    if row.change.is_some() {
        return row.change;
    }
    row.p?;
    Some(match (significant, row.speedup_low, row.speedup_high) {
        (true, Some(low), _) if low > 1.0 => Change::Faster,
        (true, _, Some(high)) if high < 1.0 => Change::Slower,
        _ => Change::NoSignificantDifference,
    })
}

/// How many times as fast as the first a run is, over all its configurations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speedups {
    pub count: usize,
    /// Geometric: twice as fast and half as fast make none.
    pub mean: f64,
    pub least: f64,
    pub most: f64,
}

impl Speedups {
    fn of(rows: &[Compared], side: &str) -> Option<Speedups> {
        let of_side = rows.iter().filter(|row| row.side == side);
        let all: Vec<f64> = of_side.filter_map(|row| row.speedup).collect();
        (!all.is_empty()).then(|| Speedups {
            count: all.len(),
            mean: (all.iter().map(|ratio| ratio.ln()).sum::<f64>() / all.len() as f64).exp(),
            least: all.iter().copied().fold(f64::INFINITY, f64::min),
            most: all.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

fn verdict(labels: &[String], rows: &[Compared]) -> String {
    let said = labels.iter().skip(1).filter_map(|label| {
        let of_side: Vec<&Compared> = rows.iter().filter(|row| row.side == *label).collect();
        let speedups = Speedups::of(rows, label)?;
        let count = |change| of_side.iter().filter(|row| row.change == Some(change)).count();
        let (faster, slower) = (count(Change::Faster), count(Change::Slower));
        let (same, untested) = (count(Change::NoSignificantDifference), count(Change::NotTested));
        if faster + slower + untested == 0 {
            return Some(format!("No significant difference between {label} and {}.", labels[0]));
        }
        let counted = [
            (faster, "faster"),
            (slower, "slower"),
            (same, "without a significant difference"),
            (untested, "not tested for want of samples"),
        ];
        let words: Vec<String> = counted
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let of = if speedups.count == 1 {
            String::new()
        } else {
            format!(" in the mean of {} configurations", speedups.count)
        };
        Some(format!("{label} is {:.2} × as fast as {}{of}: {}.", speedups.mean, labels[0], words.join(", ")))
    });
    let said: Vec<String> = said.collect();
    if said.is_empty() { "The runs have no configuration in common.".to_owned() } else { said.join(" ") }
}

/// Not worth a line: they differ between any two runs.
const ALWAYS_DIFFER: [&str; 5] = ["timestamp", "run_id", "unix_time", "label", "git_dirty"];

fn differences(sides: &[Side], labels: &[String]) -> Vec<Difference> {
    let mut keys: Vec<&String> = sides.iter().flat_map(|side| side.measured.metadata.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.retain(|key| {
        let values: Vec<_> = sides.iter().map(|side| side.measured.metadata.get(*key)).collect();
        !ALWAYS_DIFFER.contains(&key.as_str()) && values.windows(2).any(|two| two[0] != two[1])
    });
    let of = |key: &String| {
        let side = |(side, label): (&Side, &String)| Difference {
            fact: key.replace('_', " "),
            side: label.clone(),
            value: side.measured.said(key).unwrap_or_else(|| "–".to_owned()),
        };
        sides.iter().zip(labels).map(side).collect::<Vec<_>>()
    };
    keys.into_iter().flat_map(of).chain(other_settings(sides, labels)).collect()
}

/// Configurations of one name that are not the same thing.
fn other_settings(sides: &[Side], labels: &[String]) -> Vec<Difference> {
    let settings = |one: &Benchmark| {
        let both = [("batch", one.batch_size), ("sequence", one.seq_len)];
        let mut words: Vec<String> =
            both.iter().filter_map(|(name, size)| Some(format!("{name} {}", (*size)?))).collect();
        words.extend(config(one));
        words.join(", ")
    };
    let mut differences = Vec::new();
    for key in sides.first().into_iter().flat_map(|first| first.measured.benchmarks.keys()) {
        let told: Vec<(&String, String)> = sides
            .iter()
            .zip(labels)
            .filter_map(|(side, label)| Some((label, settings(side.measured.benchmarks.get(key)?))))
            .collect();
        if told.windows(2).any(|two| two[0].1 != two[1].1) {
            let row = |(label, value): (&String, String)| Difference {
                fact: format!("setting of {key}"),
                side: label.clone(),
                value,
            };
            differences.extend(told.into_iter().map(row));
        }
    }
    differences
}

/// `1.42 × (1.38 to 1.46)`
fn in_words(row: &Compared) -> Option<String> {
    let speedup = row.speedup?;
    Some(match row.speedup_low.zip(row.speedup_high) {
        Some((low, high)) => format!("{speedup:.2} × ({low:.2} to {high:.2})"),
        None => format!("{speedup:.2} ×"),
    })
}

fn said(change: Change) -> &'static str {
    match change {
        Change::Faster => "faster",
        Change::Slower => "slower",
        Change::NoSignificantDifference => "no significant difference",
        Change::NotTested => "not tested: no samples",
    }
}

impl Tabular for Comparison {
    fn tables(&self) -> Vec<Table> {
        let rows = Table::of("comparison", "Comparison", &self.rows)
            .text("benchmark", "The configuration", |row| row.benchmark.clone())
            .text("side", "The run", |row| row.side.clone())
            .text("latency", "Mean time of a repeat ± its standard deviation", |row| {
                units::plus_minus(row.mean_ns, row.std_ns, Unit::Ns)
            })
            .float("throughput_per_s", Unit::PerSecond, "Tokens in a second", |row| row.throughput_per_s)
            .text("speed_up", "How many times as fast as the first run, with its 95 % interval", in_words)
            .text("verdict", "What can be said of the difference", |row| {
                row.change.map(|change| said(change).to_owned())
            })
            .float("mean_ns", Unit::Ns, "Mean time of a repeat", |row| row.mean_ns)
            .for_files()
            .float("std_ns", Unit::Ns, "Standard deviation of the repeats", |row| row.std_ns)
            .for_files()
            .float("speedup", Unit::Ratio, "How many times as fast as the first run", |row| row.speedup)
            .for_files()
            .float("speedup_low", Unit::Ratio, "Lower end of its 95 % interval", |row| row.speedup_low)
            .for_files()
            .float("speedup_high", Unit::Ratio, "Upper end of its 95 % interval", |row| row.speedup_high)
            .for_files()
            .float("p", Unit::Ratio, "How likely a difference as clear as this is by chance", |row| row.p)
            .for_files()
            .build();
        let differences = Table::of("differences", "What else differs", &self.differences)
            .text("fact", "What the runs say of themselves", |row| row.fact.clone())
            .text("side", "The run", |row| row.side.clone())
            .text("value", "What it says", |row| row.value.clone())
            .build();
        let missing = Table::of("missing", "Not in every run", &self.missing)
            .text("benchmark", "The configuration", Clone::clone)
            .build();
        vec![rows, differences, missing]
    }
}

#[cfg(test)]
mod tests;
