//! Putting runs in. The same run may be added again and again as it goes on: what is known already stays as it is.

use rusqlite::{TransactionBehavior, named_params, params};
use serde_json::{Map, Value};

use super::History;
use crate::data::{Benchmark, Measured};
use crate::error::Error;
use crate::metric::Metric;
use crate::time;

/// A run, as its measurements are to be found again.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    /// Tells runs apart everywhere; adding a run of a known id adds to that run.
    pub run_id: String,
    /// Microseconds since 1970, UTC.
    pub at: i64,
    pub project: String,
    pub label: Option<String>,
    /// `bench` or `trace`.
    pub source: &'static str,
    /// What it ran on: runs on other hardware are no baseline.
    pub device: String,
    pub revision: Option<String>,
    pub metadata: Map<String, Value>,
    pub measurements: Vec<Measurement>,
    /// What was not as expected of the run.
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    pub benchmark: String,
    pub batch: Option<u64>,
    pub seq_len: Option<u64>,
    pub metric: Metric,
    /// In the metric's unit.
    pub value: f64,
    /// How surely it is known.
    pub interval: Option<(f64, f64)>,
    pub samples: Vec<f64>,
    pub config: Map<String, Value>,
}

/// What adding a run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// The run's number in this history.
    pub run: i64,
    pub is_new: bool,
    pub measurements: usize,
    pub known_already: usize,
    /// Of those, the ones that were said to be something else this time; they stay as they were.
    pub contradicted: usize,
}

const NS_PER_MS: f64 = 1e6;

impl NewRun {
    /// A run of benchmarks, as a file has it. Without an id of its own it is known by what it says, so that adding a file
    /// twice adds nothing.
    pub fn measured(measured: &Measured, project: &str, label: Option<String>) -> NewRun {
        let (at, note) = when(measured);
        NewRun {
            run_id: measured.said("run_id").unwrap_or_else(|| named(measured)),
            at,
            note,
            project: measured.said("project").unwrap_or_else(|| project.to_owned()),
            label: label.or_else(|| measured.said("label")),
            source: "bench",
            device: measured.said("gpu_name").unwrap_or_else(|| "unknown".to_owned()),
            revision: measured.said("git_commit"),
            metadata: measured.metadata.clone(),
            measurements: measured
                .benchmarks
                .iter()
                .flat_map(|(key, benchmark)| of(&plain_name(key, benchmark, measured), benchmark))
                .collect(),
        }
    }
}

impl NewRun {
    /// One side of a comparison: what is said of it is not said of the other.
    pub fn only_of(&mut self, side: &str) {
        self.run_id = format!("{} {side}", self.run_id);
        self.label.get_or_insert_with(|| side.to_owned());
        for measurement in &mut self.measurements {
            measurement.benchmark = format!("{side}: {}", measurement.benchmark);
        }
    }
}

/// Every number of one configuration.
fn of(name: &str, benchmark: &Benchmark) -> Vec<Measurement> {
    let one = |metric: &str, value: Option<f64>| {
        let metric = Metric::known(metric)?;
        Some(Measurement {
            benchmark: name.to_owned(),
            batch: benchmark.batch_size,
            seq_len: benchmark.seq_len,
            metric,
            value: value.filter(|value| value.is_finite())?,
            interval: None,
            samples: Vec::new(),
            config: benchmark.config.clone(),
        })
    };
    let latency = one("latency", Some(benchmark.timing.mean * NS_PER_MS)).map(|latency| Measurement {
        interval: benchmark.interval().map(|(low, high)| (low * NS_PER_MS, high * NS_PER_MS)),
        samples: benchmark.samples_ms.iter().map(|ms| ms * NS_PER_MS).collect(),
        ..latency
    });
    let others = [
        one("throughput", benchmark.throughput_tokens_per_sec),
        one("peak_memory", benchmark.peak_memory_bytes),
        one("bandwidth", benchmark.bandwidth_bytes_per_s),
    ];
    latency.into_iter().chain(others.into_iter().flatten()).collect()
}

/// When it was measured, and what is odd about that.
fn when(measured: &Measured) -> (i64, Option<String>) {
    const A_DAY: i64 = 86_400_000_000;
    let now = time::now();
    let seconds = ["unix_time", "timestamp"].iter().find_map(|key| measured.metadata.get(*key)?.as_f64());
    let said = measured.said("timestamp");
    let at = match seconds {
        Some(seconds) => Some((seconds * 1e6) as i64),
        None => said.as_deref().and_then(time::micros),
    };
    match (at, said) {
        // Clocks differ a little; a run of next year would be the newest for a year.
        (Some(at), said) if at > now + A_DAY => {
            let said = said.unwrap_or_else(|| at.to_string());
            (now, Some(format!("timestamp {said} is still to come; this moment is taken")))
        }
        (Some(at), _) => (at, None),
        (None, Some(said)) => {
            (now, Some(format!("timestamp {said} is not understood; this moment is taken")))
        }
        (None, None) => (now, None),
    }
}

/// Without the batch and length that a matrix puts behind it: those are columns of their own. Unless another
/// configuration has that name.
fn plain_name(key: &str, benchmark: &Benchmark, measured: &Measured) -> String {
    let suffix = match (benchmark.batch_size, benchmark.seq_len) {
        (Some(batch), Some(length)) => format!("_b{batch}_s{length}"),
        (Some(batch), None) => format!("_b{batch}"),
        (None, Some(length)) => format!("_s{length}"),
        (None, None) => return key.to_owned(),
    };
    let plain = key.strip_suffix(&suffix).filter(|plain| !measured.benchmarks.contains_key(*plain));
    plain.unwrap_or(key).to_owned()
}

/// By what it says.
fn named(measured: &Measured) -> String {
    format!("file-{}", fingerprint(&serde_json::to_string(measured).unwrap_or_default()))
}

/// A short name for a text: FNV-1a over its bytes.
pub fn fingerprint(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

impl History {
    /// All of it or nothing.
    pub fn add(&mut self, run: &NewRun) -> Result<Added, Error> {
        let path = self.path.clone();
        let failed = |source| super::failed(&path, source);
        // Asks for the right to write at once: a reader that turns writer may be refused, and would lose its run.
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let metadata = Value::Object(run.metadata.clone()).to_string();
        let is_new = transaction
            .execute(
                "INSERT INTO runs (run_id, at, project, label, source, device, revision, metadata)
                 VALUES (:run_id, :at, :project, :label, :source, :device, :revision, :metadata)
                 ON CONFLICT (run_id) DO NOTHING",
                named_params! {
                    ":run_id": run.run_id, ":at": run.at, ":project": run.project, ":label": run.label,
                    ":source": run.source, ":device": run.device, ":revision": run.revision, ":metadata": metadata,
                },
            )
            .map_err(failed)?
            == 1;
        let id: i64 = transaction
            .query_row("SELECT id FROM runs WHERE run_id = ?1", [&run.run_id], |row| row.get(0))
            .map_err(failed)?;
        let (mut added, mut contradicted) = (0, 0);
        for measurement in &run.measurements {
            match insert(&transaction, id, measurement).map_err(failed)? {
                0 => contradicted += usize::from(!is_known(&transaction, id, measurement).map_err(failed)?),
                new => added += new,
            }
        }
        transaction.commit().map_err(failed)?;
        let known_already = run.measurements.len() - added;
        Ok(Added { run: id, is_new, measurements: added, known_already, contradicted })
    }
}

fn insert(connection: &rusqlite::Connection, run: i64, measurement: &Measurement) -> rusqlite::Result<usize> {
    let Measurement { benchmark, metric, value, interval, samples, config, .. } = measurement;
    let samples: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
    let unit = serde_json::to_value(metric.unit).ok().and_then(|unit| unit.as_str().map(str::to_owned));
    let mut statement = connection.prepare_cached(
        "INSERT INTO measurements (run, benchmark, batch, seq_len, metric, unit, better, value, low, high, samples, config)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT DO NOTHING",
    )?;
    statement.execute(params![
        run,
        benchmark,
        number(measurement.batch),
        number(measurement.seq_len),
        metric.name,
        unit.unwrap_or_default(),
        metric.better.word(),
        value,
        interval.map(|(low, _)| low),
        interval.map(|(_, high)| high),
        (!samples.is_empty()).then_some(samples),
        (!config.is_empty()).then(|| Value::Object(config.clone()).to_string()),
    ])
}

/// 0 where it means nothing.
fn number(number: Option<u64>) -> i64 {
    number.and_then(|number| i64::try_from(number).ok()).unwrap_or(0)
}

/// Whether a measurement that is there already is the same.
fn is_known(
    connection: &rusqlite::Connection,
    run: i64,
    measurement: &Measurement,
) -> rusqlite::Result<bool> {
    let Measurement { benchmark, batch, seq_len, metric, value, .. } = measurement;
    let known: f64 = connection.query_row(
        "SELECT value FROM measurements
         WHERE run = ?1 AND benchmark = ?2 AND batch = ?3 AND seq_len = ?4 AND metric = ?5",
        params![run, benchmark, number(*batch), number(*seq_len), metric.name],
        |row| row.get(0),
    )?;
    Ok((known - value).abs() <= 1e-9 * known.abs())
}
