//! The series of a panel: bars, points, boxes and stretches; lines and cells have files of their own.

use gpuscope_figure::{Data, FiveNumbers, Hue, Series, Unit};

use super::frame::Frame;
use super::paper::{Anchor, Paper, Rect, TEXT};
use super::{cells, lines};
use crate::fonts::width_of;
use crate::units;

/// A bar takes this much of its place.
const BAR: f64 = 0.72;
const WIDEST_BAR: f64 = 90.0;
const HIGHEST_BAR: f64 = 22.0;
/// A box is seen even if all values are the same.
const LEAST_BOX: f64 = 4.0;

pub(super) fn draw(paper: &mut Paper, frame: &Frame<'_>) {
    let panel = frame.panel;
    let shown: Vec<&Series> = panel.series.iter().filter(|series| !series.hidden).collect();
    let overlaid = panel.stacked || shown.iter().any(|series| is_waterfall(series));
    let beside = if overlaid { 1 } else { shown.iter().filter(|series| stands(series)).count().max(1) };
    let (mut place, mut stacks, mut areas) = (0, Vec::new(), Vec::new());
    let largest = shown.iter().map(|series| largest_point(series)).fold(0.0, f64::max);
    for series in shown {
        match &series.data {
            Data::Bars { .. } => {
                draw_bars(paper, frame, series, (place, beside), panel.stacked.then_some(&mut stacks));
            }
            Data::Boxes(boxes) => draw_boxes(paper, frame, series, boxes, (place, beside)),
            Data::Line { .. } if panel.stacked => lines::draw_stacked(paper, frame, series, &mut areas),
            Data::Line { .. } => lines::draw(paper, frame, series),
            Data::Points { .. } => draw_points(paper, frame, series, largest),
            Data::Cells { values, unit } => cells::draw(paper, frame, series, values, *unit),
            Data::Stretches { lanes, from, to } => draw_stretches(paper, frame, series, lanes, (from, to)),
            Data::Slices { .. } => {}
        }
        place += usize::from(stands(series) && !overlaid);
    }
}

/// Whether a series takes a place beside the others of its category.
fn stands(series: &Series) -> bool {
    matches!(series.data, Data::Bars { .. } | Data::Boxes(_))
}

/// Bars that begin where another ends share a place with those they hang from.
fn is_waterfall(series: &Series) -> bool {
    matches!(&series.data, Data::Bars { bases, .. } if !bases.is_empty())
}

pub(super) fn note(series: &Series, i: usize, value: f64, unit: Unit) -> String {
    let said = units::float(value, unit);
    let unit = percent(unit);
    let name = if series.name.is_empty() { String::new() } else { format!("{}: ", series.name) };
    match series.notes.get(i) {
        Some(note) if !note.is_empty() => format!("{name}{said}{unit} · {note}"),
        _ => format!("{name}{said}{unit}"),
    }
}

fn draw_bars(
    paper: &mut Paper,
    frame: &Frame<'_>,
    series: &Series,
    (place, beside): (usize, usize),
    mut stacks: Option<&mut Vec<(f64, f64)>>,
) {
    let Data::Bars { values, reach, bases } = &series.data else { return };
    let horizontal = frame.panel.y.names().is_some();
    let unit = if horizontal { frame.panel.x.unit } else { frame.panel.y.unit };
    let thick =
        (frame.slot(horizontal) * BAR).min(if horizontal { HIGHEST_BAR } else { WIDEST_BAR }) / beside as f64;
    let along = |value: f64| if horizontal { frame.x(value) } else { frame.y(value) };
    for (i, value) in values.iter().enumerate().filter_map(|(i, value)| Some((i, (*value)?))) {
        let from = match &mut stacks {
            Some(stacks) => {
                stacks.resize(stacks.len().max(i + 1), (0.0, 0.0));
                let stack = if value < 0.0 { &mut stacks[i].0 } else { &mut stacks[i].1 };
                std::mem::replace(stack, *stack + value)
            }
            None => bases.get(i).copied().unwrap_or(0.0),
        };
        let begin = if from == 0.0 { frame.base(horizontal) } else { along(from) };
        let end = along(from + value);
        let middle = if horizontal { frame.y(i as f64) } else { frame.x(i as f64) };
        let side = middle + (place as f64 - beside as f64 / 2.0) * thick;
        let (near, far) = (begin.min(end), begin.max(end));
        let rect = if horizontal {
            Rect { x: near, y: side, width: far - near, height: thick }
        } else {
            Rect { x: side, y: near, width: thick, height: far - near }
        };
        paper.rect(rect, series.hue.hex(), 1.0, &note(series, i, value, unit));
        if let Some((least, most)) = reach.get(i) {
            draw_whisker(paper, horizontal, side + thick / 2.0, (along(*least), along(*most)));
        }
        let single = beside == 1 && stacks.is_none();
        if single && reach.is_empty() {
            write_value(paper, frame, rect, horizontal, (value, unit), series.hue);
        }
    }
}

/// Beyond the end of a bar, else inside it, else before it.
fn write_value(
    paper: &mut Paper,
    frame: &Frame<'_>,
    bar: Rect,
    horizontal: bool,
    (value, unit): (f64, Unit),
    hue: Hue,
) {
    let said = format!("{}{}", plain(value, unit), percent(unit));
    let width = width_of(&said, TEXT);
    if !horizontal {
        if width + 4.0 < frame.slot(false) && bar.y - TEXT > frame.plot.y - 6.0 {
            paper.text(bar.middle(), bar.y - 4.0, &said, Anchor::Middle);
        }
        return;
    }
    let y = bar.y + bar.height / 2.0 + 4.0;
    if width + 8.0 < frame.plot.right() - bar.right() {
        paper.text(bar.right() + 5.0, y, &said, Anchor::Start);
    } else if width + 12.0 < bar.width {
        paper.on_color(bar.right() - 6.0, y, &said, Anchor::End, hue);
    } else {
        paper.text(bar.x - 5.0, y, &said, Anchor::End);
    }
}

/// Nothing has no unit.
pub(super) fn plain(value: f64, unit: Unit) -> String {
    match unit {
        _ if value == 0.0 => "0".to_owned(),
        Unit::Count if value.fract() == 0.0 => units::int(value as i64, unit),
        unit => units::float(value, unit),
    }
}

fn draw_whisker(paper: &mut Paper, horizontal: bool, middle: f64, (from, to): (f64, f64)) {
    let ink = paper.ink();
    let point = |along: f64, across: f64| if horizontal { (along, across) } else { (across, along) };
    paper.line(point(from, middle), point(to, middle), ink, 0.8);
    for end in [from, to] {
        paper.line(point(end, middle - 4.0), point(end, middle + 4.0), ink, 0.8);
    }
}

fn draw_boxes(
    paper: &mut Paper,
    frame: &Frame<'_>,
    series: &Series,
    boxes: &[Option<FiveNumbers>],
    (place, beside): (usize, usize),
) {
    let horizontal = frame.panel.y.names().is_some();
    let unit = if horizontal { frame.panel.x.unit } else { frame.panel.y.unit };
    let thick = (frame.slot(horizontal) * BAR / beside as f64).min(48.0);
    let along = |value: f64| if horizontal { frame.x(value) } else { frame.y(value) };
    for (i, numbers) in boxes.iter().enumerate().filter_map(|(i, numbers)| Some((i, (*numbers)?))) {
        let middle = if horizontal { frame.y(i as f64) } else { frame.x(i as f64) };
        let middle = middle + (place as f64 - (beside as f64 - 1.0) / 2.0) * thick;
        draw_whisker(paper, horizontal, middle, (along(numbers.least), along(numbers.most)));
        let (from, to) = (along(numbers.first_quartile), along(numbers.third_quartile));
        let (near, far) = (from.min(to), from.max(to));
        let widened = ((LEAST_BOX - (far - near)) / 2.0).max(0.0);
        let (near, far) = (near - widened, far + widened);
        let half = thick * 0.4;
        let rect = if horizontal {
            Rect { x: near, y: middle - half, width: far - near, height: half * 2.0 }
        } else {
            Rect { x: middle - half, y: near, width: half * 2.0, height: far - near }
        };
        paper.rect(rect, series.hue.hex(), 0.85, &note(series, i, numbers.median, unit));
        let at = along(numbers.median);
        let point = |across: f64| if horizontal { (at, across) } else { (across, at) };
        if far - near > LEAST_BOX {
            paper.line(point(middle - half), point(middle + half), "#ffffff", 1.0);
        }
    }
}

/// Points of all series are measured alike.
fn largest_point(series: &Series) -> f64 {
    match &series.data {
        Data::Points { sizes, .. } => sizes.iter().copied().fold(0.0, f64::max),
        _ => 0.0,
    }
}

fn draw_points(paper: &mut Paper, frame: &Frame<'_>, series: &Series, largest: f64) {
    let Data::Points { x, y, sizes } = &series.data else { return };
    for (i, (vx, vy)) in x.iter().zip(y).enumerate() {
        let share = sizes.get(i).map_or(0.15, |size| if largest > 0.0 { size / largest } else { 0.0 });
        let radius = 2.0 + 14.0 * share.max(0.0).sqrt();
        let said = note(series, i, *vy, frame.panel.y.unit);
        paper.circle(frame.x(*vx), frame.y(*vy), radius, series.hue.hex(), 0.75, &said);
    }
}

pub(super) fn percent(unit: Unit) -> &'static str {
    if unit == Unit::Percent { " %" } else { "" }
}

fn draw_stretches(
    paper: &mut Paper,
    frame: &Frame<'_>,
    series: &Series,
    lanes: &[usize],
    (from, to): (&[f64], &[f64]),
) {
    let thick = frame.slot(true) * BAR;
    for (i, ((lane, from), to)) in lanes.iter().zip(from).zip(to).enumerate() {
        let (x, end) = (frame.x(*from), frame.x(*to));
        let rect =
            Rect { x, y: frame.y(*lane as f64) - thick / 2.0, width: (end - x).max(0.5), height: thick };
        let said = note(series, i, to - from, frame.panel.x.unit);
        paper.rect(rect, series.hue.hex(), 0.85, &said);
        if let Some(name) = series.notes.get(i).filter(|name| width_of(name, TEXT) + 6.0 < rect.width) {
            paper.on_color(rect.middle(), rect.y + thick / 2.0 + 4.0, name, Anchor::Middle, series.hue);
        }
    }
}
