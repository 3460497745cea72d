//! Many small copies from one place of the GPU's memory to another, each a launch of its own.
//!
//! Claimed of each event: it is a copy within the device of at most 64 KiB, launched by a call of its own. There must
//! be at least a hundred. The target is one copy for all of an operator or annotation, or none: the launches go away,
//! and with them nine tenths of the time, which is that of starting a copy.
//!
//! Silent where the sizes of copies are not recorded.

use gpuscope_trace::{Arg, Bitmap, Ns, Row, StrId};
use rustc_hash::FxHashMap;

use super::Opportunity;
use super::scene::{Scene, take};
use super::sorts::Sort;
use crate::shared::text;

pub(super) const ID: &str = "tiny_copies";

const FEWEST: usize = 100;
const LARGEST: i64 = 64 << 10;
const LEFT: f32 = 0.1;

pub(super) fn tiny_copies(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    let trace = scene.view.trace;
    let mut rows: Vec<Row> = Vec::new();
    let mut removed_launches: Vec<Row> = Vec::new();
    for event in scene.all().filter(|event| event.sort == Sort::Copy && !taken.has(event.row)) {
        let small = || trace.args.int(event.row, Arg::Bytes).is_some_and(|bytes| bytes <= LARGEST);
        if small()
            && let Some(launch) = scene.own_launch(event.row)
        {
            rows.push(event.row);
            removed_launches.push(launch);
        }
    }
    if rows.len() < FEWEST {
        return Vec::new();
    }
    take(taken, rows.iter().copied());
    let time: Ns = rows.iter().filter_map(|row| trace.dur(*row)).sum();
    let mut operators: FxHashMap<StrId, usize> = FxHashMap::default();
    for name in rows.iter().filter_map(|row| scene.operator(*row)) {
        *operators.entry(name).or_default() += 1;
    }
    let most = operators.iter().max_by_key(|(name, count)| (**count, name.0));
    let evidence = most.map_or_else(String::new, |(name, count)| {
        format!("{count} of them are launched by {}", trace.strings.get(*name))
    });
    vec![Opportunity {
        id: ID,
        title: format!(
            "{} copies within GPU memory move at most 64 KiB each, {} in all",
            rows.len(),
            text::time(time)
        ),
        claim: vec![("events", rows.len() as i64), ("gpu_ns", time.0)],
        target: "a tenth of their time and no launches of their own: one copy for many tensors".to_owned(),
        evidence,
        names: scene.largest(rows.iter().copied()),
        advice: "keep small tensors together (gradient_as_bucket_view=True in DDP, torch._foreach_copy_), or write in place",
        caveat: None,
        confident: false,
        events: rows.iter().map(|row| (*row, LEFT)).collect(),
        removed_launches,
    }]
}
