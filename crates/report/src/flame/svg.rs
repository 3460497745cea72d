//! A flame graph as a picture for documents: every box that can be seen, its whole name and weight as a tooltip.

use std::fmt::Write as _;
use std::io::{self, Write};

use gpuscope_analysis::flame::FlameAnswer;

use super::look::{self, Tone};
use super::{Direction, Order};
use crate::html::escaped;
use crate::names;

const WIDTH: f64 = 1200.0;
const ROW: f64 = 18.0;
const HEAD: f64 = 34.0;
const MARGIN: f64 = 10.0;
/// Narrower boxes cannot be seen.
const LEAST: f64 = 0.3;
/// Letters are about this wide.
const LETTER: f64 = 6.3;

#[derive(Clone, Copy, Debug, Default)]
pub struct FlameSvg<'a> {
    pub title: &'a str,
    pub direction: Direction,
    pub order: Order,
}

impl FlameSvg<'_> {
    pub fn write(&self, flame: &FlameAnswer, mut out: impl Write) -> io::Result<()> {
        let boxes = self.boxes(flame);
        let rows = boxes.iter().map(|placed| placed.row + 1).max().unwrap_or(0) + 1;
        let height = HEAD + f64::from(rows) * ROW + MARGIN;
        let width = WIDTH + 2.0 * MARGIN;
        let mut text = String::new();
        let whole = look::said(flame.weight.total(), flame.by);
        let heading = format!("{} · {} · {whole}", self.title, look::root(flame));
        let _ = write!(
            text,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"system-ui,sans-serif\" font-size=\"11\">\n<title>{0}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text x=\"{MARGIN}\" y=\"22\" font-size=\"14\" fill=\"#1f2328\">{0}</text>\n",
            escaped(&heading)
        );
        let root = Drawn {
            left: 0.0,
            width: WIDTH,
            row: 0,
            fill: [0xB8, 0xBE, 0xC8],
            name: &look::root(flame),
            said: whole,
        };
        self.draw(&mut text, &root, rows);
        for placed in &boxes {
            let node = &flame.nodes[placed.node];
            let total = node.weight.total();
            let share = total as f64 / flame.weight.total().max(1) as f64 * 100.0;
            let before =
                node.before.map(|before| format!(", {} before", look::said(before.total(), flame.by)));
            let said = format!(
                "{} ({share:.1} %){}, {}",
                look::said(total, flame.by),
                before.unwrap_or_default(),
                Tone::of(node).label()
            );
            let drawn = Drawn {
                left: placed.left,
                width: placed.width,
                row: placed.row + 1,
                fill: look::color(node),
                name: &node.name,
                said,
            };
            self.draw(&mut text, &drawn, rows);
        }
        text.push_str("</svg>\n");
        out.write_all(text.as_bytes())
    }

    fn draw(&self, text: &mut String, drawn: &Drawn<'_>, rows: u32) {
        let row = match self.direction {
            Direction::Icicle => drawn.row,
            Direction::Flame => rows - 1 - drawn.row,
        };
        let (x, y) = (MARGIN + drawn.left, HEAD + f64::from(row) * ROW);
        let [red, green, blue] = drawn.fill;
        let _ = write!(
            text,
            "<g><title>{}: {}</title><rect x=\"{x:.2}\" y=\"{y}\" width=\"{:.2}\" height=\"{}\" \
             fill=\"#{red:02x}{green:02x}{blue:02x}\"/>",
            escaped(drawn.name),
            escaped(&drawn.said),
            (drawn.width - 0.5).max(LEAST),
            ROW - 1.0
        );
        let room = ((drawn.width - 8.0) / LETTER).max(0.0) as usize;
        if room >= 3 {
            let _ = write!(
                text,
                "<text x=\"{:.2}\" y=\"{}\" fill=\"{}\">{}</text>",
                x + 4.0,
                y + 12.5,
                look::ink(drawn.fill),
                escaped(&names::fitted(drawn.name.trim_start_matches("nn.Module: "), room))
            );
        }
        text.push_str("</g>\n");
    }

    /// Boxes that can be seen, each after the one that it is below.
    fn boxes(&self, flame: &FlameAnswer) -> Vec<Placed> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); flame.nodes.len() + 1];
        for (node, parent) in flame.nodes.iter().map(|node| node.parent).enumerate() {
            children[parent.map_or(0, |parent| parent as usize + 1)].push(node);
        }
        let scale = WIDTH / flame.weight.total().max(1) as f64;
        let mut boxes = Vec::new();
        let mut open: Vec<(usize, f64, u32)> = vec![(0, 0.0, 0)];
        while let Some((parent, mut left, row)) = open.pop() {
            let mut below = std::mem::take(&mut children[parent]);
            if self.order == Order::Heavy {
                below.sort_by_key(|node| std::cmp::Reverse(flame.nodes[*node].weight.total()));
            }
            for node in below {
                let width = flame.nodes[node].weight.total() as f64 * scale;
                if width >= LEAST {
                    boxes.push(Placed { node, left, width, row });
                    open.push((node + 1, left, row + 1));
                }
                left += width;
            }
        }
        boxes
    }
}

struct Placed {
    node: usize,
    left: f64,
    width: f64,
    row: u32,
}

struct Drawn<'a> {
    left: f64,
    width: f64,
    row: u32,
    fill: [u8; 3],
    name: &'a str,
    said: String,
}
