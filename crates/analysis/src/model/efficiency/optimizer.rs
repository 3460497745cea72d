//! An optimizer that updates one parameter after another, with several kernels for each.
//!
//! Claimed of each event: it works element by element or reduces, by its kernel's name, and was launched inside of
//! `Optimizer.step#…` of an optimizer of `PyTorch` that has a fused or foreach form. Kernels for many tensors at once
//! (`multi_tensor_apply`) are another finding, and are not counted. A step of the optimizer must have at least
//! twenty of the others.
//!
//! The target is what a fused optimizer moves: Adam and its kin read parameter, gradient and two moments and write
//! three, 7 tensors where the single kernels move about 21; others are held to three fifths (SGD with momentum: 5 of
//! 8). If every kernel is of one operator there is nothing to fuse but the launches.
//!
//! Silent without the annotations of the profiler.

use gpuscope_trace::{Bitmap, Class, Ns, Row, StrId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Opportunity;
use super::scene::{Event, PerName, Scene, take};
use super::sorts::Sort;
use crate::shared::owner::{Among, Owners};
use crate::shared::text;

pub(super) const ID: &str = "unfused_optimizer";

/// Fewer kernels in a step are no loop over parameters.
const FEWEST: usize = 20;

pub(super) fn unfused_optimizer(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    let trace = scene.view.trace;
    if !trace.strings.iter().any(|(_, name)| is_step(name)) {
        return Vec::new();
    }
    let of_step = by_step(scene, is_step, |event| {
        matches!(event.sort, Sort::Elementwise | Sort::Reduction) && !taken.has(event.row)
    });
    let mut of_optimizer: FxHashMap<StrId, Vec<Vec<Event>>> = FxHashMap::default();
    for (step, events) in of_step.into_iter().filter(|(_, events)| events.len() >= FEWEST) {
        of_optimizer.entry(trace.name_id(step)).or_default().push(events);
    }
    let mut found: Vec<Opportunity> = of_optimizer
        .into_iter()
        .map(|(name, steps)| {
            take(taken, steps.iter().flatten().map(|event| event.row));
            report(scene, trace.strings.get(name), &steps)
        })
        .collect();
    found.sort_by(|a, b| a.title.cmp(&b.title));
    found
}

/// Events that pass a test, by the step of an optimizer that launched them.
pub(super) fn by_step(
    scene: &Scene<'_>,
    is_step: fn(&str) -> bool,
    fits: impl Fn(&Event) -> bool,
) -> FxHashMap<Row, Vec<Event>> {
    let trace = scene.view.trace;
    let mut steps = PerName::new(scene.view, is_step);
    let mut owners = Owners::new(scene.view.index.nesting(trace), trace.len(), Among::Innermost, |row| {
        matches!(trace.class(row), Class::Annotation | Class::Operator) && steps.of(trace.name_id(row))
    });
    let mut of_step: FxHashMap<Row, Vec<Event>> = FxHashMap::default();
    for event in scene.all().filter(|event| fits(event)) {
        if let Some(step) = scene.view.launch(event.row).and_then(|launch| owners.of(launch)) {
            of_step.entry(step).or_default().push(*event);
        }
    }
    of_step
}

/// Which optimizer's step an annotation of the profiler is.
pub(super) fn of_annotation(name: &str) -> Option<&str> {
    name.strip_prefix("Optimizer.step#")?.strip_suffix(".step")
}

fn is_step(name: &str) -> bool {
    of_annotation(name).is_some_and(|optimizer| OPTIMIZERS.contains(&optimizer))
}

const OPTIMIZERS: [&str; 11] =
    ["Adam", "AdamW", "SGD", "Adagrad", "Adamax", "NAdam", "RAdam", "RMSprop", "Adadelta", "ASGD", "Rprop"];

/// The share of the time that is left with the optimizer fused.
fn left(optimizer: &str, operators: usize) -> f32 {
    match optimizer {
        _ if operators <= 1 => 1.0,
        name if name.contains("Adam") => 1.0 / 3.0,
        _ => 0.6,
    }
}

fn report(scene: &Scene<'_>, annotation: &str, steps: &[Vec<Event>]) -> Opportunity {
    let optimizer = of_annotation(annotation).unwrap_or(annotation);
    let mut events: Vec<Event> = steps.iter().flatten().copied().collect();
    events.sort_by_key(|event| event.row);
    let time: Ns = events.iter().map(|event| event.dur).sum();
    let operators: FxHashSet<_> = events.iter().map(|event| scene.operator(event.row)).collect();
    let left = left(optimizer, operators.len());
    // A handful of launches remain in each step.
    let launches: Vec<Row> = events.iter().filter_map(|event| scene.own_launch(event.row)).collect();
    Opportunity {
        id: ID,
        title: format!(
            "{optimizer} updates its parameters with {} separate kernels in {}, {} in all",
            events.len(),
            if steps.len() == 1 { "one step".to_owned() } else { format!("{} steps", steps.len()) },
            text::time(time)
        ),
        claim: vec![("events", events.len() as i64), ("steps", steps.len() as i64), ("gpu_ns", time.0)],
        target: format!("a fused {optimizer}: {:.0} % of the time and one launch per step", 100.0 * left),
        evidence: format!(
            "{:.0} kernels from {} operators per step",
            events.len() as f64 / steps.len() as f64,
            operators.len()
        ),
        names: scene.largest(events.iter().map(|event| event.row)),
        advice: "pass fused=True (Adam, AdamW, SGD, Adagrad) or foreach=True to the optimizer",
        caveat: None,
        confident: true,
        removed_launches: launches.get(steps.len()..).unwrap_or_default().to_vec(),
        events: events.iter().map(|event| (event.row, left)).collect(),
    }
}
