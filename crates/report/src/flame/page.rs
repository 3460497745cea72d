//! The page of a flame graph: the boxes as columns, deflated inside one HTML file, and the script that draws them.

use std::collections::HashMap;
use std::io::{self, Write};

use gpuscope_analysis::flame::{FlameAnswer, FlameNode, Paths, Weighed, Weight};
use serde_json::json;

use super::look::{self, Tone};
use super::{Direction, FlameGraph, Order};
use crate::html::escaped;
use crate::packing::Columns;
use crate::page_shell::{Embedded, Script, Shell, packed};

const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/flame.js"));
pub(crate) const STYLE: &str = include_str!("page.css");
const BODY: &str = include_str!("page.html");

impl FlameGraph<'_> {
    pub fn write_page(&self, out: impl Write) -> io::Result<()> {
        let Embedded { body, data } = self.embedded();
        let shell = Shell {
            title: format!("{} · flame graph", self.title),
            style: STYLE.to_owned(),
            body,
            data: vec![data],
            scripts: vec![Script(SCRIPT)],
            inflated: Vec::new(),
        };
        shell.write(out)
    }

    /// Inside a page, which adds [`STYLE`] and a script that opens it.
    pub(crate) fn embedded(&self) -> Embedded {
        let body = BODY
            .replace("{what}", &escaped(&what(self.answer)))
            .replace("{empty}", &empty(self.answer))
            .replace("{compared}", if self.answer.before.is_some() { "" } else { " hidden" })
            .replace("{title}", &escaped(self.title));
        Embedded { body, data: ("flame-data", packed(&self.encode())) }
    }

    /// The length of a header, the header as JSON, and columns of whole numbers; `web/flame/tree.js` reads it.
    fn encode(&self) -> Vec<u8> {
        let flame = self.answer;
        let mut numbers: HashMap<&str, u64> = HashMap::new();
        let mut names = vec![look::root(flame)];
        for node in &flame.nodes {
            numbers.entry(&node.name).or_insert_with(|| {
                names.push(node.name.clone());
                names.len() as u64 - 1
            });
        }
        let header = json!({
            "nodes": flame.nodes.len() + 1, "names": names, "unit": look::unit(flame.by),
            "kinds": Tone::ALL.map(Tone::label), "compared": flame.before.is_some(),
            "upwards": self.direction == Direction::Flame, "heavy": self.order == Order::Heavy,
        });
        let mut columns = Columns::after(&header);
        // The root is the first node.
        let all = |columns: &mut Columns, root: i64, of: &dyn Fn(usize, &FlameNode) -> i64| {
            columns.put(root.max(0) as u64);
            for (place, node) in flame.nodes.iter().enumerate() {
                columns.put(of(place + 1, node).max(0) as u64);
            }
        };
        all(&mut columns, 0, &|_, node| numbers[node.name.as_str()] as i64);
        all(&mut columns, 0, &|place, node| {
            let parent = node.parent.map_or(0, |parent| parent as usize + 1);
            (place - parent) as i64
        });
        all(&mut columns, Tone::Whole as i64, &|_, node| Tone::of(node) as i64);
        all(&mut columns, 1, &|_, node| i64::try_from(node.count).unwrap_or(i64::MAX));
        all(&mut columns, flame.weight.own(), &|_, node| node.weight.own());
        if let Some(before) = flame.before {
            all(&mut columns, before.own(), &|_, node| node.before.map_or(0, Weighed::own));
        }
        columns.bytes
    }
}

/// Why there is nothing to see.
fn empty(flame: &FlameAnswer) -> String {
    if !flame.nodes.is_empty() {
        return String::new();
    }
    let why = match flame.by {
        Weight::Gpu => "There is no GPU work in these traces; --by host draws the time of the host.",
        Weight::Host => "There is no host activity in these traces; profile with activities CPU and CUDA.",
        Weight::Bytes => "Nothing was copied or set in these traces.",
    };
    format!("<b class=\"warning\">{}</b>", escaped(why))
}

/// What widths and boxes mean, in words.
fn what(flame: &FlameAnswer) -> String {
    let weight = match flame.by {
        Weight::Gpu => "time on the GPU",
        Weight::Host => "time on the host",
        Weight::Bytes => "bytes that copies and sets moved",
    };
    let paths = match flame.paths {
        Paths::Python => "Python stacks",
        Paths::Modules => "modules",
        Paths::Operators => "operators",
    };
    let whole = look::said(flame.weight.total(), flame.by);
    format!("Width is {weight}, {whole} in all; boxes are {paths} and what they called.")
}
