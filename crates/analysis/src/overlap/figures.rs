//! How much communication was hidden, rank by rank.

use gpuscope_figure::{Axis, Figure, Hue, Panel, Pictured, Series, Unit};

use super::OverlapAnswer;

impl Pictured for OverlapAnswer {
    fn figures(&self) -> Vec<Figure> {
        let values = self.ranks.iter().map(|rank| rank.overlap_pct).collect();
        let panel = Panel::new(
            Axis::categories("rank", self.ranks.iter().map(|rank| rank.rank.to_string())),
            Axis::new("hidden behind computation", Unit::Percent),
        )
        .with(Series::bars("overlap", Hue::Communication, values));
        let figure = Figure::new("overlap", "How much communication is hidden behind computation?", panel);
        if figure.is_empty() { Vec::new() } else { vec![figure] }
    }
}
