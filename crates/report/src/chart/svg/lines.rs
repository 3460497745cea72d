//! Lines, and areas that stand on one another.

use std::fmt::Write as _;

use gpuscope_figure::{Course, Data, Series};

use super::frame::Frame;
use super::paper::Paper;

pub(super) fn draw(paper: &mut Paper, frame: &Frame<'_>, series: &Series) {
    let Data::Line { x, y, course, filled } = &series.data else { return };
    let points = course_of(frame, x, y, *course);
    let (path, color) = (joined('M', &points), series.hue.hex());
    if *filled && let (Some((first, _)), Some((last, _))) = (points.first(), points.last()) {
        let foot = frame.base(false);
        let closed = format!("{path}L{last:.1} {foot:.1}L{first:.1} {foot:.1}Z");
        paper.path(&closed, "none", Some((color, 0.25)), "");
    }
    paper.path(&path, color, None, &series.name);
}

/// A line that stands on those before it, which have the same `x`.
pub(super) fn draw_stacked(paper: &mut Paper, frame: &Frame<'_>, series: &Series, below: &mut Vec<f64>) {
    let Data::Line { x, y, course, .. } = &series.data else { return };
    below.resize(below.len().max(y.len()), 0.0);
    let above: Vec<f64> = below.iter().zip(y).map(|(below, value)| below + value).collect();
    let upper = course_of(frame, x, &above, *course);
    let lower: Vec<(f64, f64)> = course_of(frame, x, below, *course).into_iter().rev().collect();
    let closed = format!("{}{}Z", joined('M', &upper), joined('L', &lower));
    paper.path(&closed, "none", Some((series.hue.hex(), 0.85)), &series.name);
    below[..above.len()].copy_from_slice(&above);
}

/// The corners of a line on paper.
fn course_of(frame: &Frame<'_>, x: &[f64], y: &[f64], course: Course) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(x.len());
    for (x, y) in x.iter().zip(y) {
        let (x, y) = (frame.x(*x), frame.y(*y));
        if course == Course::Stays {
            points.extend(points.last().map(|(_, before)| (x, *before)));
        }
        points.push((x, y));
    }
    points
}

fn joined(first: char, points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(path, "{}{x:.1} {y:.1}", if i == 0 { first } else { 'L' });
    }
    path
}
