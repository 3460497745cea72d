//! A panel's place on the paper: margins, axes, ticks and the grid, and where a value goes.

use std::collections::HashSet;

use gpuscope_figure::{Axis, Panel};

use super::paper::{Anchor, Paper, Rect, TEXT};
use crate::chart::measure::Measure;
use crate::fonts::width_of;
use crate::names;

pub(super) struct Frame<'a> {
    pub panel: &'a Panel,
    x: Measure,
    y: Measure,
    pub plot: Rect,
    /// Ticks of the horizontal axis have texts; with a shared axis only the lowest panel's have.
    labelled: bool,
    slanted: bool,
    /// What there is for names beside the vertical axis.
    room: f64,
}

const TICK_LINE: f64 = 18.0;
/// Category names are made to fit this.
const LONGEST_NAME: f64 = 310.0;
const LONGEST_BELOW: f64 = 150.0;
const SLANT: f64 = 35.0;

/// What the texts beside the vertical axis need.
pub(super) fn left_margin(panel: &Panel, width: f64) -> f64 {
    let (_, y) = super::measure::axes(panel);
    let widest = match panel.y.names() {
        Some(rows) => rows.iter().map(|row| width_of(&fitting(row, LONGEST_NAME), TEXT)).fold(0.0, f64::max),
        None => y.ticks(5).iter().map(|(_, text)| width_of(text, TEXT)).fold(0.0, f64::max),
    };
    let heading = if y.shown.heading(&panel.y.label).is_empty() { 0.0 } else { TICK_LINE };
    (widest + 10.0 + heading).min(width * 0.5)
}

fn fitting(name: &str, room: f64) -> String {
    names::fitted_to(name, room, |text| width_of(text, TEXT))
}

/// No two names look the same.
fn told_apart(rows: &[String], room: f64) -> Vec<String> {
    let fitted: Vec<String> = rows.iter().map(|row| fitting(row, room)).collect();
    if fitted.iter().collect::<HashSet<_>>().len() == fitted.len() {
        return fitted;
    }
    // About as many letters as there is room for.
    let most = (room / width_of("n", TEXT)) as usize;
    names::told_apart(rows, most).iter().map(|name| fitting(name, room)).collect()
}

impl<'a> Frame<'a> {
    pub(super) fn new(
        panel: &'a Panel,
        x: Measure,
        y: Measure,
        rect: Rect,
        left: f64,
        labelled: bool,
    ) -> Self {
        let plot_width = rect.width - left - 14.0;
        let slot = |count: usize| plot_width / count.max(1) as f64;
        let below = |names: &[String]| {
            names.iter().map(|name| width_of(&fitting(name, LONGEST_BELOW), TEXT)).fold(0.0, f64::max)
        };
        let slanted = panel.x.names().is_some_and(|names| below(names) + 14.0 > slot(names.len()));
        let ticks = match panel.x.names() {
            Some(names) if slanted => below(names) * SLANT.to_radians().sin() + TICK_LINE,
            _ => TICK_LINE,
        };
        let heading = if x.shown.heading(&panel.x.label).is_empty() { 0.0 } else { TICK_LINE };
        let bottom = if labelled { ticks + heading } else { 6.0 };
        let plot = Rect {
            x: rect.x + left,
            y: rect.y + 6.0,
            width: plot_width,
            height: (rect.height - bottom - 6.0).max(20.0),
        };
        Frame { panel, x, y, plot, labelled, slanted, room: left - 10.0 }
    }

    pub(super) fn x(&self, value: f64) -> f64 {
        self.plot.x + self.x.at(value).clamp(-0.5, 1.5) * self.plot.width
    }

    /// The first row is the uppermost; values grow upwards.
    pub(super) fn y(&self, value: f64) -> f64 {
        let place = self.y.at(value).clamp(-0.5, 1.5);
        let place = if self.panel.y.names().is_some() { place } else { 1.0 - place };
        self.plot.y + place * self.plot.height
    }

    /// Where bars begin.
    pub(super) fn base(&self, horizontal: bool) -> f64 {
        if horizontal {
            self.plot.x + self.x.base() * self.plot.width
        } else {
            self.plot.y + (1.0 - self.y.base()) * self.plot.height
        }
    }

    /// How wide one category's place is.
    pub(super) fn slot(&self, horizontal: bool) -> f64 {
        let (axis, length) =
            if horizontal { (&self.panel.y, self.plot.height) } else { (&self.panel.x, self.plot.width) };
        length / axis.names().map_or(1, <[String]>::len).max(1) as f64
    }

    pub(super) fn draw_axes(&self, paper: &mut Paper) {
        for band in &self.panel.bands {
            let (from, to) = (self.x(band.from), self.x(band.to));
            let rect = Rect { x: from, width: to - from, ..self.plot };
            paper.rect(rect, band.hue.hex(), 0.13, &band.name);
            if width_of(&band.name, TEXT) < to - from {
                paper.text(f64::midpoint(from, to), self.plot.y + 12.0, &band.name, Anchor::Middle);
            }
        }
        self.draw_vertical(paper);
        self.draw_horizontal(paper);
    }

    fn draw_vertical(&self, paper: &mut Paper) {
        let (plot, ink) = (self.plot, paper.ink());
        match self.panel.y.names() {
            Some(rows) => {
                // Where rows are narrower than letters, only some are named.
                let every = (TEXT / self.slot(true)).ceil().max(1.0) as usize;
                let room = self.room.min(LONGEST_NAME);
                for (i, name) in told_apart(rows, room).into_iter().enumerate().step_by(every) {
                    paper.text(plot.x - 6.0, self.y(i as f64) + 4.0, &name, Anchor::End);
                }
            }
            None => {
                for (value, text) in self.y.ticks((plot.height / 50.0).ceil() as usize) {
                    let y = self.y(value);
                    paper.line((plot.x, y), (plot.right(), y), ink, 0.12);
                    paper.text(plot.x - 6.0, y + 4.0, &text, Anchor::End);
                }
            }
        }
        paper.line((plot.x, plot.y), (plot.x, plot.bottom()), ink, 0.5);
        let heading = self.y.shown.heading(&self.panel.y.label);
        if !heading.is_empty() && self.panel.y.names().is_none() {
            let x = plot.x - self.widest_tick() - 16.0;
            paper.turned(x, plot.y + plot.height / 2.0, &heading, Anchor::Middle, 90.0);
        }
    }

    fn widest_tick(&self) -> f64 {
        let ticks = self.y.ticks((self.plot.height / 50.0).ceil() as usize);
        ticks.iter().map(|(_, text)| width_of(text, TEXT)).fold(0.0, f64::max)
    }

    fn draw_horizontal(&self, paper: &mut Paper) {
        let (plot, ink) = (self.plot, paper.ink());
        let foot = plot.bottom();
        paper.line((plot.x, foot), (plot.right(), foot), ink, 0.5);
        match self.panel.x.names() {
            Some(columns) if self.labelled => self.name_columns(paper, columns),
            Some(_) => {}
            None => {
                for (value, text) in self.x.ticks((plot.width / 110.0).ceil() as usize) {
                    let x = self.x(value);
                    paper.line((x, plot.y), (x, foot), ink, 0.12);
                    if self.labelled {
                        paper.text(x, foot + 15.0, &text, Anchor::Middle);
                    }
                }
            }
        }
        let heading = heading(&self.x, &self.panel.x);
        if self.labelled && !heading.is_empty() {
            let down = match self.panel.x.names() {
                Some(_) if self.slanted => self.slant_depth() + 32.0,
                _ => 32.0,
            };
            paper.text(plot.middle(), foot + down, &heading, Anchor::Middle);
        }
    }

    fn slant_depth(&self) -> f64 {
        let names = self.panel.x.names().unwrap_or_default();
        let widest = names.iter().map(|name| width_of(&fitting(name, LONGEST_BELOW), TEXT));
        widest.fold(0.0, f64::max) * SLANT.to_radians().sin() - TICK_LINE / 2.0
    }

    fn name_columns(&self, paper: &mut Paper, columns: &[String]) {
        let foot = self.plot.bottom();
        let apart = if self.slanted { TEXT * 2.2 } else { TEXT * 1.4 };
        let every = (apart / self.slot(false)).ceil().max(1.0) as usize;
        for (i, column) in columns.iter().enumerate().step_by(every) {
            let x = self.x(i as f64);
            // Slanted names go out to the left, up to the edge.
            let room = if self.slanted { x / SLANT.to_radians().cos() - 4.0 } else { LONGEST_BELOW };
            let name = fitting(column, room.min(LONGEST_BELOW));
            if self.slanted {
                paper.turned(x + 4.0, foot + 13.0, &name, Anchor::End, SLANT);
            } else {
                paper.text(x, foot + 15.0, &name, Anchor::Middle);
            }
        }
    }
}

fn heading(measure: &Measure, axis: &Axis) -> String {
    measure.shown.heading(&axis.label)
}
