//! Nsight Compute, as `ncu --csv` prints it: what was measured of single kernels, and what its rules say.
//!
//! Whatever the program and ncu print stands before the table; it begins at the line that names its columns. There are
//! three pages: *details* has a row for each metric and each rule, whose ends may be missing; *raw* a row for each launch
//! and a column for each metric, with the units in its second row; a *summary* the least, most and mean over launches of a
//! kernel. Numbers have thousands separators, of whatever language the machine speaks; units are left as they are.

mod number;

use std::path::Path;

use csv::ByteRecord;
use gpuscope_trace::{MeasuredLaunch, Metric, MetricRule, MetricValue, Metrics, Payload, Trace};
use rustc_hash::FxHashMap;

use crate::{Parsed, ReadError, Reading, installed};

pub(crate) const NAME: &str = "ncu";

/// How the line begins that names the columns; the summary has no ID.
const HEADERS: [&[u8]; 2] = [b"\"ID\",\"Process ID\"", b"\"Process ID\",\"Process Name\""];

/// Columns that say what a row is about, rather than what was measured.
const ABOUT: [&str; 12] = [
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Kernel Time",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
];

pub(crate) fn is_page(head: &[u8]) -> bool {
    table(head).is_some()
}

pub(crate) fn is_report(head: &[u8]) -> bool {
    head.starts_with(b"NVR\0")
}

/// Printed by ncu itself, if it is installed.
pub(crate) fn report(path: &Path, reading: &Reading<'_>) -> Result<Parsed, ReadError> {
    let words =
        ["--import".as_ref(), path.as_os_str(), "--csv".as_ref(), "--page".as_ref(), "details".as_ref()];
    match installed::output("ncu", &words, reading)? {
        Some(text) => page(&text),
        None => Err(ReadError::NotRead {
            title: "a report of Nsight Compute, which only ncu itself can read, and ncu is not installed here",
            instead: "print it where it is: ncu --import FILE --csv > metrics.csv",
        }),
    }
}

/// The text from the line that names the columns on.
fn table(text: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let rest = rest.strip_prefix(b"\xef\xbb\xbf").unwrap_or(rest);
        if HEADERS.iter().any(|header| rest.starts_with(header)) {
            return Some(rest);
        }
        at += memchr::memchr(b'\n', &text[at..])? + 1;
    }
}

/// Reads a page.
pub(crate) fn page(text: &[u8]) -> Result<Parsed, ReadError> {
    let missing = || ReadError::NotATrace {
        offset: text.len() as u64,
        expected: "expected a line that begins \"ID\",\"Process ID\", as ncu --csv prints it".to_owned(),
    };
    let table = table(text).ok_or_else(missing)?;
    let mut rows = csv::ReaderBuilder::new().flexible(true).from_reader(table);
    let columns = Columns::of(rows.byte_headers().map_err(|_| missing())?);
    let mut page = Page { columns, metrics: Metrics::default(), launches: FxHashMap::default() };
    let mut units = None;
    let mut count = 0;
    for row in rows.byte_records() {
        // What is no row, such as a line of the program between two, is nobody's metric.
        let Ok(row) = row else { continue };
        if page.columns.is_wide() && units.is_none() {
            units = Some(row);
            continue;
        }
        count += u64::from(page.row(&row, units.as_ref()));
    }
    let trace = Trace { elements: count, payload: Some(Payload::Metrics(page.metrics)), ..Trace::default() };
    Ok(Parsed { traces: vec![trace], format: NAME })
}

/// Where each column is.
struct Columns {
    names: Vec<String>,
    place: FxHashMap<String, usize>,
}

impl Columns {
    fn of(header: &ByteRecord) -> Columns {
        let names: Vec<String> =
            header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        let place = names.iter().enumerate().map(|(place, name)| (name.clone(), place)).collect();
        Columns { names, place }
    }

    /// A column for each metric.
    fn is_wide(&self) -> bool {
        !self.place.contains_key("Metric Name")
    }

    /// Short rows lack what would be empty.
    fn get<'r>(&self, row: &'r ByteRecord, name: &str) -> Option<&'r [u8]> {
        row.get(*self.place.get(name)?).filter(|cell| !cell.is_empty())
    }

    fn text(&self, row: &ByteRecord, name: &str) -> Option<String> {
        self.get(row, name).map(|cell| String::from_utf8_lossy(cell).into_owned())
    }
}

struct Page {
    columns: Columns,
    metrics: Metrics,
    /// Those that were seen, by ID; by kernel and shape in a summary.
    launches: FxHashMap<(String, String), u32>,
}

impl Page {
    /// Takes a row over; whether it was one.
    fn row(&mut self, row: &ByteRecord, units: Option<&ByteRecord>) -> bool {
        let Some(launch) = self.launch(row) else { return false };
        if let Some(units) = units {
            self.wide(launch, row, units);
        } else if let Some(rule) = self.columns.text(row, "Rule Name") {
            self.rule(launch, row, rule);
        } else {
            self.metric(launch, row);
        }
        true
    }

    fn launch(&mut self, row: &ByteRecord) -> Option<u32> {
        let columns = &self.columns;
        let kernel = columns.text(row, "Kernel Name")?;
        let key = match columns.text(row, "ID") {
            Some(id) => (id, String::new()),
            None if columns.place.contains_key("ID") => return None,
            None => (kernel.clone(), columns.text(row, "Grid Size").unwrap_or_default()),
        };
        if let Some(launch) = self.launches.get(&key) {
            return Some(*launch);
        }
        let launch = self.metrics.launches.len() as u32;
        let size = |name| columns.get(row, name).and_then(size);
        self.metrics.launches.push(MeasuredLaunch {
            id: key.0.parse().unwrap_or(i64::from(launch)),
            kernel,
            grid: size("Grid Size"),
            block: size("Block Size"),
            device: columns.text(row, "Device").and_then(|device| device.parse().ok()),
            compute_capability: columns.text(row, "CC"),
        });
        self.launches.insert(key, launch);
        Some(launch)
    }

    fn metric(&mut self, launch: u32, row: &ByteRecord) {
        let columns = &self.columns;
        let text = |name: &str| columns.text(row, name).unwrap_or_default();
        let Some(name) = columns.text(row, "Metric Name") else { return };
        let metric = |label: Option<String>, value: MetricValue| Metric {
            launch,
            section: text("Section Name"),
            label,
            name: name.clone(),
            unit: text("Metric Unit"),
            value,
        };
        if columns.place.contains_key("Metric Value") {
            let value = columns.get(row, "Metric Value").map_or(MetricValue::Absent, number::value);
            self.metrics.metrics.push(metric(columns.text(row, "Body Item Label"), value));
            return;
        }
        for name in ["Minimum", "Maximum", "Average"] {
            if let Some(cell) = columns.get(row, name) {
                self.metrics.metrics.push(metric(Some(name.to_lowercase()), number::value(cell)));
            }
        }
    }

    fn rule(&mut self, launch: u32, row: &ByteRecord, rule: String) {
        let columns = &self.columns;
        let text = |name: &str| columns.text(row, name).unwrap_or_default();
        let speedup = columns.get(row, "Estimated Speedup").map(number::value);
        self.metrics.rules.push(MetricRule {
            launch,
            section: text("Section Name"),
            rule,
            sort: text("Rule Type"),
            description: text("Rule Description"),
            estimated_speedup_pct: speedup.and_then(|value| value.number()),
        });
    }

    fn wide(&mut self, launch: u32, row: &ByteRecord, units: &ByteRecord) {
        for (place, name) in self.columns.names.iter().enumerate() {
            if ABOUT.contains(&name.as_str()) || name.is_empty() {
                continue;
            }
            let cell = row.get(place).unwrap_or_default();
            self.metrics.metrics.push(Metric {
                launch,
                section: String::new(),
                label: None,
                name: name.clone(),
                unit: String::from_utf8_lossy(units.get(place).unwrap_or_default()).into_owned(),
                value: number::value(cell),
            });
        }
    }
}

/// `(384, 1, 1)`
fn size(text: &[u8]) -> Option<[i64; 3]> {
    let text = std::str::from_utf8(text).ok()?.trim().strip_prefix('(')?.strip_suffix(')')?;
    let mut sides = text.split(',').map(|side| side.trim().parse().ok());
    Some([sides.next()??, sides.next()??, sides.next()??])
}

#[cfg(test)]
mod tests;
