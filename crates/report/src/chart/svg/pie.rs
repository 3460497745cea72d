//! A pie with its names beside it: slices from noon, clockwise, in the order given.

use std::f64::consts::TAU;

use gpuscope_figure::{Data, Panel, Slice, Unit};

use super::paper::{Anchor, Paper, Rect, TEXT};
use crate::fonts::width_of;
use crate::names;
use crate::units;

const LINE: f64 = 20.0;
const NARROW_RADIUS: f64 = 90.0;

pub(super) fn draw(paper: &mut Paper, panel: &Panel, rect: Rect) {
    let slices = panel.series.iter().find_map(|series| match &series.data {
        Data::Slices { slices, unit } => Some((slices, *unit)),
        _ => None,
    });
    let Some((slices, unit)) = slices else { return };
    let slices: Vec<&Slice> = slices.iter().filter(|slice| slice.value > 0.0).collect();
    let whole: f64 = slices.iter().map(|slice| slice.value).sum();
    let narrow = is_narrow(rect.width);
    let radius = if narrow {
        (rect.width / 2.0 - 10.0).min(NARROW_RADIUS)
    } else {
        (rect.height / 2.0 - 10.0).min(rect.width / 4.0)
    };
    let (cx, cy) =
        (rect.x + radius + 10.0, if narrow { rect.y + radius + 10.0 } else { rect.y + rect.height / 2.0 });
    let mut turned = 0.0;
    for slice in &slices {
        let share = slice.value / whole;
        let said = format!("{}: {}", slice.name, said(slice, share, unit));
        sector(paper, (cx, cy), radius, (turned, turned + share), slice, &said);
        turned += share;
    }
    // Names are beside it, or below where there is no room.
    let (left, top) = if narrow {
        (rect.x, cy + radius + 24.0)
    } else {
        (cx + radius + 24.0, cy - LINE * (slices.len() as f64 - 1.0) / 2.0)
    };
    let labels = names::told_apart(&slices.iter().map(|slice| slice.name.as_str()).collect::<Vec<_>>(), 40);
    for (i, (slice, label)) in slices.iter().zip(&labels).enumerate() {
        let y = top + i as f64 * LINE;
        paper.rect(Rect { x: left, y: y - 9.0, width: 10.0, height: 10.0 }, slice.hue.hex(), 1.0, "");
        let share = format!(" · {}", said(slice, slice.value / whole, unit));
        let room = rect.right() - left - 16.0 - width_of(&share, TEXT);
        let name = names::fitted_to(label, room, |text| width_of(text, TEXT));
        paper.text(left + 16.0, y, &format!("{name}{share}"), Anchor::Start);
    }
}

/// Pies next to each other have their names below them.
fn is_narrow(width: f64) -> bool {
    width < 460.0
}

pub(super) fn height(panel: &Panel, width: f64) -> f64 {
    let slices = panel.series.iter().map(|series| match &series.data {
        Data::Slices { slices, .. } => slices.iter().filter(|slice| slice.value > 0.0).count(),
        _ => 0,
    });
    let names = slices.sum::<usize>() as f64 * LINE;
    if is_narrow(width) { NARROW_RADIUS * 2.0 + 34.0 + names } else { names.max(250.0) + 10.0 }
}

fn said(slice: &Slice, share: f64, unit: Unit) -> String {
    format!("{:.1} % · {}", share * 100.0, units::float(slice.value, unit))
}

fn sector(
    paper: &mut Paper,
    (cx, cy): (f64, f64),
    radius: f64,
    (from, to): (f64, f64),
    slice: &Slice,
    note: &str,
) {
    if to - from > 0.9999 {
        return paper.circle(cx, cy, radius, slice.hue.hex(), 1.0, note);
    }
    let at = |turn: f64| (cx + radius * (turn * TAU).sin(), cy - radius * (turn * TAU).cos());
    let ((x1, y1), (x2, y2)) = (at(from), at(to));
    let large = u8::from(to - from > 0.5);
    let path =
        format!("M{cx:.1} {cy:.1}L{x1:.2} {y1:.2}A{radius:.1} {radius:.1} 0 {large} 1 {x2:.2} {y2:.2}Z");
    paper.path(&path, "#ffffff", Some((slice.hue.hex(), 1.0)), note);
}
