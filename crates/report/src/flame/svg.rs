//! A flame graph as a picture for documents: every box that can be seen, its whole name and weight as a tooltip.

use std::fmt::Write as _;
use std::io::{self, Write};

use gpuscope_analysis::flame::FlameNode;

use super::look::{self, Tone};
use super::{Direction, FlameGraph, Order};
use crate::chart::svg::Dress;
use crate::fonts::{self, width_of};
use crate::html::escaped;
use crate::{names, pdf, png, text};

const ROW: f64 = 18.0;
const HEAD: f64 = 34.0;
const MARGIN: f64 = 10.0;
const LETTERS: f64 = 11.0;
/// Narrower boxes cannot be seen.
const LEAST: f64 = 0.3;
/// A file by itself is as wide as a screen.
const FILE: Dress = Dress { width: 1220.0, ..Dress::FILE };

impl FlameGraph<'_> {
    pub fn write_svg(&self, mut out: impl Write) -> io::Result<()> {
        out.write_all(self.svg(&FILE).0.as_bytes())
    }

    pub fn write_png(&self, out: impl Write) -> io::Result<()> {
        png::write_svg(&self.svg(&FILE).0, out)
    }

    pub fn write_pdf(&self, out: impl Write) -> io::Result<()> {
        pdf::write_svg(&self.svg(&FILE).0, &format!("{} · flame graph", self.title), out)
    }

    /// The picture, and how high it is.
    pub(crate) fn svg(&self, dress: &Dress) -> (String, f64) {
        let flame = self.answer;
        let room = dress.width - 2.0 * MARGIN;
        let boxes = self.boxes(room);
        let rows = boxes.iter().map(|placed| placed.row + 1).max().unwrap_or(0) + 1;
        let head = if dress.titled { HEAD } else { MARGIN };
        let (width, height) = (dress.width, head + f64::from(rows) * ROW + MARGIN);
        let whole = look::said(flame.weight.total(), flame.by);
        let heading = format!("{} · {} · {whole}", text::one_line(self.title), look::root(flame));
        let mut svg = String::new();
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"{}, system-ui, sans-serif\" font-size=\"{LETTERS}\" role=\"img\">\n\
             <title>{}</title>\n",
            fonts::FAMILY,
            escaped(&heading)
        );
        if let Some(background) = dress.background {
            let _ = writeln!(svg, "<rect width=\"100%\" height=\"100%\" fill=\"{background}\"/>");
        }
        if dress.titled {
            let heading = names::fitted_to(&heading, room, |text| width_of(text, 14.0));
            let _ = writeln!(
                svg,
                "<text x=\"{MARGIN}\" y=\"22\" font-size=\"14\" fill=\"{}\">{}</text>",
                dress.ink,
                escaped(&heading)
            );
        }
        let all = look::root(flame);
        let all = Drawn { left: 0.0, width: room, row: 0, fill: look::whole(), name: &all, said: whole };
        let below = boxes.iter().map(|placed| self.drawn(placed, &flame.nodes[placed.node]));
        for drawn in std::iter::once(all).chain(below) {
            let row = match self.direction {
                Direction::Icicle => drawn.row,
                Direction::Flame => rows - 1 - drawn.row,
            };
            drawn.write(head + f64::from(row) * ROW, &mut svg);
        }
        svg.push_str("</svg>\n");
        (svg, height)
    }

    fn drawn<'a>(&self, placed: &Placed, node: &'a FlameNode) -> Drawn<'a> {
        let by = self.answer.by;
        let total = node.weight.total();
        let share = total as f64 / self.answer.weight.total().max(1) as f64 * 100.0;
        let before = node.before.map(|before| format!(", {} before", look::said(before.total(), by)));
        let said = format!(
            "{} ({share:.1} %){}, {}",
            look::said(total, by),
            before.unwrap_or_default(),
            Tone::of(node).label()
        );
        Drawn {
            left: placed.left,
            width: placed.width,
            row: placed.row + 1,
            fill: look::color(node),
            name: &node.name,
            said,
        }
    }

    /// Boxes that can be seen, each after the one that it is below.
    fn boxes(&self, room: f64) -> Vec<Placed> {
        let flame = self.answer;
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); flame.nodes.len() + 1];
        for (node, parent) in flame.nodes.iter().map(|node| node.parent).enumerate() {
            children[parent.map_or(0, |parent| parent as usize + 1)].push(node);
        }
        let scale = room / flame.weight.total().max(1) as f64;
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

impl Drawn<'_> {
    fn write(&self, y: f64, svg: &mut String) {
        let x = MARGIN + self.left;
        let [red, green, blue] = self.fill;
        let _ = write!(
            svg,
            "<g><title>{}: {}</title><rect x=\"{x:.2}\" y=\"{y}\" width=\"{:.2}\" height=\"{}\" \
             fill=\"#{red:02x}{green:02x}{blue:02x}\"/>",
            escaped(self.name),
            escaped(&self.said),
            (self.width - 0.5).max(LEAST),
            ROW - 1.0
        );
        let name = names::fitted_to(self.name.trim_start_matches("nn.Module: "), self.width - 8.0, |text| {
            width_of(text, LETTERS)
        });
        // A few letters and dots say nothing.
        let says = text::width(&name) >= 6 || name.len() == self.name.len();
        if says && width_of(&name, LETTERS) <= self.width - 8.0 {
            let _ = write!(
                svg,
                "<text x=\"{:.2}\" y=\"{}\" fill=\"{}\">{}</text>",
                x + 4.0,
                y + 12.5,
                look::ink(self.fill),
                escaped(&name)
            );
        }
        svg.push_str("</g>\n");
    }
}
