//! Call trees, drawn: a page, a picture, and files for other tools that draw flame graphs: folded stacks, one line per
//! path, and speedscope's file format.
//!
//! Frames come with each before those below it, so that both files are written in one walk.

mod look;
mod page;
mod svg;

use std::io::{self, Write};

use gpuscope_analysis::flame::{FlameAnswer, Weight};
use serde_json::json;

pub(crate) use page::STYLE;

/// A call tree, and how it is drawn at first.
#[derive(Clone, Copy, Debug)]
pub struct FlameGraph<'a> {
    pub answer: &'a FlameAnswer,
    pub title: &'a str,
    pub direction: Direction,
    pub order: Order,
}

/// Where boxes grow to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Downwards.
    #[default]
    Icicle,
    /// Upwards.
    Flame,
}

/// What stands at the left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Heavy,
    /// What was met first.
    Time,
}

/// One frame of a call tree.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub name: &'a str,
    /// How many frames are around it.
    pub depth: usize,
    /// Its own weight, without what is below.
    pub own: i64,
}

/// A call tree.
#[derive(Clone, Debug)]
pub struct Flame<'a> {
    pub name: String,
    pub frames: Vec<Frame<'a>>,
}

impl<'a> FlameGraph<'a> {
    /// As it is drawn unless told otherwise.
    pub fn new(answer: &'a FlameAnswer, title: &'a str) -> FlameGraph<'a> {
        FlameGraph { answer, title, direction: Direction::default(), order: Order::default() }
    }

    pub fn write_folded(&self, out: impl Write) -> io::Result<()> {
        write_folded(&[self.frames()], out)
    }

    pub fn write_speedscope(&self, out: impl Write) -> io::Result<()> {
        let is_bytes = self.answer.by == Weight::Bytes;
        let unit = if is_bytes { FlameUnit::Bytes } else { FlameUnit::Nanoseconds };
        write_speedscope(&[self.frames()], unit, out)
    }

    fn frames(&self) -> Flame<'a> {
        let frames = self.answer.nodes.iter().map(|node| Frame {
            name: &node.name,
            depth: node.depth as usize,
            own: node.weight.own(),
        });
        Flame { name: self.title.to_owned(), frames: frames.collect() }
    }
}

/// What weights are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlameUnit {
    Nanoseconds,
    Bytes,
}

/// `outer;inner 1200`: a line for each frame with a weight of its own. Several trees are told apart by a first frame.
pub fn write_folded(flames: &[Flame<'_>], mut out: impl Write) -> io::Result<()> {
    for flame in flames {
        let mut path = if flames.len() > 1 { folded(&flame.name) } else { String::new() };
        // Where the path of each depth ends.
        let mut ends = vec![path.len()];
        for frame in &flame.frames {
            ends.truncate(frame.depth + 1);
            path.truncate(ends.last().copied().unwrap_or(0));
            if !path.is_empty() {
                path.push(';');
            }
            path.push_str(&folded(frame.name));
            ends.push(path.len());
            if frame.own > 0 {
                writeln!(out, "{path} {}", frame.own)?;
            }
        }
    }
    Ok(())
}

/// A semicolon parts frames, and a line break paths.
fn folded(name: &str) -> String {
    name.chars().map(|c| if c == ';' || c.is_control() { ',' } else { c }).collect()
}

/// Speedscope's file, with one profile for each tree: a frame is open for as long as it and those below it weigh.
pub fn write_speedscope(flames: &[Flame<'_>], unit: FlameUnit, mut out: impl Write) -> io::Result<()> {
    let mut names: Vec<&str> = Vec::new();
    let mut places: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
    let mut profiles = Vec::new();
    for flame in flames {
        let mut events = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut at = 0_i64;
        for frame in &flame.frames {
            while open.len() > frame.depth {
                events.extend(open.pop().map(|frame| json!({"type": "C", "frame": frame, "at": at})));
            }
            let place = *places.entry(frame.name).or_insert_with(|| {
                names.push(frame.name);
                names.len() - 1
            });
            events.push(json!({"type": "O", "frame": place, "at": at}));
            open.push(place);
            at = at.saturating_add(frame.own.max(0));
        }
        while let Some(frame) = open.pop() {
            events.push(json!({"type": "C", "frame": frame, "at": at}));
        }
        profiles.push(json!({
            "type": "evented",
            "name": flame.name,
            "unit": if unit == FlameUnit::Bytes { "bytes" } else { "nanoseconds" },
            "startValue": 0,
            "endValue": at,
            "events": events,
        }));
    }
    let shared: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
    let file = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "gpuscope",
        "shared": {"frames": shared},
        "profiles": profiles,
    });
    serde_json::to_writer(&mut out, &file)?;
    writeln!(out)
}

#[cfg(test)]
mod tests;
