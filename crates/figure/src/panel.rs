//! One pair of axes and what is drawn on it.

use gpuscope_table::Unit;

use crate::{Data, Hue, Series, Slice};

#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Above the panel, where a figure has several.
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
    /// Bars of one category stand on one another rather than side by side; lines, which share their `x`, too.
    pub stacked: bool,
    /// Stretches of the horizontal axis with a name: steps, forward and backward passes.
    pub bands: Vec<Band>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub label: String,
    pub unit: Unit,
    pub scale: Scale,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scale {
    /// From zero, or from the smallest value if that is below.
    #[default]
    Linear,
    /// From the smallest value to the largest, zero or not: points in time.
    Fitted,
    Logarithmic,
    /// One place for each; bars, boxes and cells stand in these.
    Categories(Vec<String>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    pub name: String,
    pub from: f64,
    pub to: f64,
    pub hue: Hue,
}

impl Axis {
    pub fn new(label: impl Into<String>, unit: Unit) -> Axis {
        Axis { label: label.into(), unit, scale: Scale::Linear }
    }

    pub fn categories<C: Into<String>>(
        label: impl Into<String>,
        categories: impl IntoIterator<Item = C>,
    ) -> Axis {
        let categories = categories.into_iter().map(Into::into).collect();
        Axis { label: label.into(), unit: Unit::None, scale: Scale::Categories(categories) }
    }

    #[must_use]
    pub fn fitted(mut self) -> Axis {
        self.scale = Scale::Fitted;
        self
    }

    #[must_use]
    pub fn logarithmic(mut self) -> Axis {
        self.scale = Scale::Logarithmic;
        self
    }

    pub fn names(&self) -> Option<&[String]> {
        match &self.scale {
            Scale::Categories(names) => Some(names),
            _ => None,
        }
    }
}

impl Panel {
    pub fn new(x: Axis, y: Axis) -> Panel {
        Panel { title: String::new(), x, y, series: Vec::new(), stacked: false, bands: Vec::new() }
    }

    /// A pie has no axes.
    pub fn pie(slices: Vec<Slice>, unit: Unit) -> Panel {
        Panel::new(Axis::new("", Unit::None), Axis::new("", Unit::None)).with(Series::new(
            "",
            Hue::Idle,
            Data::Slices { slices, unit },
        ))
    }

    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Panel {
        self.title = title.into();
        self
    }

    #[must_use]
    pub fn with(mut self, series: Series) -> Panel {
        self.series.push(series);
        self
    }

    #[must_use]
    pub fn stacked(mut self) -> Panel {
        self.stacked = true;
        self
    }

    #[must_use]
    pub fn band(mut self, band: Band) -> Panel {
        self.bands.push(band);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.series.iter().all(|series| series.data.is_empty())
    }

    pub fn is_pie(&self) -> bool {
        self.series.iter().any(|series| matches!(series.data, Data::Slices { .. }))
    }
}
