//! Large matrix products that do worse than others of the same trace.
//!
//! Claimed of each event: its operator is a matrix product that its peak limits, not memory; its kernels take at least
//! 100 µs and reach less than half of its roofline, and less than four fifths of what the best product of the trace
//! reaches; so do all calls with its arguments together. That best is of calls with the same arguments which together
//! take at least a fiftieth of the GPU's time. There must be at least eight such kernels.
//!
//! The target is the share of the best: the same library on the same GPU has done it.
//!
//! Silent without argument sizes or without the GPU's peaks, and if products are alike.

use gpuscope_trace::{Bitmap, Ns, Row};
use gpuscope_work::Engine;
use rustc_hash::FxHashMap;

use super::Opportunity;
use super::scene::{Event, Scene, take};
use super::sorts::Sort;
use crate::ops::Bound;
use crate::shared::text;

pub(super) const ID: &str = "slow_products";

const SHORTEST: Ns = Ns(100_000);
const BELOW: f64 = 0.5;
const BELOW_BEST: f64 = 0.8;
const OF_BUSY: f64 = 0.02;
const FEWEST: usize = 8;

/// One call of a product, by its kernels.
struct Product {
    kernels: Vec<Event>,
    kind: u32,
    time: f64,
    roof: f64,
}

pub(super) fn slow_products(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    if !scene.has_sizes() {
        return Vec::new();
    }
    let products = of_calls(scene, taken);
    let kinds = of_kinds(&products);
    let large = kinds.values().filter(|(_, time)| *time >= OF_BUSY * scene.busy.as_f64());
    let Some(best) = large.map(|(roof, time)| (roof / time).min(1.0)).max_by(f64::total_cmp) else {
        return Vec::new();
    };
    let most = (best * BELOW_BEST).min(BELOW);
    let is_slow = |roof: f64, time: f64| roof < most * time;
    let slow: Vec<&Product> = products
        .iter()
        .filter(|product| is_slow(product.roof, product.time))
        .filter(|product| kinds.get(&product.kind).is_some_and(|(roof, time)| is_slow(*roof, *time)))
        .collect();
    let left = |product: &Product| (product.roof / product.time / best).min(1.0) as f32;
    let mut events: Vec<(Row, f32)> = slow
        .iter()
        .flat_map(|product| product.kernels.iter().map(|event| (event.row, left(product))))
        .collect();
    let Some(largest) = slow.iter().max_by(|a, b| a.time.total_cmp(&b.time)) else { return Vec::new() };
    if events.len() < FEWEST {
        return Vec::new();
    }
    events.sort_by_key(|(row, _)| *row);
    take(taken, events.iter().map(|(row, _)| *row));
    let time: Ns = events.iter().filter_map(|(row, _)| scene.view.trace.dur(*row)).sum();
    let mut names = scene.largest(events.iter().map(|(row, _)| *row));
    let sizes = scene.work(largest.kernels[0]).map(|work| work.params.to_string());
    names.extend(sizes.clone());
    let sizes = sizes.map_or_else(String::new, |sizes| format!(" ({sizes})"));
    let percent = |share: f64| (100.0 * share).round() as i64;
    vec![Opportunity {
        id: ID,
        title: format!(
            "{} matrix product kernels reach less than {} % of their roofline, the best of this trace {} %; {} in all",
            events.len(),
            (100.0 * most).ceil() as i64,
            percent(best),
            text::time(time)
        ),
        claim: vec![("events", events.len() as i64), ("best_pct", percent(best)), ("gpu_ns", time.0)],
        target: format!("{} % of the roofline, like the best product of this trace", percent(best)),
        evidence: format!("the longest of them{sizes} reaches {} %", percent(largest.roof / largest.time)),
        names,
        advice: "let the library tune which kernels it picks: TunableOp, hipBLASLt tuning, or mode=\"max-autotune\" in torch.compile",
        caveat: Some("products of other sizes may not be able to reach as much".to_owned()),
        confident: false,
        removed_launches: Vec::new(),
        events,
    }]
}

fn of_calls(scene: &Scene<'_>, taken: &Bitmap) -> Vec<Product> {
    let mut of_call: FxHashMap<Row, Vec<Event>> = FxHashMap::default();
    for event in scene.all().filter(|event| event.dur >= SHORTEST && !taken.has(event.row)) {
        let computes = matches!(event.sort, Sort::Products(_) | Sort::Other);
        if let Some(call) = scene.operator_row(event.row).filter(|_| computes) {
            of_call.entry(call).or_default().push(*event);
        }
    }
    let product = |kernels: Vec<Event>| {
        let work = scene.work(kernels[0]).filter(|work| work.engine == Engine::Matrix)?;
        work.params.get("K")?;
        let roof = scene.limits().roof(&work).filter(|roof| roof.bound == Bound::Compute)?;
        let time: Ns = kernels.iter().map(|event| event.dur).sum();
        Some(Product { kind: scene.kind(kernels[0])?, time: time.as_f64(), roof: roof.ns, kernels })
    };
    of_call.into_values().filter_map(product).collect()
}

/// Time at best and time taken, of calls with the same arguments together.
fn of_kinds(products: &[Product]) -> FxHashMap<u32, (f64, f64)> {
    let mut kinds: FxHashMap<u32, (f64, f64)> = FxHashMap::default();
    for product in products {
        let sum = kinds.entry(product.kind).or_default();
        *sum = (sum.0 + product.roof, sum.1 + product.time);
    }
    kinds
}
