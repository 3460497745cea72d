//! Many small collectives, each of which takes as long as it takes to start one.
//!
//! Claimed of each event: it is a collective of one sort in one group, with a message of at most 64 KiB by what the
//! trace says of it. There must be at least fifty of that sort. The target is a tenth of them, joined into larger ones.
//!
//! Silent where the trace does not say how large a collective is.

use gpuscope_trace::{Bitmap, Kind, Ns, Row};
use rustc_hash::FxHashMap;

use super::Opportunity;
use super::scene::{Scene, take};
use crate::collectives::{Op, RankParts, Sort, element_bytes};
use crate::shared::text;

pub(super) const ID: &str = "tiny_collectives";

const FEWEST: usize = 50;
const LARGEST: i64 = 64 << 10;
const LEFT: f32 = 0.1;

pub(super) fn tiny_collectives(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    let parts = RankParts::of(0, scene.view);
    // Parts are these events, in this order.
    let communication = scene.view.gpu().filter(|event| event.kind == Kind::Communication);
    let mut alike: FxHashMap<(u32, Op), (&str, Vec<Row>, Ns)> = FxHashMap::default();
    for (event, sort) in communication.zip(&parts.sort) {
        let sort = &parts.sorts[*sort as usize];
        if bytes(sort).is_some_and(|bytes| bytes <= LARGEST) && !sort.op.is_point_to_point() {
            let (_, rows, time) =
                alike.entry((sort.group, sort.op)).or_insert_with(|| (&sort.name, Vec::new(), Ns::ZERO));
            rows.push(event.row);
            *time += event.dur();
        }
    }
    let mut found: Vec<Opportunity> = alike
        .into_iter()
        .filter(|(_, (_, rows, _))| rows.len() >= FEWEST)
        .map(|(_, (name, rows, time))| {
            take(taken, rows.iter().copied());
            report(scene, name, &rows, time)
        })
        .collect();
    found.sort_by(|a, b| a.title.cmp(&b.title));
    found
}

fn bytes(sort: &Sort) -> Option<i64> {
    let elements = sort.op.message(sort.in_elements, sort.out_elements)?;
    elements.checked_mul(element_bytes(sort.dtype.as_deref()?)?)
}

fn report(scene: &Scene<'_>, name: &str, rows: &[Row], time: Ns) -> Opportunity {
    Opportunity {
        id: ID,
        title: format!(
            "{} collectives ({name}) carry at most 64 KiB each, {} in all",
            rows.len(),
            text::time(time)
        ),
        claim: vec![("events", rows.len() as i64), ("gpu_ns", time.0)],
        target: "a tenth of their time, merged into larger ones".to_owned(),
        evidence: format!("{} each on average", text::time(Ns(time.0 / rows.len().max(1) as i64))),
        names: scene.largest(rows.iter().copied()),
        advice: "merge small tensors before sending them (larger buckets, torch.distributed's coalescing manager)",
        caveat: Some("part of a collective's time may be waiting for other ranks".to_owned()),
        confident: false,
        events: rows.iter().map(|row| (*row, LEFT)).collect(),
        removed_launches: Vec::new(),
    }
}
