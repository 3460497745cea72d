//! What `DistributedDataParallel` copies although it need not.
//!
//! *Gradients.* Claimed of each event: it was launched inside of `copy_bucket_to_grad`, which copies a gradient back
//! from the bucket that was reduced. The target is none of it: gradients may be views of their buckets.
//!
//! *Buffers.* At the start of every forward pass DDP broadcasts the model's buffers, the running statistics of batch
//! norms above all. Claimed of each event: it copies or joins (`aten::copy_`, `aten::cat`) straight under
//! `DistributedDataParallel.forward` in a trace with broadcasts, or under a frame of the broadcast. The target is none
//! of it; the broadcasts themselves are not counted, because a collective's time is also that of waiting.

use gpuscope_trace::{Bitmap, Class, Kind, Ns, Row};

use super::Opportunity;
use super::scene::{Event, PerName, Scene, take};
use crate::shared::owner::{Among, Owners};
use crate::shared::text;

pub(super) const GRADIENT_COPIES: &str = "ddp_gradient_copies";
pub(super) const BUFFER_BROADCASTS: &str = "ddp_buffer_broadcasts";

const TO_GRADIENTS: &str = "torch.distributed.ddp.reducer::copy_bucket_to_grad";
const FORWARD: &str = "DistributedDataParallel.forward";

pub(super) fn gradient_copies(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    let trace = scene.view.trace;
    let Some(name) = trace.strings.lookup(TO_GRADIENTS) else { return Vec::new() };
    let mut owners = Owners::new(scene.view.index.nesting(trace), trace.len(), Among::Innermost, |row| {
        trace.name_id(row) == name
    });
    let launched = |event: &&Event| {
        let launch = scene.view.launch(event.row);
        event.kind != Kind::Communication && launch.is_some_and(|launch| owners.of(launch).is_some())
    };
    let events: Vec<Event> = scene.all().filter(launched).copied().collect();
    let told = Told {
        id: GRADIENT_COPIES,
        what: "copies move gradients back out of DDP's buckets",
        target: "none of them: gradients that are views of their buckets",
        evidence: "launched by copy_bucket_to_grad",
        advice: "pass gradient_as_bucket_view=True to DistributedDataParallel",
        caveat: None,
    };
    told.report(scene, taken, &events).into_iter().collect()
}

pub(super) fn buffer_broadcasts(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    let trace = scene.view.trace;
    let forward = trace.strings.lookup(FORWARD);
    if forward.is_none() && !has_broadcasts(scene) {
        return Vec::new();
    }
    let nesting = scene.view.index.nesting(trace);
    let mut copies = PerName::new(scene.view, |name| matches!(name, "aten::copy_" | "aten::cat"));
    let mut frames = PerName::new(scene.view, |name| name.contains("_broadcast_coalesced"));
    let broadcasts = std::cell::LazyCell::new(|| has_broadcasts(scene));
    let mut under = |event: &Event| {
        let operator = nesting.parent(scene.view.launch(event.row)?)?;
        let around = nesting.parent(operator)?;
        let name = trace.name_id(around);
        let is_copy = trace.class(operator) == Class::Operator && copies.of(trace.name_id(operator));
        Some(is_copy && (frames.of(name) || (Some(name) == forward && *broadcasts)))
    };
    let is_one = |event: &&Event| event.kind != Kind::Communication && under(event) == Some(true);
    let events: Vec<Event> = scene.all().filter(is_one).copied().collect();
    let told = Told {
        id: BUFFER_BROADCASTS,
        what: "copies serve DDP's broadcast of buffers before each forward pass",
        target: "none of them: buffers that stay each rank's own",
        evidence: "launched directly by DistributedDataParallel.forward or _broadcast_coalesced",
        advice: "pass broadcast_buffers=False to DistributedDataParallel, with SyncBatchNorm if statistics must agree",
        caveat: Some("the running statistics of batch norms then differ from rank to rank"),
    };
    told.report(scene, taken, &events).into_iter().collect()
}

/// Whether any kernel or call is a broadcast, by its name.
fn has_broadcasts(scene: &Scene<'_>) -> bool {
    scene
        .view
        .trace
        .strings
        .iter()
        .any(|(_, name)| name.contains("roadcast") && !name.contains("aten::broadcast"))
}

struct Told {
    id: &'static str,
    what: &'static str,
    target: &'static str,
    evidence: &'static str,
    advice: &'static str,
    caveat: Option<&'static str>,
}

/// Fewer copies are no habit.
const FEWEST: usize = 10;

impl Told {
    fn report(&self, scene: &Scene<'_>, taken: &mut Bitmap, events: &[Event]) -> Option<Opportunity> {
        if events.len() < FEWEST {
            return None;
        }
        let rows = || events.iter().map(|event| event.row);
        take(taken, rows());
        let time: Ns = events.iter().map(|event| event.dur).sum();
        let removed_launches: Vec<Row> = rows().filter_map(|row| scene.own_launch(row)).collect();
        Some(Opportunity {
            id: self.id,
            title: format!("{} {}, {} in all", events.len(), self.what, text::time(time)),
            claim: vec![("events", events.len() as i64), ("gpu_ns", time.0)],
            target: self.target.to_owned(),
            evidence: self.evidence.to_owned(),
            names: scene.largest(rows()),
            advice: self.advice,
            caveat: self.caveat.map(str::to_owned),
            confident: true,
            events: rows().map(|row| (row, 0.0)).collect(),
            removed_launches,
        })
    }
}
