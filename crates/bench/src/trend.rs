//! How numbers went over the runs of a history, and where they changed for good.

mod figures;

use gpuscope_report::units;
use gpuscope_table::{Table, Tabular, Unit};
use serde::Serialize;

use crate::changes::{Level, levels};
use crate::gate::percent;
use crate::history::{Point, Series};
use crate::metric::Better;
use crate::time;

/// A course and its levels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    #[serde(flatten)]
    pub series: Series,
    pub levels: Vec<Level>,
}

/// The answer of `history trend`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trends {
    pub trends: Vec<Trend>,
}

impl Trend {
    pub fn of(series: Series) -> Trend {
        let levels = levels(&series.values());
        Trend { series, levels }
    }

    /// From a level to the next: the first run of the new one, both levels, percent.
    fn changes(&self) -> impl Iterator<Item = (&Point, &Level, &Level, Option<f64>)> {
        self.levels.windows(2).map(|two| {
            let change = percent(two[0].median, two[1].median);
            (&self.series.points[two[1].first], &two[0], &two[1], change)
        })
    }

    fn is_worse(&self, before: &Level, after: &Level) -> bool {
        (after.median > before.median) == (self.series.better == Better::Lower)
    }

    fn shown(&self, value: f64) -> String {
        units::said(value, self.series.unit)
    }

    /// `+5.2 %, worse, since run 17 (3f2a91c)`
    fn last_change(&self) -> Option<String> {
        let (point, before, after, change) = self.changes().last()?;
        let word = if self.is_worse(before, after) { "worse" } else { "better" };
        let change = change.map_or_else(|| "from nothing".to_owned(), |change| format!("{change:+.1} %"));
        Some(format!("{change}, {word}, since {}", named(point)))
    }
}

impl Trends {
    pub fn of(series: Vec<Series>) -> Trends {
        Trends { trends: series.into_iter().map(Trend::of).collect() }
    }
}

/// `run 17 (3f2a91c)`
pub(crate) fn named(point: &Point) -> String {
    let commit = point.revision.as_deref().map(|revision| revision.chars().take(9).collect::<String>());
    match point.label.clone().or(commit) {
        Some(word) => format!("run {} ({word})", point.run),
        None => format!("run {}", point.run),
    }
}

impl Tabular for Trends {
    fn tables(&self) -> Vec<Table> {
        let last = |trend: &Trend| trend.series.points.last().map(|point| point.value);
        let several_devices =
            self.trends.windows(2).any(|two| two[0].series.key.device != two[1].series.key.device);
        let trends = Table::of("trends", "Trends", &self.trends)
            .text("benchmark", "What was measured", |trend| trend.series.key.what())
            .text("metric", "Which number of it", |trend| trend.series.key.metric.clone())
            .when(several_devices, |table| {
                table.text("device", "What it ran on", |trend| trend.series.key.device.clone())
            })
            .int("runs", Unit::Count, "How many there are", |trend| trend.series.points.len() as i64)
            .text("latest", "Of the newest run", |trend| last(trend).map(|value| trend.shown(value)))
            .text("level", "The median since the last change", |trend| {
                trend.levels.last().map(|level| trend.shown(level.median))
            })
            .float("change_pct", Unit::Percent, "How the level changed last", |trend| {
                trend.changes().last().and_then(|change| change.3)
            })
            .text("verdict", "Which way is better depends on the metric", |trend| {
                let (_, before, after, _) = trend.changes().last()?;
                Some(if trend.is_worse(before, after) { "worse" } else { "better" }.to_owned())
            })
            .text("since", "The first run of that level", |trend| {
                trend.changes().last().map(|change| named(change.0))
            })
            .float(
                "latest_value",
                Unit::None,
                "Of the newest run, in nanoseconds, bytes, percent or per second",
                last,
            )
            .for_files()
            .build();
        let changes: Vec<_> =
            self.trends.iter().flat_map(|trend| trend.changes().map(move |change| (trend, change))).collect();
        let changes = Table::of("changes", "Changes of level", &changes)
            .text("benchmark", "What was measured", |(trend, _)| trend.series.key.what())
            .text("metric", "Which number of it", |(trend, _)| trend.series.key.metric.clone())
            .text("since", "The first run of the new level", |(_, change)| named(change.0))
            .text("at", "When that was measured", |(_, change)| time::shown(change.0.at))
            .for_files()
            .text("from", "The median before", |(trend, change)| trend.shown(change.1.median))
            .text("to", "The median since", |(trend, change)| trend.shown(change.2.median))
            .float("change_pct", Unit::Percent, "By how much", |(_, change)| change.3)
            .text("verdict", "Which way is better depends on the metric", |(trend, change)| {
                if trend.is_worse(change.1, change.2) { "worse" } else { "better" }.to_owned()
            })
            .float("p", Unit::Ratio, "How likely a change as clear as this is by chance", |(_, change)| {
                change.2.p
            })
            .for_files()
            .build();
        vec![trends, changes]
    }
}
