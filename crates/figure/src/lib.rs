//! Series on axes with units: the one description of charts. Every renderer (SVG, plotly, PNG, PDF, terminal) works
//! from this and nothing else, as they do for tables from `gpuscope-table`.
//!
//! Values are kept in the unit of their axis (nanoseconds, bytes, …) and never scaled here: renderers choose µs or ms
//! once per axis.

mod hue;
mod panel;
mod series;
mod thin;

pub use gpuscope_table::Unit;
pub use hue::Hue;
pub use panel::{Axis, Band, Panel, Scale};
pub use series::{Course, Data, FiveNumbers, Series, Slice};
pub use thin::{MOST_POINTS, kept};

/// One chart, or several that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// As `gpuscope plot` knows it: `kernel_types`.
    pub name: &'static str,
    /// A question or a statement, above the chart.
    pub title: String,
    /// One sentence that says what to see, for those who cannot see it as well.
    pub summary: String,
    pub panels: Vec<Panel>,
    pub arrangement: Arrangement,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrangement {
    /// Below one another on one horizontal axis: zooming one zooms all.
    #[default]
    Stacked,
    /// Next to each other, each with axes of its own.
    SideBySide,
}

impl Figure {
    pub fn new(name: &'static str, title: impl Into<String>, panel: Panel) -> Figure {
        Figure {
            name,
            title: title.into(),
            summary: String::new(),
            panels: vec![panel],
            arrangement: Arrangement::default(),
        }
    }

    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Figure {
        self.summary = summary.into();
        self
    }

    /// One more panel below, on the same horizontal axis.
    #[must_use]
    pub fn below(mut self, panel: Panel) -> Figure {
        self.panels.push(panel);
        self
    }

    #[must_use]
    pub fn beside(mut self, panel: Panel) -> Figure {
        self.panels.push(panel);
        self.arrangement = Arrangement::SideBySide;
        self
    }

    /// Whether there is anything to draw.
    pub fn is_empty(&self) -> bool {
        self.panels.iter().all(Panel::is_empty)
    }
}

/// Of figures with one name, such as pies of each rank, paper and pictures hold so many.
const MOST_ALIKE: usize = 8;

/// Those that are drawn where none can be picked.
pub fn on_paper(figures: &[Figure]) -> impl Iterator<Item = &Figure> {
    let is_among_first =
        |i: usize, name: &str| figures[..i].iter().filter(|before| before.name == name).count() < MOST_ALIKE;
    figures
        .iter()
        .enumerate()
        .filter(move |(i, figure)| is_among_first(*i, figure.name))
        .map(|(_, figure)| figure)
}

/// An answer that can be shown as charts.
pub trait Pictured {
    fn figures(&self) -> Vec<Figure>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_without_values_is_empty() {
        let panel =
            |values: Vec<Option<f64>>| {
                Panel::new(Axis::categories("kernel", ["gemm"]), Axis::new("time", Unit::Ns))
                    .with(Series::bars("total", Hue::Compute, values))
            };
        assert!(Figure::new("kernels", "Kernels", panel(vec![None])).is_empty());
        assert!(!Figure::new("kernels", "Kernels", panel(vec![Some(0.0)])).is_empty());
        let both = Figure::new("kernels", "Kernels", panel(vec![])).beside(panel(vec![Some(1.0)]));
        assert_eq!((both.is_empty(), both.arrangement), (false, Arrangement::SideBySide));
    }

    #[test]
    fn paper_holds_a_few_of_many_alike() {
        let figure = |name| Figure::new(name, name, Panel::pie(Vec::new(), Unit::Ns));
        let figures: Vec<Figure> = (0..20).map(|_| figure("pie")).chain([figure("bars")]).collect();
        let names: Vec<&str> = on_paper(&figures).map(|figure| figure.name).collect();
        assert_eq!((names.len(), names[8]), (9, "bars"));
    }
}
