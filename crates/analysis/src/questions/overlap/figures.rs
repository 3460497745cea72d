//! How much communication was hidden, rank by rank.

use gpuscope_figure::{Axis, Figure, Hue, Panel, Pictured, Series, Unit};

use super::OverlapAnswer;
use crate::shared::few_ranks::FewRanks;

impl Pictured for OverlapAnswer {
    fn figures(&self) -> Vec<Figure> {
        let few = FewRanks::of(&self.ranks, |rank| rank.overlap_pct);
        let values = few.ranks().map(|rank| rank.overlap_pct).collect();
        let panel = Panel::new(
            Axis::categories("rank", few.names(|rank| rank.rank.to_string())),
            Axis::new("hidden behind computation", Unit::Percent),
        )
        .with(Series::bars("overlap", Hue::Communication, values));
        let title = few.title("How much communication is hidden behind computation?", "hide");
        let figure = Figure::new("overlap", title, panel);
        if figure.is_empty() { Vec::new() } else { vec![figure] }
    }
}
