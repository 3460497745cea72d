//! A figure as SVG, without scripts or style sheets: what a page paints first, and what images and paper are made of.

mod cells;
mod frame;
mod lines;
mod marks;
mod paper;
mod pie;

use gpuscope_figure::{Arrangement, Data, Figure, Panel};

use self::frame::Frame;
use self::paper::{Anchor, Paper, Rect, TEXT};
use super::measure;
use crate::fonts::{bold_width_of, width_of, wrapped};

/// What is around the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dress {
    pub width: f64,
    /// The title belongs to the picture; a page has it as a heading.
    pub titled: bool,
    /// Painted below; a page shows through.
    pub background: Option<&'static str>,
    /// The colour of text and axes; a page has its own, which changes with its theme.
    pub ink: &'static str,
}

impl Dress {
    /// For a file of its own.
    pub const FILE: Dress = Dress { width: 960.0, titled: true, background: Some("#ffffff"), ink: "#1f2328" };
    /// Inside a page.
    pub const PAGE: Dress = Dress { width: 960.0, titled: false, background: None, ink: "currentColor" };
}

const TITLE: f64 = 16.0;
const TITLE_LINE: f64 = 22.0;
const TITLE_GAP: f64 = 12.0;
const LEGEND_LINE: f64 = 20.0;
const GAP: f64 = 26.0;
/// A chart is about this high, and grows with the number of its rows.
const PANEL_HEIGHT: f64 = 300.0;
const ROW_HEIGHT: f64 = 24.0;
/// What the scale of a heat map takes.
const SCALE_ROOM: f64 = 300.0;

pub fn draw(figure: &Figure, dress: &Dress) -> String {
    drawn(figure, dress, 0.0).0
}

/// The picture, and how high it is.
pub(crate) fn sized(figure: &Figure, dress: &Dress) -> (String, f64) {
    drawn(figure, dress, 0.0)
}

/// That far from the top of the sheet, and how high it is.
fn drawn(figure: &Figure, dress: &Dress, from: f64) -> (String, f64) {
    let mut paper = Paper::new(dress.ink);
    let mut top = 8.0;
    if dress.titled {
        let measured = |text: &str| bold_width_of(text, TITLE);
        let title = crate::text::one_line(&figure.title);
        for line in wrapped(&title, dress.width - 32.0, measured) {
            paper.bold(16.0, top + 18.0, &line, TITLE);
            top += TITLE_LINE;
        }
        top += TITLE_GAP;
    }
    top = legend(&mut paper, figure, dress.width, top);
    let panels: Vec<&Panel> = figure.panels.iter().collect();
    let bottom = match figure.arrangement {
        Arrangement::Stacked => panels.iter().enumerate().fold(top, |top, (i, panel)| {
            let height = height(panel, panels.len(), dress.width - 24.0);
            let rect = Rect { x: 12.0, y: top, width: dress.width - 24.0, height };
            draw_panel(&mut paper, panel, rect, figure, i);
            top + height + GAP
        }),
        Arrangement::SideBySide => {
            // Names take room.
            let shares: Vec<f64> =
                panels.iter().map(|panel| if panel.y.names().is_some() { 1.4 } else { 1.0 }).collect();
            let whole = dress.width - 24.0 - GAP * (panels.len() as f64 - 1.0);
            let widths: Vec<f64> =
                shares.iter().map(|share| whole * share / shares.iter().sum::<f64>()).collect();
            let heights = panels.iter().zip(&widths).map(|(panel, width)| height(panel, 1, *width));
            let height = heights.fold(0.0, f64::max);
            let mut x = 12.0;
            for (i, (panel, width)) in panels.iter().zip(widths).enumerate() {
                draw_panel(&mut paper, panel, Rect { x, y: top, width, height }, figure, i);
                x += width + GAP;
            }
            top + height + GAP
        }
    };
    let description = if figure.summary.is_empty() { &figure.title } else { &figure.summary };
    let place = Rect { x: 0.0, y: from, width: dress.width, height: (bottom - GAP + 12.0).ceil() };
    (paper.finish(place, dress.background, &figure.title, description), place.height)
}

/// Several figures below one another; one alone as it is.
pub fn sheet(figures: &[Figure], dress: &Dress) -> String {
    let figures: Vec<&Figure> = gpuscope_figure::on_paper(figures).collect();
    if let [only] = figures.as_slice() {
        return draw(only, dress);
    }
    let (mut body, mut top) = (String::new(), 0.0);
    for figure in &figures {
        let (picture, height) = drawn(figure, dress, top);
        body.push_str(&picture);
        top += height;
    }
    let title = figures.first().map_or("", |figure| &figure.title);
    paper::document(Rect { x: 0.0, y: 0.0, width: dress.width, height: top }, title, &body)
}

fn height(panel: &Panel, panels: usize, width: f64) -> f64 {
    let titled = if is_headed(panel) { LEGEND_LINE } else { 0.0 };
    if panel.is_pie() {
        return pie::height(panel, width) + titled;
    }
    match panel.y.names() {
        Some(rows) => titled + 56.0 + (rows.len() as f64 * row_height(panel)).clamp(40.0, 4_000.0),
        None if panels > 1 => titled + PANEL_HEIGHT * 0.8,
        None => titled + PANEL_HEIGHT,
    }
}

/// Whether there is a line above the panel.
fn is_headed(panel: &Panel) -> bool {
    !panel.title.is_empty() || cells::scale_of(panel).is_some()
}

/// Boxes of several series share a row.
fn row_height(panel: &Panel) -> f64 {
    let boxes = panel.series.iter().filter(|series| matches!(series.data, Data::Boxes(_))).count();
    ROW_HEIGHT.max(boxes as f64 * 13.0 + 6.0)
}

fn draw_panel(paper: &mut Paper, panel: &Panel, rect: Rect, figure: &Figure, number: usize) {
    if !panel.title.is_empty() {
        let room = rect.width - if cells::scale_of(panel).is_some() { SCALE_ROOM } else { 0.0 };
        let title = crate::names::fitted_to(&panel.title, room, |text| bold_width_of(text, TEXT));
        paper.bold(rect.x, rect.y + 13.0, &title, TEXT);
    }
    if let Some(scale) = cells::scale_of(panel) {
        cells::draw_scale(paper, &scale, rect);
    }
    let rect = if is_headed(panel) { rect.without_top(LEGEND_LINE) } else { rect };
    if panel.is_empty() {
        paper.text(rect.middle(), rect.y + rect.height / 2.0, "nothing to show", Anchor::Middle);
    } else if panel.is_pie() {
        pie::draw(paper, panel, rect);
    } else {
        // Panels on one axis begin and end at the same places; the lowest says where that is.
        let shared = figure.arrangement == Arrangement::Stacked && figure.panels.len() > 1;
        let last = number + 1 == figure.panels.len();
        let (mut x, y) = measure::axes(panel);
        if shared {
            x = measure::shared(&figure.panels);
        }
        let left = if shared {
            figure.panels.iter().map(|panel| frame::left_margin(panel, rect.width)).fold(0.0, f64::max)
        } else {
            frame::left_margin(panel, rect.width)
        };
        let frame = Frame::new(panel, x, y, rect, left, !shared || last);
        frame.draw_axes(paper);
        marks::draw(paper, &frame);
    }
}

/// Names what is drawn, once for all panels; returns where the charts begin.
fn legend(paper: &mut Paper, figure: &Figure, width: f64, top: f64) -> f64 {
    let mut named: Vec<(&str, &str)> = Vec::new();
    for series in figure.panels.iter().filter(|panel| !panel.is_pie()).flat_map(|panel| &panel.series) {
        let entry = (series.name.as_str(), series.hue.hex());
        let told = matches!(series.data, Data::Cells { .. }) || series.name.is_empty() || series.hidden;
        if !told && !series.data.is_empty() && !named.contains(&entry) {
            named.push(entry);
        }
    }
    if named.len() < 2 {
        return top;
    }
    let (mut x, mut y) = (16.0, top + 12.0);
    for (name, color) in named {
        let name = crate::names::fitted(name, 40);
        let needed = 30.0 + width_of(&name, TEXT);
        if x + needed > width && x > 16.0 {
            (x, y) = (16.0, y + LEGEND_LINE);
        }
        paper.rect(Rect { x, y: y - 9.0, width: 10.0, height: 10.0 }, color, 1.0, "");
        paper.text(x + 15.0, y, &name, Anchor::Start);
        x += needed;
    }
    y + 12.0
}

#[cfg(test)]
mod tests;
