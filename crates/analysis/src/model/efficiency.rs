//! Which work of the GPU could take less, and what would it take at a realistic target?
//!
//! Each detector looks at a rank for one habit that is known to cost time and has a known cure. It names the GPU events
//! that show it, each of which passed the test that the title states, and for each the share of its time that would be
//! left. What that is worth to a step is not said here: the job is run again on paper with these shares.
//!
//! No event is named by two detectors. The first of them in this order has it: attention, the optimizer, DDP,
//! layouts, precision, sizes, other products, chains, transposes, copies, collectives. What would save less than a hundredth of the
//! GPU's time, and less than a twentieth of what it is given to do, is not named.

mod attention;
mod chains;
mod collectives;
mod copies;
mod ddp;
mod foreach;
mod layout;
mod optimizer;
mod precision;
mod products;
mod scene;
mod sizes;
mod skinny;
mod sorts;
mod transposes;

#[cfg(test)]
mod tests;

use gpuscope_trace::{Bitmap, Ns, Row, View};

use scene::Scene;

/// GPU work that could take less, and what it would take to get there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Opportunity {
    /// Stable, for scripts.
    pub id: &'static str,
    /// Each GPU event with the share of its time that would be left at the target.
    pub events: Vec<(Row, f32)>,
    /// Calls of the host that would go away too.
    pub removed_launches: Vec<Row>,
    /// True of every event.
    pub title: String,
    /// The numbers that the title states.
    pub claim: Vec<(&'static str, i64)>,
    /// What the shares assume.
    pub target: String,
    pub evidence: String,
    /// Kernels, largest first, and sizes where they are known.
    pub names: Vec<String>,
    pub advice: &'static str,
    pub caveat: Option<String>,
    pub confident: bool,
}

/// What saves less than this share of the GPU's time is not named, unless it saves that many of the launches.
const WORTH: f64 = 0.01;
const WORTH_LAUNCHES: f64 = 0.05;

type Detector = fn(&Scene<'_>, &mut Bitmap) -> Vec<Opportunity>;

/// In the order in which they may take events.
const DETECTORS: &[Detector] = &[
    attention::eager_attention,
    optimizer::unfused_optimizer,
    foreach::foreach_optimizer,
    ddp::gradient_copies,
    ddp::buffer_broadcasts,
    layout::layout_conversions,
    precision::fp32_products,
    sizes::odd_sizes,
    skinny::skinny_products,
    products::slow_products,
    chains::elementwise_chains,
    transposes::transposing_copies,
    copies::tiny_copies,
    collectives::tiny_collectives,
];

/// What the detectors may find.
pub(crate) const IDS: &[&str] = &[
    attention::ID,
    optimizer::ID,
    foreach::ID,
    ddp::GRADIENT_COPIES,
    ddp::BUFFER_BROADCASTS,
    layout::ID,
    precision::PRODUCTS,
    precision::CONVOLUTIONS,
    sizes::ID,
    skinny::ID,
    products::ID,
    chains::ID,
    transposes::ID,
    copies::ID,
    collectives::ID,
];

/// All that is found on a rank, what would save most of the GPU's time first.
pub(crate) fn opportunities(view: View<'_>) -> Vec<Opportunity> {
    let scene = Scene::of(view);
    let mut taken = Bitmap::empty(view.trace.len());
    let mut all: Vec<(f64, Opportunity)> = Vec::new();
    for detector in DETECTORS {
        for found in detector(&scene, &mut taken) {
            debug_assert!(IDS.contains(&found.id), "{}", found.id);
            let saved = found.saved(view);
            let launches = found.removed_launches.len() as f64;
            let worth =
                saved >= WORTH * scene.busy.as_f64() || launches >= WORTH_LAUNCHES * scene.events as f64;
            if worth && !found.events.is_empty() {
                all.push((saved, found));
            }
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.id.cmp(b.1.id)));
    all.into_iter().map(|(_, found)| found).collect()
}

impl Opportunity {
    /// Nanoseconds of the GPU's time.
    fn saved(&self, view: View<'_>) -> f64 {
        let of = |(row, left): &(Row, f32)| {
            view.trace.dur(*row).unwrap_or(Ns::ZERO).as_f64() * (1.0 - f64::from(*left))
        };
        self.events.iter().map(of).sum()
    }
}
