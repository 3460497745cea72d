//! How long single calls of modules take, as box plots, forward and backward apart.

use gpuscope_figure::{Axis, Data, Figure, FiveNumbers, Hue, Panel, Pictured, Series, Unit};

use super::{Layer, LayersAnswer, Pass};
use crate::shared::spread::{Quartiles, Spread};

/// Boxes that a person still tells apart.
pub(crate) const MOST_MODULES: usize = 24;

impl Pictured for LayersAnswer {
    fn figures(&self) -> Vec<Figure> {
        self.figures_of_top(None)
    }
}

impl LayersAnswer {
    /// Of the first rank with modules: those that take most, in the order of the model.
    pub fn figures_of_top(&self, top: Option<usize>) -> Vec<Figure> {
        let Some(rank) = self.ranks.iter().find(|rank| !rank.layers.is_empty()) else { return Vec::new() };
        let weighed: Vec<(&str, f64)> =
            rank.layers.iter().map(|layer| (layer.module.as_str(), layer.total_ns.as_f64())).collect();
        let modules = heaviest(&weighed, top.unwrap_or(MOST_MODULES));
        let all = rank.layers.iter().map(|layer| &layer.spread);
        let (least, most) =
            (all.clone().map(|spread| spread.min_ns).min(), all.map(|spread| spread.max_ns).max());
        let axis = Axis::new("GPU time of a call", Unit::Ns);
        // A model and its smallest layer are both to be seen.
        let wide = least.zip(most).is_some_and(|(least, most)| least.0 > 0 && most.0 / least.0 >= 100);
        let axis = if wide { axis.logarithmic() } else { axis };
        let mut panel = Panel::new(axis, Axis::categories("", modules.iter().copied()));
        for pass in Pass::ALL {
            let rows: Vec<Option<&Layer>> = modules
                .iter()
                .map(|module| rank.layers.iter().find(|layer| layer.module == *module && layer.pass == pass))
                .collect();
            if rows.iter().all(Option::is_none) {
                continue;
            }
            let boxes = rows.iter().map(|row| row.map(|layer| five(&layer.spread))).collect();
            let series = Series::new(pass.label(), hue(pass), Data::Boxes(boxes));
            panel =
                panel.with(series.noted(rows.iter().map(|row| row.map_or(String::new(), note)).collect()));
        }
        let summary = modules.first().map(|_| {
            let (name, _) =
                weighed.iter().fold(("", 0.0), |most, one| if one.1 > most.1 { *one } else { most });
            format!("{name} takes most")
        });
        let title = format!("How long does a call of each module take? (rank {})", rank.rank);
        vec![Figure::new("layers", title, panel).summary(summary.unwrap_or_default())]
    }
}

fn note(layer: &Layer) -> String {
    format!("{} calls, mean {:.0} ns", layer.calls, layer.spread.mean_ns)
}

/// The names with most weight over all their rows, in the order in which they came.
pub(crate) fn heaviest<'n>(weighed: &[(&'n str, f64)], most: usize) -> Vec<&'n str> {
    let mut names: Vec<(&'n str, f64)> = Vec::new();
    let mut places = rustc_hash::FxHashMap::default();
    for (name, weight) in weighed {
        let place = *places.entry(*name).or_insert(names.len());
        match names.get_mut(place) {
            Some((_, sum)) => *sum += weight,
            None => names.push((name, *weight)),
        }
    }
    let mut by_weight: Vec<usize> = (0..names.len()).collect();
    by_weight.sort_by(|a, b| names[*b].1.total_cmp(&names[*a].1).then(a.cmp(b)));
    by_weight.truncate(most);
    by_weight.sort_unstable();
    by_weight.into_iter().map(|place| names[place].0).collect()
}

pub(crate) fn hue(pass: Pass) -> Hue {
    match pass {
        Pass::Forward => Hue::Nth(0),
        Pass::Backward => Hue::Nth(1),
        Pass::Recompute => Hue::Nth(3),
    }
}

fn five(spread: &Spread) -> FiveNumbers {
    FiveNumbers {
        least: spread.min_ns.as_f64(),
        first_quartile: spread.q1_ns,
        median: spread.median_ns,
        third_quartile: spread.q3_ns,
        most: spread.max_ns.as_f64(),
    }
}

pub(crate) fn five_of(quartiles: &Quartiles) -> FiveNumbers {
    FiveNumbers {
        least: quartiles.min,
        first_quartile: quartiles.q1,
        median: quartiles.median,
        third_quartile: quartiles.q3,
        most: quartiles.max,
    }
}
