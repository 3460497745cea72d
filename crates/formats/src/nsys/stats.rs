//! `nsys stats --format csv`: kernels by name, added up (`cuda_gpu_kern_sum` and its older names).

use gpuscope_trace::{KernelSum, Payload, Trace};

use crate::{Parsed, ReadError};

/// Names of columns in all releases; the unit stands behind them in brackets.
const COLUMNS: [&str; 7] = ["Total Time", "Instances", "Avg", "Min", "Max", "StdDev", "Name"];

pub(crate) fn is_one(head: &[u8]) -> bool {
    table(head).is_some()
}

/// The text from the line that names the columns on: other lines may come first.
fn table(text: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        let has = |word: &str| line.windows(word.len()).any(|part| part == word.as_bytes());
        if has("Total Time (ns)") && has("Instances") && has(",Name") {
            return Some(rest);
        }
        if end == rest.len() {
            return None;
        }
        at += end + 1;
    }
}

pub(crate) fn read(text: &[u8]) -> Result<Parsed, ReadError> {
    let missing = || {
        ReadError::NotATrace {
        offset: 0,
        expected: "expected the columns Total Time (ns), Instances and Name, as nsys stats --report cuda_gpu_kern_sum \
                   --format csv prints them"
            .to_owned(),
    }
    };
    let mut rows = csv::ReaderBuilder::new().flexible(true).from_reader(table(text).ok_or_else(missing)?);
    let header = rows.byte_headers().map_err(|_| missing())?.clone();
    let place = |name: &str| {
        header.iter().position(|column| {
            let column = String::from_utf8_lossy(column);
            // Older releases say `Average` and `Minimum`.
            column.trim().starts_with(name)
        })
    };
    let places = COLUMNS.map(place);
    let mut sums = Vec::new();
    for row in rows.byte_records().filter_map(Result::ok) {
        let cell = |column: usize| {
            let cell = row.get(places[column]?)?;
            Some(String::from_utf8_lossy(cell).into_owned())
        };
        let number = |column: usize| cell(column)?.replace(',', "").trim().parse::<f64>().ok();
        let integer = |column: usize| {
            let text = cell(column)?.replace(',', "");
            text.trim().parse::<i64>().ok().or_else(|| number(column).map(|value| value.round() as i64))
        };
        let (Some(sum_ns), Some(count), Some(name)) = (integer(0), integer(1), cell(6)) else { continue };
        sums.push(KernelSum {
            name,
            count: count.max(0) as u64,
            sum_ns,
            mean_ns: number(2).unwrap_or(sum_ns as f64 / count.max(1) as f64),
            min_ns: integer(3).unwrap_or(0),
            max_ns: integer(4).unwrap_or(0),
            std_ns: number(5).unwrap_or(0.0),
        });
    }
    let elements = sums.len() as u64;
    let trace = Trace { elements, payload: Some(Payload::KernelSums(sums)), ..Trace::default() };
    Ok(Parsed { traces: vec![trace], format: "nsys_stats" })
}
