//! One chart for each course: its values, and its levels as a line that stays.

use gpuscope_figure::{Axis, Figure, Hue, Panel, Pictured, Series, Unit};

use super::{Trend, Trends, named};

impl Pictured for Trends {
    fn figures(&self) -> Vec<Figure> {
        self.trends.iter().filter(|trend| trend.series.points.len() > 1).map(figure).collect()
    }
}

fn figure(trend: &Trend) -> Figure {
    let points = &trend.series.points;
    let x: Vec<f64> = (1..=points.len()).map(|run| run as f64).collect();
    let notes =
        points.iter().map(|point| format!("{}: {}", named(point), trend.shown(point.value))).collect();
    let last = points.len() as f64;
    let (mut at, mut medians) = (Vec::new(), Vec::new());
    for level in &trend.levels {
        at.push((level.first + 1) as f64);
        medians.push(level.median);
    }
    // The last level goes on to the newest run.
    at.push(last);
    medians.extend(trend.levels.last().map(|level| level.median));
    let label = trend.series.key.metric.replace('_', " ");
    let panel = Panel::new(Axis::new("run", Unit::None).fitted(), Axis::new(&label, trend.series.unit))
        .with(Series::points("runs", Hue::Compute, x, trend.series.values()).noted(notes))
        .with(Series::steps("level", Hue::Critical, at, medians, false));
    let said = match trend.last_change() {
        Some(change) => format!("The level changed last by {change}."),
        None => "The level has not changed.".to_owned(),
    };
    Figure::new("trend", format!("{} of {}", label, trend.series.key.what()), panel).summary(said)
}
