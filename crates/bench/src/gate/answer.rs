//! What a gate says: a line for each number, and a summary for people and machines that watch merge requests.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use gpuscope_report::html::escaped;
use gpuscope_report::{markdown, one_line, units};
use gpuscope_table::{Table, Tabular, Unit};
use serde::Serialize;

use super::{Judged, Judgement, Policy, Verdict, judge, percent};
use crate::compare::{Change, Comparison};
use crate::data::Side;
use crate::history::{Series, SeriesKey};
use crate::metric::Metric;

/// Without numbers that nobody measures any more, which would be judged by their last runs for ever; and how many those are.
pub fn still_measured(mut series: Vec<Series>) -> (Vec<Series>, usize) {
    const LATELY: usize = 20;
    let all = series.len();
    let mut newest: HashMap<String, BTreeSet<(i64, i64)>> = HashMap::new();
    for one in &series {
        let runs = newest.entry(one.key.project.clone()).or_default();
        runs.extend(one.points.iter().map(|point| (point.at, point.run)));
    }
    series.retain(|one| {
        let lately =
            newest.get(&one.key.project).and_then(|runs| runs.iter().rev().nth(LATELY.min(runs.len()) - 1));
        one.points.last().map(|point| (point.at, point.run)) >= lately.copied()
    });
    let gone = all - series.len();
    (series, gone)
}

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
    /// So many runs a number needs to be judged.
    pub needed_runs: Option<usize>,
    /// Numbers that none of the last runs has; they are not judged.
    pub not_measured_lately: usize,
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
                change_pct: percent(a, b),
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
        GateAnswer {
            failed,
            relative_pct: policy.relative * 100.0,
            level: policy.level,
            needed_runs: policy.least_runs(rows.len()),
            not_measured_lately: 0,
            rows,
        }
    }

    pub fn verdict(&self) -> String {
        let count = |verdict| self.rows.iter().filter(|row| row.judgement.verdict == verdict).count();
        let (worse, few) = (count(Verdict::Worse), count(Verdict::TooFewRuns));
        let judged = self.rows.len() - few;
        let waiting = match few {
            0 => String::new(),
            few => format!("; {few} not judged, which needs {}", self.needed()),
        };
        let gone = match self.not_measured_lately {
            0 => String::new(),
            1 => "; 1 was not measured lately".to_owned(),
            many => format!("; {many} were not measured lately"),
        };
        match (worse, judged) {
            (0, 0) => format!(
                "Nothing can be judged yet: {} numbers, each needs {}.",
                self.rows.len(),
                self.needed()
            ),
            (0, judged) => format!("None of {judged} numbers got worse{waiting}{gone}."),
            (worse, judged) => format!("{worse} of {judged} numbers got worse{waiting}{gone}."),
        }
    }

    /// With the device, where numbers are of several.
    fn what(&self, row: &Gated) -> String {
        let several = self.rows.iter().any(|other| other.key.device != row.key.device);
        if several { format!("{} on {}", row.key.what(), row.key.device) } else { row.key.what() }
    }

    fn needed(&self) -> String {
        self.needed_runs
            .map_or_else(|| "more runs than are looked at".to_owned(), |runs| format!("{runs} runs"))
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
                "| {} | {} | {} | {} | {} | {} | {} |",
                row.judgement.verdict.said(),
                markdown::escaped(&one_line(&self.what(row))),
                markdown::escaped(&one_line(&row.key.metric)),
                row.shown(row.judgement.before),
                row.shown(row.judgement.newest),
                row.judgement.change_pct.map_or_else(|| "–".to_owned(), |change| format!("{change:+.1} %")),
                row.judgement.p.map_or_else(|| "–".to_owned(), chance),
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
                escaped(&self.what(row)),
                escaped(&row.key.metric)
            );
            let said = escaped(&row.in_words(&self.needed()));
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
        units::said(value, self.unit)
    }

    fn in_words(&self, needed: &str) -> String {
        let Judgement { before, newest, change_pct, runs_before, runs_newest, p, verdict } = &self.judgement;
        if *verdict == Verdict::TooFewRuns {
            return format!("{} runs, it needs {needed}", runs_before + runs_newest);
        }
        let likely = p.map_or_else(String::new, |p| format!(", p {}", chance(p)));
        let change = change_pct.map_or_else(|| "from nothing".to_owned(), |change| format!("{change:+.1} %"));
        format!(
            "{} in {runs_before} runs before, {} in the newest {runs_newest}: {change}{likely}",
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

/// `0.0123`, or that it is less than can be shown.
fn chance(p: f64) -> String {
    if p < 0.000_05 { "< 0.0001".to_owned() } else { format!("{p:.4}") }
}

impl Tabular for GateAnswer {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("gate", "Numbers", &self.rows)
            .text("verdict", "worse, better, same, or too few runs to tell", |row| {
                row.judgement.verdict.said().to_owned()
            })
            .text("benchmark", "What was measured", |row| self.what(row))
            .text("metric", "Which number of it", |row| row.key.metric.clone())
            .text("before", "The median of the runs before", |row| row.shown(row.judgement.before))
            .text("now", "The median of the newest runs that differ most", |row| {
                row.shown(row.judgement.newest)
            })
            .float("change_pct", Unit::Percent, "From before to now", |row| row.judgement.change_pct)
            .text("chance", "How likely a change as clear as this is by chance", |row| {
                row.judgement.p.map(chance)
            })
            .text("runs", "Before, and newest", |row| {
                format!("{} + {}", row.judgement.runs_before, row.judgement.runs_newest)
            })
            .build();
        vec![table]
    }
}
