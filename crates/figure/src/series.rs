//! What is drawn on a pair of axes.

use gpuscope_table::Unit;

use crate::Hue;
use crate::thin::thinned;

#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// In the legend.
    pub name: String,
    pub hue: Hue,
    /// Drawn only once somebody asks for it.
    pub hidden: bool,
    pub data: Data,
    /// What to say of each value beside the value itself; empty if nothing.
    pub notes: Vec<String>,
}

/// One shape for each value. Where an axis has categories, the values of bars, boxes and cells are in their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Along the axis that has no categories. `reach`: from the smallest to the largest, as whiskers. `bases`: where each
    /// bar begins if not at zero, as in a waterfall.
    Bars {
        values: Vec<Option<f64>>,
        reach: Vec<(f64, f64)>,
        bases: Vec<f64>,
    },
    Line {
        x: Vec<f64>,
        y: Vec<f64>,
        course: Course,
        filled: bool,
    },
    /// `sizes`: the area of each point counts, relative to the largest; empty if all are alike.
    Points {
        x: Vec<f64>,
        y: Vec<f64>,
        sizes: Vec<f64>,
    },
    Boxes(Vec<Option<FiveNumbers>>),
    /// Row by row from the first category of the vertical axis.
    Cells {
        values: Vec<Option<f64>>,
        unit: Unit,
    },
    Slices {
        slices: Vec<Slice>,
        unit: Unit,
    },
    /// Stretches of the horizontal axis in the lanes that are the categories of the vertical one.
    Stretches {
        lanes: Vec<usize>,
        from: Vec<f64>,
        to: Vec<f64>,
    },
}

/// What a line does between two points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    Straight,
    /// Stays, and changes at the next point.
    Stays,
}

/// A distribution: the box from the first to the third quartile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FiveNumbers {
    pub least: f64,
    pub first_quartile: f64,
    pub median: f64,
    pub third_quartile: f64,
    pub most: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    pub name: String,
    pub value: f64,
    pub hue: Hue,
}

impl Series {
    pub fn new(name: impl Into<String>, hue: Hue, data: Data) -> Series {
        Series { name: name.into(), hue, hidden: false, data, notes: Vec::new() }
    }

    pub fn bars(name: impl Into<String>, hue: Hue, values: Vec<Option<f64>>) -> Series {
        Series::new(name, hue, Data::Bars { values, reach: Vec::new(), bases: Vec::new() })
    }

    /// Long ones are thinned, see [`crate::kept`].
    pub fn line(name: impl Into<String>, hue: Hue, x: Vec<f64>, y: Vec<f64>) -> Series {
        let (x, y) = thinned(x, y);
        Series::new(name, hue, Data::Line { x, y, course: Course::Straight, filled: false })
    }

    /// A value that stays until the next; long ones are thinned.
    pub fn steps(name: impl Into<String>, hue: Hue, x: Vec<f64>, y: Vec<f64>, filled: bool) -> Series {
        let (x, y) = thinned(x, y);
        Series::new(name, hue, Data::Line { x, y, course: Course::Stays, filled })
    }

    pub fn points(name: impl Into<String>, hue: Hue, x: Vec<f64>, y: Vec<f64>) -> Series {
        Series::new(name, hue, Data::Points { x, y, sizes: Vec::new() })
    }

    #[must_use]
    pub fn reaching(mut self, whiskers: Vec<(f64, f64)>) -> Series {
        if let Data::Bars { reach, .. } = &mut self.data {
            *reach = whiskers;
        }
        self
    }

    #[must_use]
    pub fn standing_on(mut self, at: Vec<f64>) -> Series {
        if let Data::Bars { bases, .. } = &mut self.data {
            *bases = at;
        }
        self
    }

    #[must_use]
    pub fn noted(mut self, notes: Vec<String>) -> Series {
        self.notes = notes;
        self
    }

    #[must_use]
    pub fn hidden(mut self) -> Series {
        self.hidden = true;
        self
    }
}

impl Data {
    pub fn is_empty(&self) -> bool {
        match self {
            Data::Bars { values, .. } | Data::Cells { values, .. } => values.iter().all(Option::is_none),
            Data::Line { x, .. } | Data::Points { x, .. } => x.is_empty(),
            Data::Boxes(boxes) => boxes.iter().all(Option::is_none),
            Data::Slices { slices, .. } => slices.iter().all(|slice| slice.value <= 0.0),
            Data::Stretches { lanes, .. } => lanes.is_empty(),
        }
    }
}

impl FiveNumbers {
    /// Of values in any order; quartiles between two values are taken in proportion.
    pub fn of(mut values: Vec<f64>) -> Option<FiveNumbers> {
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let quantile = |share: f64| {
            let place = share * (values.len() - 1) as f64;
            let (below, above) = (values[place.floor() as usize], values[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Some(FiveNumbers {
            least,
            first_quartile: quantile(0.25),
            median: quantile(0.5),
            third_quartile: quantile(0.75),
            most,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_values_in_proportion() {
        let numbers = FiveNumbers::of(vec![4.0, 1.0, 3.0, 2.0, f64::NAN]).unwrap();
        assert_eq!(
            numbers,
            FiveNumbers { least: 1.0, first_quartile: 1.75, median: 2.5, third_quartile: 3.25, most: 4.0 }
        );
        assert!(FiveNumbers::of(vec![7.0]).is_some_and(|one| one.least.total_cmp(&one.most).is_eq()));
        assert_eq!(FiveNumbers::of(Vec::new()), None);
    }
}
