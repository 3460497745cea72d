//! A condition on how the metrics of two runs differ, as people write it: `step_time > +3% and step_time > +2ms`.
//!
//! A clause compares one metric. With a sign, or with `%`, it is about the change from A to B (`+2ms`, `-5%`);
//! without, about B alone (`step_time > 200ms`). Clauses are joined by `and`, `or` and parentheses; `and` binds
//! tighter. All comparisons are exact, percentages included.

mod parse;

use std::fmt;

use serde::Serialize;

pub use parse::Misread;

/// What the numbers of a metric measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Ns,
    Bytes,
    Count,
}

/// One metric of both runs; `None` where a run does not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    pub measure: Measure,
    pub a: Option<i64>,
    pub b: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Above,
    AtLeast,
    Below,
    AtMost,
}

impl Comparison {
    fn holds(self, left: i128, right: i128) -> bool {
        match self {
            Comparison::Above => left > right,
            Comparison::AtLeast => left >= right,
            Comparison::Below => left < right,
            Comparison::AtMost => left <= right,
        }
    }
}

/// What a metric is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// Of B itself.
    Value(i64),
    /// Of B less A.
    Change(i64),
    /// Of B less A, in percent of A: so many parts of the scale.
    Percent { parts: i64, scale: i64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Clause {
    /// As it was written.
    text: String,
    metric: &'static str,
    comparison: Comparison,
    limit: Limit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    Clause(Clause),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

/// A condition that has been understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    text: String,
    condition: Condition,
}

/// What became of one clause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judged {
    pub clause: String,
    pub holds: bool,
    /// What the metric did, in words.
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    pub condition: String,
    /// The condition holds, or cannot be judged: whoever asked wants to know of both.
    pub failed: bool,
    pub clauses: Vec<Judged>,
}

impl Gate {
    /// Understands a condition on these metrics (names and measures; their values do not matter yet).
    pub fn parse(text: &str, metrics: &[Metric]) -> Result<Gate, Misread> {
        Ok(Gate { text: text.to_owned(), condition: parse::condition(text, metrics)? })
    }

    pub fn judge(&self, metrics: &[Metric]) -> Verdict {
        let mut clauses = Vec::new();
        let holds = self.condition.judge(metrics, &mut clauses);
        Verdict { condition: self.text.clone(), failed: holds.unwrap_or(true), clauses }
    }
}

impl Condition {
    /// `None` if a metric that matters is not known.
    fn judge(&self, metrics: &[Metric], clauses: &mut Vec<Judged>) -> Option<bool> {
        match self {
            Condition::Clause(clause) => clause.judge(metrics, clauses),
            Condition::All(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| part.judge(metrics, clauses)).collect();
                if parts.contains(&Some(false)) {
                    Some(false)
                } else {
                    parts.into_iter().collect::<Option<Vec<bool>>>().map(|_| true)
                }
            }
            Condition::Any(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| part.judge(metrics, clauses)).collect();
                if parts.contains(&Some(true)) {
                    Some(true)
                } else {
                    parts.into_iter().collect::<Option<Vec<bool>>>().map(|_| false)
                }
            }
        }
    }
}

impl Clause {
    fn judge(&self, metrics: &[Metric], clauses: &mut Vec<Judged>) -> Option<bool> {
        let metric = metrics.iter().find(|metric| metric.name == self.metric);
        let of_b = metric.and_then(|metric| metric.b);
        let both = metric.and_then(|metric| Some((metric.a?, metric.b?)));
        let holds = match self.limit {
            Limit::Value(limit) => of_b.map(|b| self.comparison.holds(i128::from(b), i128::from(limit))),
            Limit::Change(limit) => {
                both.map(|(a, b)| self.comparison.holds(i128::from(b) - i128::from(a), i128::from(limit)))
            }
            Limit::Percent { parts, scale } => both.map(|(a, b)| {
                let change = (i128::from(b) - i128::from(a)) * 100 * i128::from(scale);
                self.comparison.holds(change, i128::from(parts) * i128::from(a).abs())
            }),
        };
        let message = metric.map_or_else(String::new, ToString::to_string);
        clauses.push(Judged { clause: self.text.clone(), holds: holds.unwrap_or(true), message });
        holds
    }
}

/// `step_time went from 100 ms to 105.2 ms: +5.2 ms, +5.2 %`
impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(a), Some(b)) = (self.a, self.b) else {
            let missing = if self.a.is_none() { "A" } else { "B" };
            return write!(f, "{} is not known of {missing}, so this cannot be judged", self.name);
        };
        let change = i128::from(b) - i128::from(a);
        let sign = if change < 0 { "-" } else { "+" };
        let (a_text, b_text) = (self.measure.show(a.into()), self.measure.show(b.into()));
        write!(f, "{} went from {a_text} to {b_text}: {sign}{}", self.name, self.measure.show(change.abs()))?;
        if a == 0 { Ok(()) } else { write!(f, ", {:+.1} %", change as f64 * 100.0 / (a as f64).abs()) }
    }
}

impl Measure {
    fn show(self, value: i128) -> String {
        let scales: &[(i128, &str)] = match self {
            Measure::Ns => &[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns")],
            Measure::Bytes => &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")],
            Measure::Count => &[(1, "")],
        };
        let fits = scales.iter().find(|(scale, _)| value.abs() >= *scale);
        let (scale, unit) = fits.or(scales.last()).copied().unwrap_or((1, ""));
        let thousandths = value * 1000 / scale;
        let (whole, part) = (thousandths / 1000, (thousandths % 1000).abs());
        let part = format!(".{part:03}");
        format!("{whole}{} {unit}", part.trim_end_matches('0').trim_end_matches('.')).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests;
