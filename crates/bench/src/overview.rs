//! One run of benchmarks at a glance: what each configuration took, which is the fastest, and where it was measured.

mod figures;

use std::fmt;

use gpuscope_report::units;
use gpuscope_table::{Table, Tabular, Unit};
use serde::Serialize;
use serde_json::Value;

use crate::data::{Benchmark, Measured};

pub(crate) const NS_PER_MS: f64 = 1e6;

/// The answer of `bench report`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overview {
    #[serde(flatten)]
    pub measured: Measured,
    /// The configuration with the lowest mean.
    pub fastest: Option<String>,
    /// The same among those that are named after tiles.
    pub best_tile: Option<String>,
}

/// A configuration that stands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Best {
    /// `Fastest config`
    pub what: &'static str,
    pub name: String,
    pub latency: String,
    pub rate: Option<String>,
}

/// `gpt_nano (1.32 ms, 194 k tokens/s)`
impl fmt::Display for Best {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rate {
            Some(rate) => write!(f, "{} ({}, {rate})", self.name, self.latency),
            None => write!(f, "{} ({})", self.name, self.latency),
        }
    }
}

/// What the panel about the system says, and under which key the file has it.
const FACTS: [(&str, &str); 13] = [
    ("GPU", "gpu_name"),
    ("Compute capability", "compute_capability"),
    ("Driver", "driver_version"),
    ("CUDA version", "cuda_version"),
    ("CuPy version", "cupy_version"),
    ("PyTorch version", "torch_version"),
    ("Python version", "python_version"),
    ("Platform", "platform"),
    ("Host", "host"),
    ("Commit", "git_commit"),
    ("Flags", "flags"),
    ("Timestamp", "timestamp"),
    ("Label", "label"),
];

impl Overview {
    pub fn of(measured: Measured) -> Overview {
        let fastest = |wanted: &dyn Fn(&str) -> bool| {
            let candidates = measured.benchmarks.iter().filter(|(key, _)| wanted(key));
            let least = candidates.min_by(|a, b| a.1.timing.mean.total_cmp(&b.1.timing.mean));
            least.map(|(key, _)| key.clone())
        };
        let (fastest, best_tile) = (fastest(&|_| true), fastest(&|key| key.contains("tile")));
        Overview { measured, fastest, best_tile }
    }

    /// Label and value, without what is not known.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let is_cpu = self.measured.said("device").as_deref() == Some("cpu");
        let fact = |(label, key): (&'static str, &str)| {
            let label = if is_cpu && key == "gpu_name" { "Processor (no GPU)" } else { label };
            let value = match self.measured.metadata.get(key)? {
                Value::Object(flags) if flags.is_empty() => return None,
                Value::Object(flags) => flagged(flags),
                _ => self.measured.said(key)?,
            };
            Some((label, value))
        };
        FACTS.into_iter().filter_map(fact).collect()
    }

    /// The fastest, and the fastest of those that are named after tiles.
    pub fn best(&self) -> Vec<Best> {
        let both = [("Fastest config", &self.fastest), ("Best tile config", &self.best_tile)];
        let best = |(what, key): (&'static str, &Option<String>)| {
            let name = key.clone()?;
            let benchmark = self.measured.benchmarks.get(&name)?;
            let latency = units::float(benchmark.timing.mean * NS_PER_MS, Unit::Ns);
            Some(Best { what, name, latency, rate: benchmark.throughput_tokens_per_sec.map(tokens) })
        };
        both.into_iter().filter_map(best).collect()
    }

    /// `Batch 4, sequence 64` where all have the same.
    pub fn setting(&self) -> Option<String> {
        let all = |number: fn(&Benchmark) -> Option<u64>, key: &str| {
            let mut numbers = self.measured.benchmarks.values().map(number);
            let first = numbers.next()?;
            let shared = first.filter(|_| numbers.all(|number| number == first));
            shared.or_else(|| self.measured.metadata.get(key)?.as_u64())
        };
        let batch = all(|benchmark| benchmark.batch_size, "batch_size").map(|batch| format!("batch {batch}"));
        let length = all(|benchmark| benchmark.seq_len, "seq_len").map(|length| format!("sequence {length}"));
        let words: Vec<String> = batch.into_iter().chain(length).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }

    pub fn title(&self) -> String {
        match self.setting() {
            Some(setting) => format!("Benchmarks ({setting})"),
            None => "Benchmarks".to_owned(),
        }
    }
}

fn flagged(flags: &serde_json::Map<String, Value>) -> String {
    let word = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}={text}"),
        other => format!("{name}={other}"),
    };
    flags.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// `192 k tokens/s`
pub(crate) fn tokens(rate: f64) -> String {
    units::float(rate, Unit::PerSecond).replace("/s", " tokens/s")
}

/// `3L, 3H, 48D`, or what else the configuration says.
pub(crate) fn config(benchmark: &Benchmark) -> Option<String> {
    let short = [(benchmark.layers(), "L"), (benchmark.heads(), "H"), (benchmark.width(), "D")];
    if short.iter().all(|(number, _)| number.is_some()) {
        let words = short.iter().filter_map(|(number, letter)| Some(format!("{}{letter}", (*number)?)));
        return Some(words.collect::<Vec<_>>().join(", "));
    }
    (!benchmark.config.is_empty()).then(|| flagged(&benchmark.config))
}

type Row<'m> = (&'m String, &'m Benchmark);

impl Tabular for Overview {
    fn tables(&self) -> Vec<Table> {
        let rows: Vec<Row<'_>> = self.measured.benchmarks.iter().collect();
        let ns = |ms: Option<f64>| ms.map(|ms| ms * NS_PER_MS);
        let any = |has: fn(&Benchmark) -> bool| rows.iter().any(|(_, benchmark)| has(benchmark));
        let several = self.setting().is_none();
        let benchmarks = Table::of("benchmarks", self.title(), &rows)
            .text("benchmark", "The configuration", |row: &Row<'_>| row.0.clone())
            .text("latency", "Mean time of a repeat ± its standard deviation", |row: &Row<'_>| {
                let (mean, std) = (row.1.timing.mean * NS_PER_MS, ns(row.1.deviation()));
                units::plus_minus(mean, std, Unit::Ns)
            })
            .float("throughput_per_s", Unit::PerSecond, "Tokens in a second, at the mean time", |row| {
                row.1.throughput_tokens_per_sec
            })
            .text("config", "Layers, heads and width, or the configuration as given", |row: &Row<'_>| {
                config(row.1)
            })
            .when(several, |table| {
                table
                    .int("batch", Unit::None, "Batch size", |row| row.1.batch_size.map(|batch| batch as i64))
                    .int("seq_len", Unit::None, "Length of a sequence", |row| {
                        row.1.seq_len.map(|length| length as i64)
                    })
            })
            .float("mean_ns", Unit::Ns, "Mean time of a repeat", |row| ns(Some(row.1.timing.mean)))
            .for_files()
            .float("std_ns", Unit::Ns, "Standard deviation of the repeats", |row| ns(row.1.deviation()))
            .for_files()
            .float("ci_low_ns", Unit::Ns, "Lower end of the confidence interval of the mean", |row| {
                ns(row.1.interval().map(|interval| interval.0))
            })
            .for_files()
            .float("ci_high_ns", Unit::Ns, "Upper end of the confidence interval of the mean", |row| {
                ns(row.1.interval().map(|interval| interval.1))
            })
            .for_files()
            .float("min_ns", Unit::Ns, "The fastest repeat", |row| ns(row.1.timing.min))
            .for_files()
            .float("median_ns", Unit::Ns, "Half of the repeats were faster", |row| ns(row.1.timing.median))
            .float("p95_ns", Unit::Ns, "Of a hundred repeats ninety-five were faster", |row| {
                ns(row.1.timing.p95)
            })
            .float("p99_ns", Unit::Ns, "Of a hundred repeats ninety-nine were faster", |row| {
                ns(row.1.timing.p99)
            })
            .float("max_ns", Unit::Ns, "The slowest repeat", |row| ns(row.1.timing.max))
            .for_files()
            .when(any(|benchmark| !benchmark.samples_ms.is_empty()), |table| {
                table.int("repeats", Unit::Count, "How often it was measured", |row| {
                    Some(row.1.samples_ms.len() as i64).filter(|count| *count > 0)
                })
            })
            .when(any(|benchmark| benchmark.peak_memory_bytes.is_some()), |table| {
                table.float("peak_memory_bytes", Unit::Bytes, "Most memory taken at once", |row| {
                    row.1.peak_memory_bytes
                })
            })
            .when(any(|benchmark| benchmark.bandwidth_bytes_per_s.is_some()), |table| {
                table.float(
                    "bandwidth_bytes_per_s",
                    Unit::BytesPerSecond,
                    "Memory read and written in a second",
                    |row| row.1.bandwidth_bytes_per_s,
                )
            })
            .build();
        let best = self.best();
        let best = Table::of("best", "The best", &best)
            .text("what", "Of which sort", |row| row.what.to_owned())
            .text("which", "The configuration with its mean time and throughput", ToString::to_string)
            .build();
        let facts = self.facts();
        let system = Table::of("system", "System", &facts)
            .text("fact", "What is known", |row| row.0.to_owned())
            .text("value", "As it was when measuring", |row| row.1.clone())
            .build();
        let failures = self.failures();
        let failed = Table::of("failures", "Not measured", &failures)
            .text("benchmark", "The configuration", |row| row.0.clone())
            .text("error", "Why there is no time", |row| row.1.clone())
            .build();
        vec![benchmarks, best, failed, system]
    }
}

impl Overview {
    fn failures(&self) -> Vec<(String, String)> {
        let listed = self.measured.others.get("failures").and_then(Value::as_array);
        let word = |failure: &Value, key: &str| failure.get(key)?.as_str().map(gpuscope_report::one_line);
        let failures = listed.into_iter().flatten();
        failures
            .filter_map(|failure| Some((word(failure, "key")?, word(failure, "error").unwrap_or_default())))
            .collect()
    }
}

#[cfg(test)]
mod tests;
