//! Operations per second of single calls of modules, as box plots.

use gpuscope_figure::{Axis, Data, Figure, Panel, Pictured, Series, Unit};

use super::{LayerRate, ThroughputAnswer};
use crate::layers::Pass;
use crate::layers::figures::{MOST_MODULES, five_of, heaviest, hue};

impl Pictured for ThroughputAnswer {
    fn figures(&self) -> Vec<Figure> {
        self.figures_of_top(None)
    }
}

impl ThroughputAnswer {
    /// Of the first rank with known work: the modules that do most, in the order of the model.
    pub fn figures_of_top(&self, top: Option<usize>) -> Vec<Figure> {
        let known = |layer: &&LayerRate| layer.call_tflops_per_s.is_some();
        let Some(rank) = self.layers.iter().find(known).map(|layer| layer.rank) else { return Vec::new() };
        let rows: Vec<&LayerRate> =
            self.layers.iter().filter(known).filter(|layer| layer.rank == rank).collect();
        let weighed: Vec<(&str, f64)> =
            rows.iter().map(|layer| (layer.module.as_str(), layer.gflops.unwrap_or(0.0))).collect();
        let modules = heaviest(&weighed, top.unwrap_or(MOST_MODULES));
        let mut panel = Panel::new(
            Axis::new("operations of a call by its GPU time", Unit::TeraflopsPerSecond),
            Axis::categories("", modules.iter().copied()),
        );
        for pass in Pass::ALL {
            let found: Vec<Option<&LayerRate>> = modules
                .iter()
                .map(|module| rows.iter().find(|row| row.module == *module && row.pass == pass).copied())
                .collect();
            if found.iter().all(Option::is_none) {
                continue;
            }
            let boxes =
                found.iter().map(|row| row.and_then(|row| row.call_tflops_per_s.as_ref().map(five_of)));
            let notes = found.iter().map(|row| {
                row.map_or(String::new(), |row| format!("work known of {:.0} % of the time", row.known_pct))
            });
            let series = Series::new(pass.label(), hue(pass), Data::Boxes(boxes.collect()));
            panel = panel.with(series.noted(notes.collect()));
        }
        let best = rows.iter().filter_map(|row| Some((row.tflops_per_s?, row.module.as_str())));
        let summary = best.max_by(|a, b| a.0.total_cmp(&b.0));
        let summary = summary.map(|(rate, name)| format!("{name} is fastest with {rate:.1} TFLOP/s"));
        let title = format!("How many operations per second does each module get? (rank {rank})");
        vec![Figure::new("throughput", title, panel).summary(summary.unwrap_or_default())]
    }
}
