//! Images that are rearranged between channels first and channels last for a convolution, and back.
//!
//! Claimed of each event: its kernel's name says that it does nothing else (`nchwToNhwc`, `batched_transpose`). The
//! target is none of them: a model that keeps its tensors channels last throughout. Weights may still be rearranged,
//! so that a tenth is left.
//!
//! Silent below ten of them: one at either end of a model is as it should be.

use gpuscope_trace::{Bitmap, Ns, Row};

use super::Opportunity;
use super::scene::{Event, Scene, take};
use super::sorts::Sort;
use crate::shared::text;

pub(super) const ID: &str = "layout_conversions";

const FEWEST: usize = 10;
const LEFT: f32 = 0.1;

pub(super) fn layout_conversions(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    let events: Vec<&Event> =
        scene.all().filter(|event| event.sort == Sort::Layout && !taken.has(event.row)).collect();
    if events.len() < FEWEST {
        return Vec::new();
    }
    let rows = || events.iter().map(|event| event.row);
    take(taken, rows());
    let time: Ns = events.iter().map(|event| event.dur).sum();
    let removed_launches: Vec<Row> = rows().filter_map(|row| scene.own_launch(row)).collect();
    vec![Opportunity {
        id: ID,
        title: format!(
            "{} kernels only convert between channels-first and channels-last layouts, {} in all",
            events.len(),
            text::time(time)
        ),
        claim: vec![("events", events.len() as i64), ("gpu_ns", time.0)],
        target: "a tenth of their time: channels last throughout, with only the weights still converted"
            .to_owned(),
        evidence: format!("{:.1} % of GPU time", time.pct_of(scene.busy)),
        names: scene.largest(rows()),
        advice: "use model.to(memory_format=torch.channels_last), and the same for the input",
        caveat: Some("every operator between the convolutions has to support channels last".to_owned()),
        confident: true,
        events: rows().map(|row| (row, LEFT)).collect(),
        removed_launches,
    }]
}
