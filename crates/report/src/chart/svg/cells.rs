//! Heat maps, and the scale that says what their colours stand for.

use gpuscope_figure::{Data, Hue, Panel, Series, Unit};

use super::frame::Frame;
use super::marks::{note, percent, plain};
use super::paper::{Anchor, Paper, Rect, TEXT};
use crate::fonts::width_of;

/// What the faintest and the strongest colour of a heat map stand for.
pub(super) struct CellScale<'a> {
    name: &'a str,
    hue: Hue,
    ends: (f64, f64),
    unit: Unit,
}

pub(super) fn scale_of(panel: &Panel) -> Option<CellScale<'_>> {
    panel.series.iter().find_map(|series| {
        let Data::Cells { values, unit } = &series.data else { return None };
        let ends = ends(values)?;
        Some(CellScale { name: &series.name, hue: series.hue, ends, unit: *unit })
    })
}

fn ends(values: &[Option<f64>]) -> Option<(f64, f64)> {
    let known = values.iter().flatten().copied().filter(|value| value.is_finite());
    known.fold(None, |ends: Option<(f64, f64)>, value| {
        let (least, most) = ends.unwrap_or((value, value));
        Some((least.min(value), most.max(value)))
    })
}

fn strength(value: f64, (least, most): (f64, f64)) -> f64 {
    let share = if most > least { (value - least) / (most - least) } else { 1.0 };
    0.08 + 0.92 * share
}

/// At the upper right of the panel.
pub(super) fn draw_scale(paper: &mut Paper, scale: &CellScale<'_>, rect: Rect) {
    const PARTS: usize = 24;
    const PART: f64 = 4.0;
    let CellScale { name, hue, ends, unit } = scale;
    let texts = [ends.0, ends.1].map(|end| format!("{}{}", plain(end, *unit), percent(*unit)));
    let most = width_of(&texts[1], TEXT);
    let left = rect.right() - 14.0 - most - 6.0 - PARTS as f64 * PART;
    for part in 0..PARTS {
        let value = ends.0 + (ends.1 - ends.0) * part as f64 / (PARTS - 1) as f64;
        let place = Rect { x: left + part as f64 * PART, y: rect.y + 4.0, width: PART, height: 10.0 };
        paper.rect(place, hue.hex(), strength(value, *ends), "");
    }
    let least = format!("{name}  {}", texts[0]);
    paper.text(left - 6.0, rect.y + 13.0, &least, Anchor::End);
    paper.text(rect.right() - 14.0, rect.y + 13.0, &texts[1], Anchor::End);
}

pub(super) fn draw(
    paper: &mut Paper,
    frame: &Frame<'_>,
    series: &Series,
    values: &[Option<f64>],
    unit: Unit,
) {
    let (Some(columns), Some(rows)) = (frame.panel.x.names(), frame.panel.y.names()) else { return };
    let Some(ends) = ends(values) else { return };
    let (width, height) = (frame.slot(false), frame.slot(true));
    // A thin line between cells as long as there is room for it.
    let gap = if width > 6.0 && height > 6.0 { 1.0 } else { 0.0 };
    for (i, value) in values.iter().enumerate().take(rows.len() * columns.len()) {
        let Some(value) = *value else { continue };
        let (row, column) = (i / columns.len(), i % columns.len());
        let rect = Rect {
            x: frame.x(column as f64) - width / 2.0,
            y: frame.y(row as f64) - height / 2.0,
            width: width - gap,
            height: height - gap,
        };
        let said = note(series, i, value, unit);
        let said = format!("{} · {}: {said}", rows[row], columns[column]);
        paper.rect(rect, series.hue.hex(), strength(value, ends), &said);
    }
}
