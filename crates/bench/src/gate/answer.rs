//! What a gate says: a line for each number, and a summary for people and machines that watch merge requests.

use std::fmt::Write as _;

use gpuscope_report::units;
use gpuscope_table::{Table, Tabular, Unit};
use serde::Serialize;

use super::{Judged, Judgement, LEAST_RUNS, Policy, Verdict, judge};
use crate::compare::{Change, Comparison};
use crate::data::Side;
use crate::history::{Series, SeriesKey};
use crate::metric::Metric;

/// One number of the history and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gated {
    #[serde(flatten)]
    pub key: SeriesKey,
    pub unit: Unit,
    #[serde(flatten)]
    pub judgement: Judgement,
}

/// The answer of `bench gate`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GateAnswer {
    pub failed: bool,
    /// What the verdicts rest on.
    pub relative_pct: f64,
    pub level: f64,
    pub rows: Vec<Gated>,
}

impl GateAnswer {
    /// `least_change` is what does not matter of a metric, whatever its share.
    pub fn of(series: &[Series], policy: &Policy, least_change: impl Fn(&Metric) -> f64) -> GateAnswer {
        let values: Vec<Vec<f64>> = series.iter().map(Series::values).collect();
        let judged: Vec<Judged<'_>> = series
            .iter()
            .zip(&values)
            .map(|(series, values)| Judged {
                values,
                better: series.better,
                absolute: least_change(&series.metric()),
            })
            .collect();
        let row = |(series, judgement): (&Series, Judgement)| Gated {
            key: series.key.clone(),
            unit: series.unit,
            judgement,
        };
        let rows: Vec<Gated> = series.iter().zip(judge(&judged, policy)).map(row).collect();
        GateAnswer::from_rows(rows, policy)
    }

    /// Two runs by their repeats. Runs differ more from each other than repeats do: measured one after the other on one
    /// machine, a difference is as sure as it looks; measured on different days, it may be the day's.
    pub fn of_two(
        before: &Side,
        after: &Side,
        policy: &Policy,
        least_change: impl Fn(&Metric) -> f64,
    ) -> GateAnswer {
        let comparison = Comparison::at_level(&[before.clone(), after.clone()], policy.level);
        let mut rows = Vec::new();
        let pairs = comparison.rows.windows(2).filter(|two| two[0].benchmark == two[1].benchmark);
        for (latency, two) in pairs.filter_map(|two| Some((Metric::known("latency")?, two))) {
            let (a, b) = (two[0].mean_ns, two[1].mean_ns);
            let large = (b - a).abs() >= least_change(&latency) && (b - a).abs() >= policy.relative * a;
            let verdict = match two[1].change {
                Some(Change::Slower) if large => Verdict::Worse,
                Some(Change::Faster) if large => Verdict::Better,
                Some(Change::NotTested) => Verdict::TooFewRuns,
                _ => Verdict::Same,
            };
            let judgement = Judgement {
                verdict,
                before: a,
                newest: b,
                change_pct: if a == 0.0 { 0.0 } else { (b - a) / a * 100.0 },
                runs_before: 1,
                runs_newest: 1,
                p: two[1].p,
            };
            let key = SeriesKey {
                project: String::new(),
                benchmark: two[1].benchmark.clone(),
                batch: 0,
                seq_len: 0,
                metric: latency.name.clone(),
                device: String::new(),
            };
            rows.push(Gated { key, unit: latency.unit, judgement });
        }
        GateAnswer::from_rows(rows, policy)
    }

    fn from_rows(mut rows: Vec<Gated>, policy: &Policy) -> GateAnswer {
        // What failed comes first.
        rows.sort_by_key(|row| row.judgement.verdict != Verdict::Worse);
        let failed = rows.iter().any(|row| row.judgement.verdict == Verdict::Worse);
        GateAnswer { failed, relative_pct: policy.relative * 100.0, level: policy.level, rows }
    }

    pub fn verdict(&self) -> String {
        let count = |verdict| self.rows.iter().filter(|row| row.judgement.verdict == verdict).count();
        let (worse, few) = (count(Verdict::Worse), count(Verdict::TooFewRuns));
        let judged = self.rows.len() - few;
        let left = match few {
            0 => String::new(),
            few => format!("; {few} not judged, which needs {LEAST_RUNS} runs"),
        };
        match (worse, judged) {
            (0, 0) => format!(
                "Nothing can be judged yet: {} numbers, each needs {LEAST_RUNS} runs.",
                self.rows.len()
            ),
            (0, judged) => format!("None of {judged} numbers got worse{left}."),
            (worse, judged) => format!("{worse} of {judged} numbers got worse{left}."),
        }
    }

    /// For a comment on a merge request, or the summary of a job.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "### {} {}\n\n",
            if self.failed { "Slower:" } else { "As fast as before:" },
            self.verdict()
        );
        text.push_str("| | what | metric | before | now | change | p |\n|---|---|---|---:|---:|---:|---:|\n");
        for row in &self.rows {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {:+.1} % | {} |",
                row.judgement.verdict.said(),
                cell(&row.key.what()),
                cell(&row.key.metric),
                row.shown(row.judgement.before),
                row.shown(row.judgement.newest),
                row.judgement.change_pct,
                row.judgement.p.map_or_else(|| "–".to_owned(), |p| format!("{p:.4}")),
            );
        }
        let _ = write!(
            text,
            "\nWorse is a change of at least {} % that chance would make in less than {} % of calls.\n",
            self.relative_pct,
            self.level * 100.0
        );
        text
    }

    /// For CI systems that show tests: a failed number is a failed test, one that is not judged is skipped.
    pub fn junit(&self) -> String {
        let count = |verdict| self.rows.iter().filter(|row| row.judgement.verdict == verdict).count();
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n\
             <testsuite name=\"gpuscope bench gate\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
            self.rows.len(),
            count(Verdict::Worse),
            count(Verdict::TooFewRuns)
        );
        for row in &self.rows {
            let _ = write!(
                text,
                "<testcase classname=\"{}\" name=\"{}\">",
                escaped(&row.key.what()),
                escaped(&row.key.metric)
            );
            let said = escaped(&row.in_words());
            let _ = match row.judgement.verdict {
                Verdict::Worse => write!(text, "<failure message=\"{said}\"/>"),
                Verdict::TooFewRuns => write!(text, "<skipped message=\"{said}\"/>"),
                _ => write!(text, "<system-out>{said}</system-out>"),
            };
            text.push_str("</testcase>\n");
        }
        text.push_str("</testsuite>\n</testsuites>\n");
        text
    }
}

impl Gated {
    fn shown(&self, value: f64) -> String {
        let text = units::float(value, self.unit);
        if self.unit == Unit::Percent { format!("{text} %") } else { text }
    }

    fn in_words(&self) -> String {
        let Judgement { before, newest, change_pct, runs_before, runs_newest, p, verdict } = &self.judgement;
        if *verdict == Verdict::TooFewRuns {
            return format!("{} runs, {LEAST_RUNS} are needed", runs_before + runs_newest);
        }
        let chance = p.map_or_else(String::new, |p| format!(", p = {p:.4}"));
        format!(
            "{} in {runs_before} runs before, {} in the newest {runs_newest}: {change_pct:+.1} %{chance}",
            self.shown(*before),
            self.shown(*newest)
        )
    }
}

impl Verdict {
    pub fn said(self) -> &'static str {
        match self {
            Verdict::Worse => "worse",
            Verdict::Better => "better",
            Verdict::Same => "same",
            Verdict::TooFewRuns => "too few runs",
        }
    }
}

/// Names come from traces and files, and may hold anything.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML has no way to write other control characters.
            c if c.is_control() && !matches!(c, '\t' | '\n' | '\r') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

impl Tabular for GateAnswer {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("gate", "Numbers", &self.rows)
            .text("verdict", "worse, better, same, or too few runs to tell", |row| {
                row.judgement.verdict.said().to_owned()
            })
            .text("benchmark", "What was measured", |row| row.key.what())
            .text("metric", "Which number of it", |row| row.key.metric.clone())
            .text("before", "The median of the runs before", |row| row.shown(row.judgement.before))
            .text("now", "The median of the newest runs that differ most", |row| {
                row.shown(row.judgement.newest)
            })
            .float("change_pct", Unit::Percent, "From before to now", |row| row.judgement.change_pct)
            .text("chance", "How likely a change as clear as this is by chance", |row| {
                row.judgement.p.map(|p| format!("{p:.4}"))
            })
            .text("runs", "Before, and newest", |row| {
                format!("{} + {}", row.judgement.runs_before, row.judgement.runs_newest)
            })
            .build();
        vec![table]
    }
}
