//! Shares of time as stacked bars for each rank.

use gpuscope_figure::{Axis, Figure, Hue, Panel, Pictured, Series, Unit};

use super::{RankTemporal, TemporalAnswer};
use crate::shared::few_ranks::FewRanks;

impl Pictured for TemporalAnswer {
    fn figures(&self) -> Vec<Figure> {
        let few = FewRanks::of(&self.ranks, |rank| Some(rank.compute_pct));
        let share = |name: &str, hue: Hue, of: fn(&RankTemporal) -> f64| {
            let all = |rank: &RankTemporal| rank.compute_pct + rank.non_compute_pct + rank.idle_pct;
            let value = |rank: &RankTemporal| (all(rank) > 0.0).then(|| of(rank));
            Series::bars(name, hue, few.ranks().map(value).collect())
        };
        let panel = Panel::new(
            Axis::categories("rank", few.names(|rank| rank.rank.to_string())),
            Axis::new("share of time", Unit::Percent),
        )
        .stacked()
        .with(share("computing", Hue::Compute, |rank| rank.compute_pct))
        .with(share("doing something else", Hue::Nth(2), |rank| rank.non_compute_pct))
        .with(share("idle", Hue::Idle, |rank| rank.idle_pct));
        let title = few.title("How much of the time did GPUs compute?", "compute");
        let figure = Figure::new("temporal", title, panel);
        if figure.is_empty() { Vec::new() } else { vec![figure] }
    }
}
