//! How values become lengths: the unit an axis is shown in, its ends, and its ticks.

use gpuscope_figure::{Axis, Data, Panel, Scale, Unit};

use crate::units;

/// The unit that an axis is shown in: one for all its ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shown {
    pub divisor: f64,
    pub name: &'static str,
}

const COUNTS: [(&str, u64); 4] =
    [("", 1), ("thousand", 1_000), ("million", 1_000_000), ("billion", 1_000_000_000)];

const AIR: f64 = 0.06;

impl Shown {
    /// The largest unit in which the largest value is at least one.
    pub(crate) fn for_largest(unit: Unit, largest: f64) -> Shown {
        let sizes: &[(&'static str, u64)] = match unit {
            Unit::Ns | Unit::TimestampNs => &units::TIMES,
            Unit::Bytes => &units::BYTES,
            Unit::BytesPerSecond => &units::RATES,
            Unit::PerSecond => &units::COUNT_RATES,
            // Small counts are read as they are.
            Unit::Count if largest.abs() >= 1e5 => &COUNTS,
            Unit::Percent => return Shown { divisor: 1.0, name: "%" },
            Unit::GigabytesPerSecond => return Shown { divisor: 1.0, name: "GB/s" },
            Unit::TerabytesPerSecond => return Shown { divisor: 1.0, name: "TB/s" },
            Unit::Gigaflops => return Shown { divisor: 1.0, name: "GFLOP" },
            Unit::TeraflopsPerSecond => return Shown { divisor: 1.0, name: "TFLOP/s" },
            Unit::None | Unit::Ratio | Unit::Count => return Shown { divisor: 1.0, name: "" },
        };
        let (name, divisor) = units::unit_of(largest.abs(), sizes);
        Shown { divisor: divisor as f64, name }
    }

    /// `time (ms)`.
    pub(crate) fn heading(&self, label: &str) -> String {
        match (label, self.name) {
            (label, "") => label.to_owned(),
            ("", name) => name.to_owned(),
            (label, name) => format!("{label} ({name})"),
        }
    }
}

/// One axis of a panel, measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measure {
    pub shown: Shown,
    pub scale: Measured,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Measured {
    Linear {
        from: f64,
        to: f64,
    },
    /// Ends as powers of ten.
    Logarithmic {
        from: f64,
        to: f64,
    },
    Places(usize),
}

impl Measure {
    /// From values that lie on the axis.
    pub(crate) fn of(axis: &Axis, values: impl Iterator<Item = f64>) -> Measure {
        let ends = values.filter(|value| value.is_finite()).fold(None, |ends: Option<(f64, f64)>, value| {
            let (least, most) = ends.unwrap_or((value, value));
            Some((least.min(value), most.max(value)))
        });
        let (least, most) = ends.unwrap_or((0.0, 1.0));
        let shown = Shown::for_largest(axis.unit, least.abs().max(most.abs()));
        let scale = match &axis.scale {
            Scale::Categories(names) => Measured::Places(names.len()),
            Scale::Logarithmic => {
                let most = if most > 0.0 { most } else { 1.0 };
                let least = if least > 0.0 { least } else { most / 1e3 };
                let (from, to) = (least.log10().floor(), most.log10().ceil());
                Measured::Logarithmic { from, to: to.max(from + 1.0) }
            }
            Scale::Fitted if most > least => Measured::Linear { from: least, to: most },
            Scale::Fitted | Scale::Linear => {
                let (from, to) = (least.min(0.0), most.max(0.0));
                let least_length = if axis.unit == Unit::Percent { 100.0 } else { shown.divisor };
                let to = if to > from { to } else { from + least_length };
                // A little air beyond the longest bar, which has its value written there.
                let air = (to - from) * AIR;
                Measured::Linear {
                    from: if from < 0.0 { from - air } else { 0.0 },
                    to: if to > 0.0 { to + air } else { 0.0 },
                }
            }
        };
        Measure { shown, scale }
    }

    /// Where a value lies, from 0 to 1; a category by its number lies in the middle of its place.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let place = match self.scale {
            Measured::Linear { from, to } => (value - from) / (to - from),
            Measured::Logarithmic { from, to } => (value.max(f64::MIN_POSITIVE).log10() - from) / (to - from),
            Measured::Places(count) => (value + 0.5) / count.max(1) as f64,
        };
        if place.is_finite() { place } else { 0.0 }
    }

    /// Where the axis crosses zero, or its lower end.
    pub(crate) fn base(&self) -> f64 {
        match self.scale {
            Measured::Linear { .. } => self.at(0.0).clamp(0.0, 1.0),
            _ => 0.0,
        }
    }

    /// Round values with their texts, at most about that many.
    pub(crate) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        match self.scale {
            Measured::Places(_) => Vec::new(),
            Measured::Linear { from, to } => {
                let (from, to) = (from / self.shown.divisor, to / self.shown.divisor);
                let step = round_step((to - from) / most.max(1) as f64);
                let decimals = decimals(step);
                let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
                // Steps are counted, as sums of fractions go astray.
                (first..=last.min(first.saturating_add(100)))
                    .map(|i| {
                        let value = i as f64 * step;
                        (value * self.shown.divisor, format!("{value:.decimals$}"))
                    })
                    .collect()
            }
            Measured::Logarithmic { from, to } => {
                let every = (((to - from) / most.max(1) as f64).ceil() as i64).max(1);
                (from as i64..=to as i64)
                    .step_by(every as usize)
                    .map(|power| {
                        let value = 10_f64.powi(power as i32);
                        (value, power_of_ten(value / self.shown.divisor))
                    })
                    .collect()
            }
        }
    }
}

fn power_of_ten(value: f64) -> String {
    if (0.001..1e5).contains(&value) {
        let decimals = if value < 1.0 { (-value.log10()).round() as usize } else { 0 };
        return format!("{value:.decimals$}");
    }
    format!("{value:.0e}")
}

/// 1, 2 or 5 times a power of ten, at least that long.
fn round_step(least: f64) -> f64 {
    if !(least.is_finite() && least > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= least * 0.999).unwrap_or(power)
}

fn decimals(step: f64) -> usize {
    (-step.log10().floor()).clamp(0.0, 12.0) as usize
}

/// Both axes of a panel.
pub(crate) fn axes(panel: &Panel) -> (Measure, Measure) {
    (Measure::of(&panel.x, values(panel, true)), Measure::of(&panel.y, values(panel, false)))
}

/// The horizontal axis that all panels share.
pub(crate) fn shared(panels: &[Panel]) -> Measure {
    let Some(first) = panels.first() else {
        return Measure::of(&Axis::new("", Unit::None), std::iter::empty());
    };
    Measure::of(&first.x, panels.iter().flat_map(|panel| values(panel, true)))
}

/// What lies on the horizontal axis, or on the vertical one.
fn values(panel: &Panel, horizontal: bool) -> impl Iterator<Item = f64> {
    let mut values = Vec::new();
    let mut stacks: Vec<(f64, f64)> = Vec::new();
    let mut lines: Vec<f64> = Vec::new();
    for series in panel.series.iter().filter(|series| !series.hidden) {
        match &series.data {
            Data::Bars { values: bars, reach, bases } => {
                for (i, value) in bars.iter().enumerate().filter_map(|(i, value)| Some((i, (*value)?))) {
                    if panel.stacked {
                        stacks.resize(stacks.len().max(i + 1), (0.0, 0.0));
                        let stack = &mut stacks[i];
                        if value < 0.0 { stack.0 += value } else { stack.1 += value }
                    } else {
                        let base = bases.get(i).copied().unwrap_or(0.0);
                        values.extend([base, base + value]);
                    }
                }
                values.extend(reach.iter().flat_map(|(least, most)| [*least, *most]));
            }
            Data::Line { y, .. } if panel.stacked && !horizontal => {
                lines.resize(lines.len().max(y.len()), 0.0);
                lines.iter_mut().zip(y).for_each(|(sum, value)| *sum += value);
            }
            Data::Line { x, y, .. } | Data::Points { x, y, .. } => {
                values.extend(if horizontal { x } else { y });
            }
            Data::Boxes(boxes) => {
                values.extend(boxes.iter().flatten().flat_map(|numbers| [numbers.least, numbers.most]));
            }
            Data::Stretches { from, to, .. } => values.extend(from.iter().chain(to)),
            Data::Cells { .. } | Data::Slices { .. } => {}
        }
    }
    values.extend(lines);
    values.extend(stacks.into_iter().flat_map(|(least, most)| [least, most]));
    if horizontal {
        values.extend(panel.bands.iter().flat_map(|band| [band.from, band.to]));
    }
    values.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(axis: &Axis, values: &[f64]) -> (Vec<String>, &'static str) {
        let measure = Measure::of(axis, values.iter().copied());
        (measure.ticks(5).into_iter().map(|(_, text)| text).collect(), measure.shown.name)
    }

    #[test]
    fn an_axis_is_shown_in_one_unit_with_round_ticks() {
        let time = Axis::new("time", Unit::Ns);
        assert_eq!(ticks(&time, &[0.0, 4_100_000.0]), (texts(["0", "1", "2", "3", "4"]), "ms"));
        assert_eq!(ticks(&time, &[0.0, 900.0]), (texts(["0", "200", "400", "600", "800"]), "ns"));
        let from_then = time.clone().fitted();
        assert_eq!(ticks(&from_then, &[5.2e9, 5.9e9]).0, texts(["5.2", "5.4", "5.6", "5.8"]));
        assert_eq!(ticks(&time, &[]).1, "ns");
    }

    #[test]
    fn logarithmic_axes_have_powers_of_ten() {
        let axis = Axis::new("intensity", Unit::Ratio).logarithmic();
        assert_eq!(ticks(&axis, &[0.5, 2000.0]).0, texts(["0.1", "1", "10", "100", "1000", "10000"]));
        assert_eq!(ticks(&axis, &[0.0]).0.len(), 4, "zero has no place on it");
    }

    #[test]
    fn hostile_values_make_no_endless_axis() {
        let axis = Axis::new("time", Unit::Ns);
        for values in [vec![f64::NAN], vec![f64::INFINITY, -1.0], vec![i64::MAX as f64, i64::MIN as f64]] {
            assert!(ticks(&axis, &values).0.len() < 20, "{values:?}");
        }
    }

    fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
        texts.map(str::to_owned).into()
    }
}
