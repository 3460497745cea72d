//! Call trees for the tools that draw flame graphs: folded stacks, one line per path, and speedscope's file format.
//!
//! Frames come with each before those below it, so that both are written in one walk.

use std::io::{self, Write};

use serde_json::json;

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
mod tests {
    use super::*;

    fn flame() -> Flame<'static> {
        let frame = |name, depth, own| Frame { name, depth, own };
        let frames = vec![
            frame("main", 0, 0),
            frame("a;b", 1, 5),
            frame("kernel", 2, 7),
            frame("c", 1, 2),
            frame("unlinked", 0, 1),
        ];
        Flame { name: "rank 3".to_owned(), frames }
    }

    #[test]
    fn folded_stacks_are_one_line_per_path_with_a_weight() {
        let mut out = Vec::new();
        write_folded(&[flame()], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "main;a,b 5\nmain;a,b;kernel 7\nmain;c 2\nunlinked 1\n");
        let mut out = Vec::new();
        write_folded(&[flame(), flame()], &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().starts_with("rank 3;main;a,b 5\n"));
    }

    #[test]
    fn every_frame_that_opens_closes_in_turn() {
        let mut out = Vec::new();
        write_speedscope(&[flame()], FlameUnit::Nanoseconds, &mut out).unwrap();
        let file: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(file["shared"]["frames"][1]["name"], "a;b");
        let profile = &file["profiles"][0];
        assert_eq!((profile["type"].as_str(), profile["endValue"].as_i64()), (Some("evented"), Some(15)));
        let mut open = Vec::new();
        let mut last = 0;
        for event in profile["events"].as_array().unwrap() {
            let (frame, at) = (event["frame"].as_i64().unwrap(), event["at"].as_i64().unwrap());
            assert!(at >= last);
            last = at;
            match event["type"].as_str() {
                Some("O") => open.push(frame),
                _ => assert_eq!(open.pop(), Some(frame)),
            }
        }
        assert!(open.is_empty());
    }
}
