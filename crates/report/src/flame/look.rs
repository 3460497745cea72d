//! What page and picture of a flame graph have in common: names, units and colours.

use gpuscope_analysis::flame::{FlameAnswer, FlameNode, NodeKind, Weight};
use gpuscope_figure::Hue;
use gpuscope_trace::Kind;

use crate::units;

/// What a box stands for, as far as its colour goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Whole,
    Thread,
    Annotation,
    Frame,
    Module,
    Operator,
    Backward,
    Call,
    Unlinked,
    Compute,
    Communication,
    Copy,
    Memset,
}

impl Tone {
    pub(super) const ALL: [Tone; 13] = [
        Tone::Whole,
        Tone::Thread,
        Tone::Annotation,
        Tone::Frame,
        Tone::Module,
        Tone::Operator,
        Tone::Backward,
        Tone::Call,
        Tone::Unlinked,
        Tone::Compute,
        Tone::Communication,
        Tone::Copy,
        Tone::Memset,
    ];

    pub(super) fn of(node: &FlameNode) -> Tone {
        match (node.kind, node.work) {
            (NodeKind::Kernel, Some(Kind::Communication)) => Tone::Communication,
            (NodeKind::Kernel, Some(Kind::Memcpy)) => Tone::Copy,
            (NodeKind::Kernel, Some(Kind::Memset)) => Tone::Memset,
            (NodeKind::Kernel, _) => Tone::Compute,
            (NodeKind::Thread, _) => Tone::Thread,
            (NodeKind::Annotation, _) => Tone::Annotation,
            (NodeKind::Frame, _) => Tone::Frame,
            (NodeKind::Module, _) => Tone::Module,
            (NodeKind::Operator | NodeKind::Shapes, _) => Tone::Operator,
            (NodeKind::Backward, _) => Tone::Backward,
            (NodeKind::Call, _) => Tone::Call,
            (NodeKind::Unlinked, _) => Tone::Unlinked,
        }
    }

    /// As the page says it.
    pub(super) fn label(self) -> &'static str {
        match self {
            Tone::Whole => "all",
            Tone::Thread => "thread",
            Tone::Annotation => "annotation",
            Tone::Frame => "Python frame",
            Tone::Module => "module",
            Tone::Operator => "operator",
            Tone::Backward => "backward",
            Tone::Call => "runtime call",
            Tone::Unlinked => "without a launch",
            Tone::Compute => "compute",
            Tone::Communication => "communication",
            Tone::Copy => "copy",
            Tone::Memset => "memset",
        }
    }

    /// The colour with a meaning, if it has one.
    fn meaning(self) -> Option<Hue> {
        match self {
            Tone::Compute => Some(Hue::Compute),
            Tone::Communication => Some(Hue::Communication),
            Tone::Copy => Some(Hue::Copy),
            Tone::Memset => Some(Hue::Memset),
            _ => None,
        }
    }
}

/// Quiet colours for names that have no meaning of their own, as in `web/lib/colors.js`.
const TINTS: [[u8; 3]; 8] = [
    [0x8F, 0xA3, 0xBF],
    [0xA7, 0xB8, 0xA0],
    [0xC2, 0xA9, 0x8F],
    [0xA9, 0x9B, 0xC0],
    [0x9D, 0xB8, 0xB5],
    [0xBF, 0xA3, 0xA8],
    [0xB5, 0xB0, 0x8E],
    [0x98, 0xA6, 0xB8],
];
const HEAVIER: Hue = Hue::Critical;
const LIGHTER: Hue = Hue::Compute;
const EQUAL: Hue = Hue::Idle;
/// What changes are mixed from.
const PALE: u8 = 214;
/// A smaller change, as a share, is none.
const LEAST_CHANGE: f64 = 0.01;

pub(super) fn color(node: &FlameNode) -> [u8; 3] {
    if let Some(before) = node.before {
        return changed(before.total(), node.weight.total());
    }
    Tone::of(node).meaning().map_or_else(|| tint(&node.name), rgb)
}

/// Towards orange for what became heavier, towards blue for what became lighter.
fn changed(before: i64, now: i64) -> [u8; 3] {
    let most = before.max(now);
    let change = if most > 0 { (now - before) as f64 / most as f64 } else { 0.0 };
    let towards = if change > LEAST_CHANGE {
        HEAVIER
    } else if change < -LEAST_CHANGE {
        LIGHTER
    } else {
        return rgb(EQUAL);
    };
    let share = (0.25 + change.abs() * 0.75).min(1.0);
    rgb(towards).map(|full| (f64::from(PALE) + (f64::from(full) - f64::from(PALE)) * share).round() as u8)
}

/// Of the box around all others.
pub(super) fn whole() -> [u8; 3] {
    rgb(EQUAL)
}

/// Red, green and blue.
fn rgb(hue: Hue) -> [u8; 3] {
    let digits = u32::from_str_radix(hue.hex().trim_start_matches('#'), 16).unwrap_or_default();
    let [_, red, green, blue] = digits.to_be_bytes();
    [red, green, blue]
}

/// The same name always has the same colour.
fn tint(name: &str) -> [u8; 3] {
    let hash =
        name.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    TINTS[hash.unsigned_abs() as usize % TINTS.len()]
}

/// White or black, whichever can be read on a colour.
pub(super) fn ink([red, green, blue]: [u8; 3]) -> &'static str {
    let light = f64::from(red) * 0.3 + f64::from(green) * 0.59 + f64::from(blue) * 0.11;
    if light < 130.0 { "#ffffff" } else { "#14181d" }
}

pub(super) fn unit(by: Weight) -> &'static str {
    if by == Weight::Bytes { "bytes" } else { "ns" }
}

pub(super) fn said(value: i64, by: Weight) -> String {
    if by == Weight::Bytes { units::bytes(value) } else { units::duration(value) }
}

/// What the box around all others is called.
pub(super) fn root(flame: &FlameAnswer) -> String {
    let what = match flame.by {
        Weight::Gpu => "all GPU work",
        Weight::Host => "all host work",
        Weight::Bytes => "all bytes moved",
    };
    what.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_and_pages_have_the_same_colours() {
        let page = include_str!("../../../../web/lib/colors.js");
        let tints = TINTS.map(|[red, green, blue]| format!("#{red:02X}{green:02X}{blue:02X}"));
        assert!(page.contains(&format!("[\"{}\"]", tints.join("\", \""))), "{tints:?}");
        for hue in Hue::MEANINGFUL {
            assert!(page.contains(hue.hex()), "{}", hue.hex());
        }
        // What `tint` of the page says of these names.
        assert_eq!(
            [tint("aten::mm"), tint("cudaLaunchKernel"), tint("größe 😀")],
            [[0x9D, 0xB8, 0xB5], [0x98, 0xA6, 0xB8], [0xC2, 0xA9, 0x8F]]
        );
    }
}
