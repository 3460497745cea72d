//! Matrix products with so few rows or columns that they only read a matrix once, and do so slowly.
//!
//! Claimed of each event: its operator is a product with M or N of at most 64, memory limits it and not the matrix
//! units, it takes at least 20 µs, and the kernels of its call reach less than half of the memory's bandwidth. There
//! must be at least eight such kernels.
//!
//! The target is 70 % of the bandwidth, which kernels made for such sizes reach.
//!
//! Silent without argument sizes or without the GPU's bandwidth.

use gpuscope_trace::{Bitmap, Ns, Row};
use gpuscope_work::{Engine, Work};
use rustc_hash::FxHashMap;

use super::Opportunity;
use super::scene::{Event, Scene, take};
use super::sorts::Sort;
use crate::ops::Bound;
use crate::shared::text;

pub(super) const ID: &str = "skinny_products";

const FEWEST: usize = 8;
const SHORTEST: Ns = Ns(20_000);
const NARROW: i64 = 64;
const BELOW: f64 = 0.5;
const REACHED: f64 = 0.7;

pub(super) fn skinny_products(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    if !scene.has_sizes() {
        return Vec::new();
    }
    let mut of_call: FxHashMap<Row, Vec<Event>> = FxHashMap::default();
    for event in scene.all().filter(|event| event.dur >= SHORTEST && !taken.has(event.row)) {
        if matches!(event.sort, Sort::Products(_) | Sort::Other)
            && scene.work(*event).is_some_and(|work| is_skinny(&work))
            && let Some(call) = scene.operator_row(event.row)
        {
            of_call.entry(call).or_default().push(*event);
        }
    }
    let mut found = Found::default();
    for kernels in of_call.values() {
        found.add(scene, kernels);
    }
    if found.events.len() < FEWEST {
        return Vec::new();
    }
    found.events.sort_by_key(|(row, _)| *row);
    take(taken, found.events.iter().map(|(row, _)| *row));
    vec![found.report(scene)]
}

fn is_skinny(work: &Work) -> bool {
    let size = |name| work.params.get(name);
    let narrow = size("M").zip(size("N")).is_some_and(|(m, n)| m.min(n) <= NARROW);
    work.engine == Engine::Matrix && narrow && size("K").is_some()
}

#[derive(Default)]
struct Found {
    events: Vec<(Row, f32)>,
    /// Time taken and time at best, by sizes.
    sizes: FxHashMap<String, (Ns, f64)>,
    time: Ns,
}

impl Found {
    fn add(&mut self, scene: &Scene<'_>, kernels: &[Event]) {
        let time: Ns = kernels.iter().map(|event| event.dur).sum();
        let Some(work) = scene.work(kernels[0]) else { return };
        let roof = scene.limits().roof(&work).filter(|roof| roof.bound == Bound::Memory);
        let Some(roof) = roof.filter(|roof| roof.ns < BELOW * time.as_f64()) else { return };
        let left = (roof.ns / REACHED / time.as_f64()) as f32;
        self.events.extend(kernels.iter().map(|event| (event.row, left)));
        let sizes = self.sizes.entry(work.params.to_string()).or_default();
        *sizes = (sizes.0 + time, sizes.1 + roof.ns);
        self.time += time;
    }

    fn report(self, scene: &Scene<'_>) -> Opportunity {
        let mut sizes: Vec<(Ns, f64, String)> =
            self.sizes.into_iter().map(|(sizes, (time, roof))| (time, roof, sizes)).collect();
        sizes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
        let (longest, roof, shape) = &sizes[0];
        let mut names = scene.largest(self.events.iter().map(|(row, _)| *row));
        names.extend(sizes.iter().take(3).map(|(_, _, sizes)| sizes.clone()));
        Opportunity {
            id: ID,
            title: format!(
                "{} skinny matrix product kernels (M or N at most {NARROW}) reach less than {:.0} % of memory bandwidth, {} in all",
                self.events.len(),
                100.0 * BELOW,
                text::time(self.time)
            ),
            claim: vec![("events", self.events.len() as i64), ("gpu_ns", self.time.0)],
            target: format!("{:.0} % of memory bandwidth", 100.0 * REACHED),
            evidence: format!(
                "the largest share of the time in {shape}, which reaches {:.0} %",
                100.0 * roof / longest.as_f64()
            ),
            names,
            advice: "give each product more rows (larger batches, several requests at once, one product for Q, K and V or for gate and up), or let the library choose a kernel for these sizes (TunableOp, mode=\"max-autotune\" in torch.compile)",
            caveat: Some("a product can be slow for other reasons than its sizes".to_owned()),
            confident: false,
            removed_launches: Vec::new(),
            events: self.events,
        }
    }
}
