//! From the text of a condition to its meaning.

use std::fmt;

use super::{Clause, Comparison, Condition, Limit, Measure, Metric};

/// Where a condition cannot be understood, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misread {
    pub text: String,
    /// In characters.
    pub at: usize,
    pub expected: String,
}

impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, behind) = self.text.split_at(byte_of(&self.text, self.at));
        let found = behind.split_whitespace().next().map_or("the end".to_owned(), |word| format!("`{word}`"));
        write!(f, "at character {}: expected {}, found {found}", self.at + 1, self.expected)?;
        if before.trim().is_empty() { Ok(()) } else { write!(f, " behind `{}`", before.trim()) }
    }
}

fn byte_of(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

pub(super) fn condition(text: &str, metrics: &[Metric]) -> Result<Condition, Misread> {
    let mut reader = Reader { text, at: 0, metrics, depth: 0 };
    let condition = reader.any()?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.misread("`and`, `or` or the end"));
    }
    Ok(condition)
}

/// Deeper parentheses are nobody's condition.
const DEEPEST: u32 = 64;

struct Reader<'t> {
    text: &'t str,
    /// In bytes.
    at: usize,
    metrics: &'t [Metric],
    depth: u32,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn misread(&self, expected: &str) -> Misread {
        let at = self.text[..self.at].chars().count();
        Misread { text: self.text.to_owned(), at, expected: expected.to_owned() }
    }

    fn take(&mut self, symbol: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(symbol);
        self.at += if found { symbol.len() } else { 0 };
        found
    }

    /// A word of letters, digits and underscores; empty if there is none.
    fn word(&mut self) -> &'t str {
        self.space();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        &rest[..end]
    }

    fn take_word(&mut self, wanted: &str) -> bool {
        let found = self.word().eq_ignore_ascii_case(wanted);
        self.at += if found { wanted.len() } else { 0 };
        found
    }

    fn any(&mut self) -> Result<Condition, Misread> {
        let mut parts = vec![self.all()?];
        while self.take_word("or") {
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::Any(parts) })
    }

    fn all(&mut self) -> Result<Condition, Misread> {
        let mut parts = vec![self.one()?];
        while self.take_word("and") {
            parts.push(self.one()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Condition::All(parts) })
    }

    fn one(&mut self) -> Result<Condition, Misread> {
        if self.take("(") {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(self.misread("fewer parentheses"));
            }
            let inside = self.any()?;
            if !self.take(")") {
                return Err(self.misread("`)`"));
            }
            self.depth -= 1;
            return Ok(inside);
        }
        self.clause().map(Condition::Clause)
    }

    fn clause(&mut self) -> Result<Clause, Misread> {
        self.space();
        let start = self.at;
        let name = self.word();
        let plain = ["_ns", "_bytes"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        let metric = self.metrics.iter().find(|metric| metric.name == plain || metric.name == name).copied();
        let Some(metric) = metric else {
            let names: Vec<&str> = self.metrics.iter().map(|metric| metric.name).collect();
            return Err(self.misread(&format!("a metric ({})", names.join(", "))));
        };
        self.at += name.len();
        let comparison = if self.take(">=") {
            Comparison::AtLeast
        } else if self.take("<=") {
            Comparison::AtMost
        } else if self.take(">") {
            Comparison::Above
        } else if self.take("<") {
            Comparison::Below
        } else {
            return Err(self.misread("`>`, `<`, `>=` or `<=`"));
        };
        let limit = self.limit(metric)?;
        let text = self.text[start..self.at].to_owned();
        Ok(Clause { text, metric: metric.name, comparison, limit })
    }

    fn limit(&mut self, metric: Metric) -> Result<Limit, Misread> {
        self.space();
        let start = self.at;
        let sign = match self.rest().chars().next() {
            Some('+') => Some(1),
            Some('-') => Some(-1),
            _ => None,
        };
        self.at += usize::from(sign.is_some());
        let digits =
            self.rest().find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(self.rest().len());
        let Some((mantissa, scale)) = decimal(&self.rest()[..digits]) else {
            self.at = start;
            return Err(self.misread("a number, such as +3%, +2ms or 200ms"));
        };
        self.at += digits;
        let signed = mantissa * sign.unwrap_or(1);
        if self.take("%") {
            return Ok(Limit::Percent { parts: signed, scale });
        }
        let unit = self.word();
        let Some(factor) = factor(metric.measure, unit) else {
            return Err(self.misread(match metric.measure {
                Measure::Ns => "a unit of time (ns, us, ms, s) or %",
                Measure::Bytes => "a unit of size (B, kB, MB, GB, KiB, MiB, GiB) or %",
                Measure::Count => "a plain number or %",
            }));
        };
        self.at += unit.len();
        let value = i128::from(signed) * i128::from(factor) / i128::from(scale);
        let value = i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX });
        Ok(if sign.is_some() { Limit::Change(value) } else { Limit::Value(value) })
    }
}

/// Digits with the point taken out, and the power of ten that it stood for.
fn decimal(text: &str) -> Option<(i64, i64)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 9 || whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mantissa = format!("{whole}{fraction}").parse().ok()?;
    Some((mantissa, 10_i64.pow(fraction.len() as u32)))
}

fn factor(measure: Measure, unit: &str) -> Option<i64> {
    match (measure, unit.to_ascii_lowercase().as_str()) {
        (Measure::Ns, "ns") | (Measure::Bytes, "b") | (Measure::Count, "") => Some(1),
        (Measure::Ns, "us" | "µs") | (Measure::Bytes, "kb") => Some(1_000),
        (Measure::Ns, "ms") | (Measure::Bytes, "mb") => Some(1_000_000),
        (Measure::Ns, "s") | (Measure::Bytes, "gb") => Some(1_000_000_000),
        (Measure::Bytes, "kib") => Some(1 << 10),
        (Measure::Bytes, "mib") => Some(1 << 20),
        (Measure::Bytes, "gib") => Some(1 << 30),
        _ => None,
    }
}
