//! Products whose inner sizes the matrix units do not like.
//!
//! Claimed of each event: its operator is a product of 16-bit or TF32 numbers with N or K no multiple of 8 (of 4 in
//! TF32), takes at least 20 µs, and reaches less than a quarter of its roofline. Rows of such sizes do not begin at
//! multiples of 16 bytes, so that libraries fall back to kernels with narrow loads.
//!
//! The target is the same product with N and K padded to the next multiple, at the share of the roofline that products
//! with aligned sizes reach in this trace, if they take at least a fiftieth of the GPU's time; else at two fifths of it.
//!
//! Silent without argument sizes or without the GPU's peaks.

use gpuscope_trace::{Bitmap, Ns, Row};
use gpuscope_work::{Engine, Precision, Work};
use rustc_hash::FxHashMap;

use super::Opportunity;
use super::scene::{Event, Scene, take};
use super::sorts::Sort;
use crate::shared::text;

pub(super) const ID: &str = "odd_sizes";

const SHORTEST: Ns = Ns(20_000);
const BELOW: f64 = 0.25;
/// By aligned products, where the trace has too few to tell.
const REACHED: f64 = 0.4;
const OF_BUSY: f64 = 0.02;

pub(super) fn odd_sizes(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    if !scene.has_sizes() {
        return Vec::new();
    }
    let mut of_call: FxHashMap<Row, Vec<Event>> = FxHashMap::default();
    let mut aligned: FxHashMap<Row, Vec<Event>> = FxHashMap::default();
    for event in scene.all().filter(|event| event.dur >= SHORTEST && !taken.has(event.row)) {
        if matches!(event.sort, Sort::Products(_) | Sort::Other)
            && let Some(work) = scene.work(*event).filter(|work| alignment(work).is_some())
            && let Some(call) = scene.operator_row(event.row)
        {
            let calls = if padding(&work).is_some() { &mut of_call } else { &mut aligned };
            calls.entry(call).or_default().push(*event);
        }
    }
    if of_call.is_empty() {
        return Vec::new();
    }
    let by_aligned = share(scene, aligned.values());
    let reached = by_aligned.unwrap_or(REACHED);
    let mut events: Vec<(Row, f32)> = Vec::new();
    let mut sizes: FxHashMap<String, Ns> = FxHashMap::default();
    let mut time = Ns::ZERO;
    for kernels in of_call.values() {
        let whole: Ns = kernels.iter().map(|event| event.dur).sum();
        let Some(work) = scene.work(kernels[0]) else { continue };
        let Some((roof, more)) = scene.limits().roof(&work).zip(padding(&work)) else { continue };
        if roof.ns < BELOW * whole.as_f64() {
            let left = (roof.ns * more / reached / whole.as_f64()).min(1.0) as f32;
            events.extend(kernels.iter().map(|event| (event.row, left)));
            *sizes.entry(work.params.to_string()).or_default() += whole;
            time += whole;
        }
    }
    if events.is_empty() {
        return Vec::new();
    }
    events.sort_by_key(|(row, _)| *row);
    take(taken, events.iter().map(|(row, _)| *row));
    let mut sizes: Vec<(Ns, String)> = sizes.into_iter().map(|(sizes, time)| (time, sizes)).collect();
    sizes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let mut names = scene.largest(events.iter().map(|(row, _)| *row));
    names.extend(sizes.iter().take(3).map(|(_, sizes)| sizes.clone()));
    vec![Opportunity {
        id: ID,
        title: format!(
            "{} matrix product kernels with unaligned sizes reach less than {:.0} % of their roofline, {} in all",
            events.len(),
            100.0 * BELOW,
            text::time(time)
        ),
        claim: vec![("events", events.len() as i64), ("gpu_ns", time.0)],
        target: format!(
            "sizes padded to the next multiple, at {:.0} % of the roofline{}",
            100.0 * reached,
            if by_aligned.is_some() { ", as aligned products of this trace reach" } else { "" }
        ),
        evidence: format!("{} different sizes, the largest share of the time in {}", sizes.len(), sizes[0].1),
        names,
        advice: "pad the vocabulary, heads, classes or channels to a multiple of 8, or better 64",
        caveat: Some("a product can be slow for other reasons than its sizes".to_owned()),
        confident: false,
        removed_launches: Vec::new(),
        events,
    }]
}

/// What calls reach of their rooflines together, if they take time enough to tell.
fn share<'e>(scene: &Scene<'_>, calls: impl Iterator<Item = &'e Vec<Event>>) -> Option<f64> {
    let (mut at_best, mut taken) = (0.0, 0.0);
    for kernels in calls {
        let Some(roof) = scene.work(kernels[0]).and_then(|work| scene.limits().roof(&work)) else { continue };
        at_best += roof.ns;
        taken += kernels.iter().map(|event| event.dur.as_f64()).sum::<f64>();
    }
    (taken >= OF_BUSY * scene.busy.as_f64() && taken > 0.0).then(|| (at_best / taken).min(1.0))
}

/// What N and K of a product should be multiples of; absent if it is no such product.
fn alignment(work: &Work) -> Option<i64> {
    match work.precision? {
        Precision::Fp16 | Precision::Bf16 if work.engine == Engine::Matrix => Some(8),
        Precision::Tf32 if work.engine == Engine::Matrix => Some(4),
        _ => None,
    }
}

/// How many times as much there is to do with N and K padded; absent if they are even, or it is no such product.
fn padding(work: &Work) -> Option<f64> {
    let multiple = alignment(work)?;
    let (n, k) = (work.params.get("N")?, work.params.get("K")?);
    let odd = |size: i64| size > multiple && size % multiple != 0;
    let padded = |size: i64| (size as u64).next_multiple_of(multiple as u64) as f64 / size as f64;
    (odd(n) || odd(k)).then(|| padded(n.max(1)) * padded(k.max(1)))
}
