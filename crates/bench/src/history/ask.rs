//! Getting runs out: lists, one run, the course of a number, and what may be forgotten.

use rusqlite::{Row, params};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{History, Measurement};
use crate::error::Error;
use crate::metric::{Better, Metric};
use gpuscope_table::Unit;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRow {
    /// Its number in this history.
    pub run: i64,
    pub run_id: String,
    /// Microseconds since 1970, UTC.
    pub at: i64,
    pub project: String,
    pub label: Option<String>,
    pub source: String,
    pub device: String,
    pub revision: Option<String>,
    pub measurements: i64,
    #[serde(skip)]
    pub metadata: Map<String, Value>,
}

/// Which runs and numbers; `None` is all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    pub project: Option<String>,
    pub benchmark: Option<String>,
    pub metric: Option<String>,
    pub device: Option<String>,
    pub label: Option<String>,
}

/// What makes values comparable: the same thing, measured on the same hardware.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SeriesKey {
    pub project: String,
    pub benchmark: String,
    pub batch: i64,
    pub seq_len: i64,
    pub metric: String,
    pub device: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    pub run: i64,
    pub at: i64,
    pub label: Option<String>,
    pub revision: Option<String>,
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

/// The course of one number, the oldest run first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    #[serde(flatten)]
    pub key: SeriesKey,
    pub unit: Unit,
    pub better: Better,
    pub points: Vec<Point>,
}

/// What is not forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The newest so many of each project.
    Newest(u64),
    /// From this time on, in microseconds since 1970, UTC.
    Since(i64),
}

const RUN: &str = "SELECT id, run_id, at, project, label, source, device, revision, metadata,
    (SELECT count(*) FROM measurements WHERE run = runs.id) FROM runs";

impl RunRow {
    /// Which of its names begins like this.
    fn meant_by(&self, beginning: &str) -> &str {
        let revision = self.revision.as_deref().filter(|revision| revision.starts_with(beginning));
        revision.unwrap_or(&self.run_id)
    }
}

impl SeriesKey {
    /// `gpt_nano b4 s64`
    pub fn what(&self) -> String {
        let mut words = vec![self.benchmark.clone()];
        words.extend((self.batch > 0).then(|| format!("b{}", self.batch)));
        words.extend((self.seq_len > 0).then(|| format!("s{}", self.seq_len)));
        words.join(" ")
    }
}

impl Series {
    pub fn values(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.value).collect()
    }

    pub fn metric(&self) -> Metric {
        Metric { name: self.key.metric.clone(), unit: self.unit, better: self.better }
    }
}

impl History {
    /// The newest first.
    pub fn runs(&self, wanted: &Wanted) -> Result<Vec<RunRow>, Error> {
        let sql = format!(
            "{RUN} WHERE (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR device = ?2) AND (?3 IS NULL OR label = ?3)
             AND EXISTS (SELECT 1 FROM measurements WHERE run = runs.id AND (?4 IS NULL OR benchmark = ?4)
                         AND (?5 IS NULL OR metric = ?5) UNION ALL SELECT 1 WHERE ?4 IS NULL AND ?5 IS NULL)
             ORDER BY at DESC, id DESC"
        );
        let Wanted { project, device, label, benchmark, metric } = wanted;
        self.all(&sql, params![project, device, label, benchmark, metric], run_row)
    }

    /// By its number, its label, the beginning of its id or commit, or `latest` of a project; of several of one label or
    /// commit the newest.
    pub fn run(&self, wanted: &str, project: Option<&str>) -> Result<(RunRow, Vec<Measurement>), Error> {
        let row = self.find(wanted, project)?;
        let measurements = self.all(
            "SELECT benchmark, batch, seq_len, metric, unit, better, value, low, high, samples, config
             FROM measurements WHERE run = ?1 ORDER BY benchmark, batch, seq_len, metric",
            [row.run],
            measurement,
        )?;
        Ok((row, measurements))
    }

    fn find(&self, wanted: &str, project: Option<&str>) -> Result<RunRow, Error> {
        const NEWEST: &str = "ORDER BY at DESC, id DESC";
        let one = |condition: &str, parameters: &[&dyn rusqlite::ToSql]| {
            self.all(&format!("{RUN} WHERE {condition} {NEWEST}"), parameters, run_row)
        };
        let mut found = Vec::new();
        if wanted == "latest" {
            found = one("?1 IS NULL OR project = ?1", &[&project])?;
        }
        if let Ok(number) = wanted.trim_start_matches('#').parse::<i64>() {
            found = one("id = ?1", &[&number])?;
        }
        if found.is_empty() {
            found = one("label = ?1", &[&wanted])?;
        }
        if found.is_empty() && wanted.len() >= 4 {
            let begins = "substr(run_id, 1, length(?1)) = ?1 OR substr(revision, 1, length(?1)) = ?1";
            found = one(begins, &[&wanted])?;
            let mut meant: Vec<&str> = found.iter().map(|run| run.meant_by(wanted)).collect();
            meant.sort_unstable();
            meant.dedup();
            if meant.len() > 1 {
                let found = meant.join(", ");
                return Err(Error::Ambiguous { wanted: wanted.to_owned(), found });
            }
        }
        if found.is_empty() {
            let runs = self.runs(&Wanted::default())?;
            let present = match runs.as_slice() {
                [] => "are none".to_owned(),
                [only] => format!("is run {}", only.run),
                runs => {
                    let numbers = || runs.iter().map(|run| run.run);
                    format!("are runs {} to {}", numbers().min().unwrap_or(0), numbers().max().unwrap_or(0))
                }
            };
            return Err(Error::NoSuchRun { wanted: wanted.to_owned(), present });
        }
        Ok(found.swap_remove(0))
    }

    /// Every course that is wanted, in the order of their names.
    pub fn series(&self, wanted: &Wanted) -> Result<Vec<Series>, Error> {
        let sql = "SELECT project, benchmark, batch, seq_len, metric, device, unit, better,
                runs.id, at, label, revision, value, low, high
            FROM measurements JOIN runs ON runs.id = run
            WHERE (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR benchmark = ?2) AND (?3 IS NULL OR metric = ?3)
              AND (?4 IS NULL OR device = ?4) AND (?5 IS NULL OR label = ?5)
            ORDER BY project, benchmark, batch, seq_len, metric, device, at, runs.id";
        let Wanted { project, benchmark, metric, device, label } = wanted;
        let rows = self.all(sql, params![project, benchmark, metric, device, label], |row| {
            let key = SeriesKey {
                project: row.get(0)?,
                benchmark: row.get(1)?,
                batch: row.get(2)?,
                seq_len: row.get(3)?,
                metric: row.get(4)?,
                device: row.get(5)?,
            };
            let point = Point {
                run: row.get(8)?,
                at: row.get(9)?,
                label: row.get(10)?,
                revision: row.get(11)?,
                value: row.get(12)?,
                low: row.get(13)?,
                high: row.get(14)?,
            };
            Ok((key, unit(&row.get::<_, String>(6)?), better(&row.get::<_, String>(7)?), point))
        })?;
        let mut series: Vec<Series> = Vec::new();
        for (key, unit, better, point) in rows {
            match series.last_mut() {
                Some(last) if last.key == key => last.points.push(point),
                _ => series.push(Series { key, unit, better, points: vec![point] }),
            }
        }
        Ok(series)
    }

    /// Forgets runs for good, or only counts them.
    pub fn prune(&mut self, wanted: &Wanted, kept: Kept, only_count: bool) -> Result<usize, Error> {
        let runs = self.runs(wanted)?;
        let mut seen = std::collections::HashMap::<&str, u64>::new();
        let forgotten: Vec<i64> = runs
            .iter()
            .filter(|run| match kept {
                Kept::Since(at) => run.at < at,
                Kept::Newest(count) => {
                    let seen = seen.entry(&run.project).or_default();
                    *seen += 1;
                    *seen > count
                }
            })
            .map(|run| run.run)
            .collect();
        if only_count || forgotten.is_empty() {
            return Ok(forgotten.len());
        }
        let path = self.path.clone();
        let failed = |source| super::failed(&path, source);
        let transaction = self
            .connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
            .map_err(failed)?;
        for run in &forgotten {
            transaction.execute("DELETE FROM runs WHERE id = ?1", [run]).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        // Gives the space back; what fails here has lost nothing.
        let _ = self.connection.execute_batch("VACUUM");
        Ok(forgotten.len())
    }

    fn all<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        each: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.connection.prepare(sql).map_err(|source| self.failed(source))?;
        let rows = statement.query_map(parameters, each).and_then(Iterator::collect);
        rows.map_err(|source| self.failed(source))
    }
}

fn run_row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    Ok(RunRow {
        run: row.get(0)?,
        run_id: row.get(1)?,
        at: row.get(2)?,
        project: row.get(3)?,
        label: row.get(4)?,
        source: row.get(5)?,
        device: row.get(6)?,
        revision: row.get(7)?,
        metadata: serde_json::from_str(&row.get::<_, String>(8)?).unwrap_or_default(),
        measurements: row.get(9)?,
    })
}

fn measurement(row: &Row<'_>) -> rusqlite::Result<Measurement> {
    let number = |number: i64| u64::try_from(number).ok().filter(|number| *number > 0);
    let samples: Option<Vec<u8>> = row.get(9)?;
    let (doubles, _) = samples.as_deref().unwrap_or_default().as_chunks::<8>();
    let config: Option<String> = row.get(10)?;
    Ok(Measurement {
        benchmark: row.get(0)?,
        batch: number(row.get(1)?),
        seq_len: number(row.get(2)?),
        metric: Metric {
            name: row.get(3)?,
            unit: unit(&row.get::<_, String>(4)?),
            better: better(&row.get::<_, String>(5)?),
        },
        value: row.get(6)?,
        interval: row.get::<_, Option<f64>>(7)?.zip(row.get(8)?),
        samples: doubles.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
        config: config.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(),
    })
}

/// A unit that is not known any more is a bare number.
fn unit(name: &str) -> Unit {
    serde_json::from_value(Value::String(name.to_owned())).unwrap_or(Unit::None)
}

fn better(word: &str) -> Better {
    Better::of(word).unwrap_or(Better::Lower)
}
