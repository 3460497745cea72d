//! Memory over time: by what it is for, where torch recorded that, else given out and reserved; and what lived at the
//! peak.

use gpuscope_figure::{Axis, Figure, Hue, Panel, Pictured, Series, Unit, kept};
use gpuscope_trace::{MemoryCategory, Ns};

use super::category::Label as _;
use super::{DeviceMemory, MemoryAnswer, MemoryPoint, Timeline};
use crate::shared::text;

/// Bars that a person still tells apart.
const MOST_BARS: usize = 15;

impl Pictured for MemoryAnswer {
    fn figures(&self) -> Vec<Figure> {
        let device = self.devices.iter().filter(|device| device.device != "cpu");
        let device =
            device.max_by_key(|device| (device.peak.allocated_bytes, std::cmp::Reverse(device.rank)));
        let mut figures: Vec<Figure> = self.timeline.iter().filter_map(by_category).collect();
        figures.extend(device.and_then(course));
        figures.extend(device.map(at_peak));
        figures.retain(|figure| !figure.is_empty());
        figures
    }
}

fn by_category(timeline: &Timeline) -> Option<Figure> {
    let series = timeline.series.as_ref()?;
    let x: Vec<f64> = series.iter().map(|point| (point.time_ns - timeline.start_ns).as_f64()).collect();
    let totals: Vec<f64> = series.iter().map(|point| point.total_bytes as f64).collect();
    // One choice for all categories, as they stand on one another.
    let kept = kept(&x, &totals);
    let x: Vec<f64> = kept.iter().map(|place| x[*place]).collect();
    let mut panel =
        Panel::new(Axis::new("time", Unit::Ns).fitted(), Axis::new("taken", Unit::Bytes)).stacked();
    for (i, category) in MemoryCategory::ALL.into_iter().enumerate() {
        let of = |place: &usize| {
            series[*place].category_bytes.iter().nth(i).map_or(0.0, |(_, bytes)| bytes as f64)
        };
        let bytes: Vec<f64> = kept.iter().map(of).collect();
        if bytes.iter().any(|bytes| *bytes > 0.0) {
            let name = category.label().replace('_', " ");
            panel = panel.with(Series::steps(name, Hue::Nth(i), x.clone(), bytes, true));
        }
    }
    let title = format!("What is memory taken for? (rank {})", timeline.rank);
    let summary = format!("{} at most", text::bytes(timeline.peak_bytes));
    Some(Figure::new("memory", title, panel).summary(summary))
}

fn course(device: &DeviceMemory) -> Option<Figure> {
    let series = device.series.as_ref()?;
    let start = series.first().map_or(Ns::ZERO, |point| point.time_ns);
    let line = |of: fn(&MemoryPoint) -> Option<i64>| -> (Vec<f64>, Vec<f64>) {
        let point = |point: &MemoryPoint| Some(((point.time_ns - start).as_f64(), of(point)? as f64));
        series.iter().filter_map(point).unzip()
    };
    let (x, allocated) = line(|point| Some(point.allocated_bytes));
    let (reserved_x, reserved) = line(|point| point.reserved_bytes);
    let panel = Panel::new(Axis::new("time", Unit::Ns).fitted(), Axis::new("taken", Unit::Bytes))
        .with(Series::steps("given out", Hue::Nth(0), x, allocated, true))
        .with(Series::steps("reserved", Hue::Nth(1), reserved_x, reserved, false));
    let title = format!("How much memory is taken on {}? (rank {})", device.device, device.rank);
    let summary = format!("{} at most", text::bytes(device.peak.allocated_bytes));
    Some(Figure::new("memory", title, panel).summary(summary))
}

fn at_peak(device: &DeviceMemory) -> Figure {
    let peak = &device.peak;
    let parts = peak.category_bytes.iter().filter(|(_, bytes)| *bytes > 0);
    let parts: Vec<(String, f64)> =
        parts.map(|(category, bytes)| (category.label().replace('_', " "), bytes as f64)).collect();
    let operators: Vec<(String, f64)> = peak
        .operators
        .iter()
        .take(MOST_BARS)
        .map(|row| (row.operator.clone().unwrap_or_else(|| "no operator".to_owned()), row.bytes as f64))
        .collect();
    let bars = |rows: &[(String, f64)], title: &str, hue: Hue| {
        let names = rows.iter().map(|(name, _)| name.as_str());
        Panel::new(Axis::new("alive at the peak", Unit::Bytes), Axis::categories("", names))
            .titled(title)
            .with(Series::bars("", hue, rows.iter().map(|(_, bytes)| Some(*bytes)).collect()))
    };
    let title = format!("What lived when most memory was taken? ({}, rank {})", device.device, device.rank);
    Figure::new("memory_peak", title, bars(&parts, "By part of training", Hue::Nth(0))).beside(bars(
        &operators,
        "By operator",
        Hue::Nth(4),
    ))
}
