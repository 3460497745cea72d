//! Tensors that are copied only to have their elements in another order.
//!
//! Claimed of each event: `aten::contiguous` or `aten::reshape` made the copy (`aten::clone`, `aten::copy_`) that
//! launched it, or its kernel's name says that it transposes and does nothing else. Conversions between channels first
//! and channels last are another finding; so is what could be fused with its neighbours.
//!
//! The target is half of their time: some operators need their operands as they are, but many take strides, and the
//! order that a model keeps its tensors in is its own choice.
//!
//! Silent below ten of them. Copies in a trace without operators are no transposes by their name.

use gpuscope_trace::{Bitmap, Class, Ns, Row, StrId};
use rustc_hash::FxHashMap;

use super::Opportunity;
use super::scene::{Event, Scene, take};
use super::sorts::Sort;
use crate::shared::text;

pub(super) const ID: &str = "transposing_copies";

const FEWEST: usize = 10;
const LEFT: f32 = 0.5;

pub(super) fn transposing_copies(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    let trace = scene.view.trace;
    let [copy, clone, contiguous, reshape] =
        ["aten::copy_", "aten::clone", "aten::contiguous", "aten::reshape"]
            .map(|name| trace.strings.lookup(name));
    let nesting = scene.view.index.nesting(trace);
    let around = |row: Row| {
        let parent = nesting.parent(row).filter(|parent| trace.class(*parent) == Class::Operator)?;
        Some((parent, Some(trace.name_id(parent))))
    };
    // Its copy is part of a clone, and that of what asked for it.
    let asked_by = |event: &Event| {
        let row = scene.operator_row(event.row).filter(|row| Some(trace.name_id(*row)) == copy)?;
        let (row, _) = around(row).filter(|(_, name)| *name == clone)?;
        around(row)?.1.filter(|name| [contiguous, reshape].contains(&Some(*name)))
    };
    let may_be_asked = copy.is_some() && clone.is_some();
    let mut events: Vec<Event> = Vec::new();
    let mut askers: FxHashMap<StrId, usize> = FxHashMap::default();
    for event in scene.all().filter(|event| !taken.has(event.row)) {
        match event.sort {
            Sort::Transpose => events.push(*event),
            Sort::Elementwise | Sort::Copy if may_be_asked => {
                let Some(asker) = asked_by(event) else { continue };
                *askers.entry(asker).or_default() += 1;
                events.push(*event);
            }
            _ => {}
        }
    }
    if events.len() < FEWEST {
        return Vec::new();
    }
    let rows = || events.iter().map(|event| event.row);
    take(taken, rows());
    vec![report(scene, &events, &askers)]
}

fn report(scene: &Scene<'_>, events: &[Event], askers: &FxHashMap<StrId, usize>) -> Opportunity {
    let rows = || events.iter().map(|event| event.row);
    let time: Ns = events.iter().map(|event| event.dur).sum();
    let mut asked: Vec<(usize, &str)> =
        askers.iter().map(|(name, count)| (*count, scene.view.trace.strings.get(*name))).collect();
    asked.sort_by(|a, b| b.cmp(a));
    let named = events.iter().filter(|event| event.sort == Sort::Transpose).count();
    let by_name = (named > 0).then(|| format!("{named} by kernels that only transpose"));
    let reasons: Vec<String> =
        asked.iter().map(|(count, name)| format!("{count} for {name}")).chain(by_name).collect();
    Opportunity {
        id: ID,
        title: format!(
            "{} copies only bring tensors into another order, {} in all",
            events.len(),
            text::time(time)
        ),
        claim: vec![("events", events.len() as i64), ("gpu_ns", time.0)],
        target: "half of their time: every second copy is avoided".to_owned(),
        evidence: format!("{:.1} % of GPU time; {}", time.pct_of(scene.busy), reasons.join(", ")),
        names: scene.largest(rows()),
        advice: "keep tensors in the order that the next operator reads, and drop .contiguous() where it takes strides, as scaled_dot_product_attention and matmul do",
        caveat: Some("some operators need contiguous operands".to_owned()),
        confident: false,
        events: rows().map(|row| (row, LEFT)).collect(),
        removed_launches: Vec::new(),
    }
}
