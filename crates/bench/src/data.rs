//! What a run of benchmarks measured, in the shape of `profiling_data.json`: times in milliseconds, keys that we do not
//! know kept as they are.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use gpuscope_report::one_line;
use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::history::{Measurement, RunRow};
use crate::summary::Summary;

/// A whole run: where it was measured, and every configuration in the order of measuring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Map<String, Value>,
    pub benchmarks: IndexMap<String, Benchmark>,
    /// Configurations that ended with an error, and anything else that is in the file.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    #[serde(default, deserialize_with = "or_default")]
    pub config: Map<String, Value>,
    pub timing: Timing,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput_tokens_per_sec: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq_len: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Every repeat, in the order of measuring; what significance is told from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples_ms: Vec<f64>,
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// In milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    pub mean: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci_low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci_high: Option<f64>,
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// What is said to be nothing is nothing.
fn or_default<'d, D: Deserializer<'d>, T: Deserialize<'d> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// One file may hold one run, or the two sides of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// What people call it.
    pub label: String,
    pub measured: Measured,
}

#[derive(Deserialize)]
struct Compared {
    as_is: Labelled,
    to_be: Labelled,
}

#[derive(Deserialize)]
struct Labelled {
    label: Option<String>,
    #[serde(flatten)]
    measured: Measured,
}

impl Measured {
    pub fn read(path: &Path) -> Result<Measured, Error> {
        Measured::parse(&text(path)?, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Measured, Error> {
        let measured: Measured =
            serde_json::from_str(text).map_err(|source| Error::not_measured(path, source))?;
        measured.checked(path)
    }

    /// Refuses numbers that nothing can have measured, and makes names fit to be shown.
    fn checked(mut self, path: &Path) -> Result<Measured, Error> {
        for (key, benchmark) in &self.benchmarks {
            if let Some(what) = benchmark.unsound() {
                return Err(Error::Unsound { path: path.display().to_string(), key: one_line(key), what });
            }
        }
        let benchmarks = std::mem::take(&mut self.benchmarks);
        self.benchmarks =
            benchmarks.into_iter().map(|(key, benchmark)| (one_line(&key), benchmark)).collect();
        Ok(self)
    }

    /// A run as the history has it; numbers that are of no benchmark, such as those of traces, are left out.
    pub fn of_history(row: &RunRow, measurements: &[Measurement]) -> Measured {
        let mut measured = Measured { metadata: row.metadata.clone(), ..Measured::default() };
        measured.metadata.entry("gpu_name").or_insert_with(|| row.device.clone().into());
        // A name that stands for several sizes needs them to be told apart.
        let mut settings: HashMap<&str, HashSet<_>> = HashMap::new();
        for one in measurements {
            settings.entry(&one.benchmark).or_default().insert((one.batch, one.seq_len));
        }
        let key = |one: &Measurement| {
            let suffix = |letter: char, number: Option<u64>| {
                number.map_or_else(String::new, |n| format!("_{letter}{n}"))
            };
            if settings[one.benchmark.as_str()].len() < 2 {
                one.benchmark.clone()
            } else {
                format!("{}{}{}", one.benchmark, suffix('b', one.batch), suffix('s', one.seq_len))
            }
        };
        let times = measurements.iter().filter(|one| one.metric.name == "latency");
        for one in times {
            measured.benchmarks.insert(key(one), Benchmark::of_history(one));
        }
        for one in measurements {
            let Some(benchmark) = measured.benchmarks.get_mut(&key(one)) else { continue };
            match one.metric.name.as_str() {
                "throughput" => benchmark.throughput_tokens_per_sec = Some(one.value),
                "peak_memory" => benchmark.peak_memory_bytes = Some(one.value),
                "bandwidth" => benchmark.bandwidth_bytes_per_s = Some(one.value),
                _ => {}
            }
        }
        measured
    }

    /// A word of the metadata.
    pub fn said(&self, key: &str) -> Option<String> {
        match self.metadata.get(key)? {
            Value::Null => None,
            Value::String(text) if text.trim().is_empty() => None,
            Value::String(text) => Some(one_line(text)),
            other => Some(one_line(&other.to_string())),
        }
    }
}

/// The sides of a comparison: a file of two sides is two.
pub fn sides(path: &Path) -> Result<Vec<Side>, Error> {
    let text = text(path)?;
    if let Ok(Compared { as_is, to_be }) = serde_json::from_str(&text) {
        let side = |side: Labelled, otherwise: &str| {
            let label = side.label.map_or_else(|| otherwise.to_owned(), |label| one_line(&label));
            Ok(Side { label, measured: side.measured.checked(path)? })
        };
        return Ok(vec![side(as_is, "AS-IS")?, side(to_be, "TO-BE")?]);
    }
    let measured = Measured::parse(&text, path)?;
    let label = measured.said("label").unwrap_or_else(|| path.display().to_string());
    Ok(vec![Side { label, measured }])
}

fn text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path)
        .map_err(|source| Error::Unreadable { path: path.display().to_string(), source })
}

impl Benchmark {
    /// From its latency; in nanoseconds there, in milliseconds here.
    fn of_history(latency: &Measurement) -> Benchmark {
        const MS: f64 = 1e-6;
        let samples_ms: Vec<f64> = latency.samples.iter().map(|ns| ns * MS).collect();
        let summary = Summary::of(&samples_ms, 0.95);
        let of = |value: fn(&Summary) -> f64| summary.as_ref().map(value);
        let timing = Timing {
            mean: latency.value * MS,
            std: of(|summary| summary.std),
            min: of(|summary| summary.min),
            max: of(|summary| summary.max),
            median: of(|summary| summary.median),
            p95: of(|summary| summary.p95),
            p99: of(|summary| summary.p99),
            ci_low: latency.interval.map(|(low, _)| low * MS),
            ci_high: latency.interval.map(|(_, high)| high * MS),
            others: Map::new(),
        };
        Benchmark {
            config: latency.config.clone(),
            timing,
            batch_size: latency.batch,
            seq_len: latency.seq_len,
            samples_ms,
            ..Benchmark::default()
        }
    }

    /// What cannot have been measured, if anything.
    fn unsound(&self) -> Option<&'static str> {
        // Thirty years are long enough for a benchmark, and short enough to be counted in nanoseconds.
        const LONGEST_MS: f64 = 1e12;
        const MOST: u64 = 1 << 53;
        let is_time = |ms: f64| (0.0..=LONGEST_MS).contains(&ms);
        let Timing { mean, std, min, max, median, p95, p99, ci_low, ci_high, .. } = &self.timing;
        let times = [std, min, max, median, p95, p99].into_iter().flatten();
        let interval = [ci_low, ci_high].into_iter().flatten();
        let counts = [self.throughput_tokens_per_sec, self.peak_memory_bytes, self.bandwidth_bytes_per_s];
        match () {
            () if !is_time(*mean) || *mean == 0.0 => Some("a mean time in milliseconds"),
            () if !times.copied().all(is_time) => Some("times in milliseconds"),
            () if !interval.copied().all(f64::is_finite) => Some("an interval of the mean"),
            () if !self.samples_ms.iter().copied().all(is_time) => Some("samples in milliseconds"),
            () if !counts.into_iter().flatten().all(|count| (0.0..1e300).contains(&count)) => {
                Some("throughput, memory and bandwidth that are not negative")
            }
            () if self.batch_size.max(self.seq_len).is_some_and(|size| size > MOST) => Some("smaller sizes"),
            () => None,
        }
    }

    /// In milliseconds, from the samples where they are kept, else as the file says.
    pub fn deviation(&self) -> Option<f64> {
        self.timing.std.or_else(|| self.summary().map(|summary| summary.std))
    }

    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.samples_ms, 0.95)
    }

    /// The interval of the mean, if the file has it or the samples tell.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let told = self.timing.ci_low.zip(self.timing.ci_high);
        told.or_else(|| self.summary().map(|summary| (summary.ci_low, summary.ci_high)))
    }

    /// A number of the configuration, under any of its names.
    pub fn number(&self, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|name| self.config.get(*name)?.as_f64())
    }

    pub fn layers(&self) -> Option<f64> {
        self.number(&["n_layer", "n_layers", "num_layers", "layers"])
    }

    pub fn heads(&self) -> Option<f64> {
        self.number(&["n_head", "n_heads", "num_heads", "heads"])
    }

    pub fn width(&self) -> Option<f64> {
        self.number(&["n_embd", "d_model", "hidden_size", "width"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = r#"{"metadata": {"timestamp": "2026-01-26T14:27:35.233860", "gpu_name": "NVIDIA GB10",
        "compute_capability": "12.1", "cuda_version": 13000},
      "benchmarks": {"gpt_nano": {"config": {"n_layer": 3, "n_head": 3, "n_embd": 48},
        "timing": {"mean": 1.32, "std": 0.11, "min": 1.24, "max": 1.75, "median": 1.28, "p95": 1.63, "p99": 1.74},
        "throughput_tokens_per_sec": 193731, "note": "kept"},
        "a": {"config": {}, "timing": {"mean": 2}}}, "more": [1]}"#;

    #[test]
    fn the_shape_is_read_and_written_and_nothing_is_lost() {
        let measured = Measured::parse(EXAMPLE, Path::new("x.json")).unwrap();
        let keys: Vec<&String> = measured.benchmarks.keys().collect();
        assert_eq!(keys, ["gpt_nano", "a"], "in their order");
        let nano = &measured.benchmarks["gpt_nano"];
        assert_eq!(
            (nano.timing.p99, nano.layers(), nano.throughput_tokens_per_sec),
            (Some(1.74), Some(3.0), Some(193_731.0))
        );
        assert_eq!(measured.said("cuda_version").as_deref(), Some("13000"));
        let again: Value = serde_json::to_value(&measured).unwrap();
        let mut first: Value = serde_json::from_str(EXAMPLE).unwrap();
        // Written as the floats that they are.
        first["benchmarks"]["a"]["timing"]["mean"] = 2.0.into();
        first["benchmarks"]["gpt_nano"]["throughput_tokens_per_sec"] = 193_731.0.into();
        assert_eq!(again, first);
    }

    #[test]
    fn what_is_no_measured_run_is_said_with_its_place() {
        let error = |text: &str| Measured::parse(text, Path::new("x.json")).unwrap_err().to_string();
        assert!(error("[1, 2").starts_with("x.json: expected measured benchmarks"), "{}", error("[1, 2"));
        assert!(error(r#"{"benchmarks": {"a": {"timing": {}}}}"#).contains("mean"));
        assert!(error(r#"{"benchmarks": {"a": {"timing": {"mean": -1.0}}}}"#).contains("`a`"));
        assert!(error(r#"{"benchmarks": {"a": {"timing": {"mean": 1.0, "std": -3}}}}"#).contains("times"));
        assert!(error(r#"{"benchmarks": {"a": {"timing": {"mean": 1e308}}}}"#).contains("mean"));
        let steering = "{\"metadata\": null, \"benchmarks\": {\"a\\u001b[31m\": {\"config\": null, \"timing\": {\"mean\": 1}}}}";
        let tamed = Measured::parse(steering, Path::new("x.json")).unwrap();
        assert!(tamed.benchmarks.contains_key("a [31m"), "{tamed:?}");
    }

    #[test]
    fn a_file_may_hold_two_sides() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("comparison.json");
        let side = r#"{"label": "L", "metadata": {}, "benchmarks": {"a": {"timing": {"mean": 1.0}}}}"#;
        std::fs::write(
            &path,
            format!(r#"{{"metadata": {{}}, "as_is": {side}, "to_be": {side}, "comparison": {{}}}}"#),
        )
        .unwrap();
        let both = sides(&path).unwrap();
        assert_eq!((both.len(), both[1].label.as_str(), both[0].measured.benchmarks.len()), (2, "L", 1));
    }
}
