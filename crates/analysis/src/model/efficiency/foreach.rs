//! An optimizer that goes over all its tensors once for every operation (`_foreach_mul_`, `_foreach_addcdiv_`, …),
//! where a fused one does so once.
//!
//! Claimed of each event: `aten::_foreach_…` launched it inside of `Optimizer.step#…` of an optimizer that `PyTorch` has
//! a fused kernel for (Adam, `AdamW`, SGD). Such a step must have at least three operators.
//!
//! Memory limits these kernels, so they take their time by the tensors that they move. How many that are now follows
//! from the operators: one that changes a tensor in place reads and writes it, and reads its other operands. The
//! target moves each only once: Adam reads parameter, gradient and two moments and writes three of them, SGD reads
//! parameter, gradient and momentum and writes two.
//!
//! Silent without the annotations of the profiler, and where the operators move no more than a fused kernel would.

use gpuscope_trace::{Bitmap, Ns, Row, StrId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Opportunity;
use super::optimizer::{by_step, of_annotation};
use super::scene::{Event, PerName, Scene, take};
use super::sorts::Sort;
use crate::shared::text;

pub(super) const ID: &str = "foreach_optimizer";

const FEWEST_OPERATORS: usize = 3;

pub(super) fn foreach_optimizer(scene: &Scene<'_>, taken: &mut Bitmap) -> Vec<Opportunity> {
    if !scene.all().any(|event| event.sort == Sort::ManyTensors) {
        return Vec::new();
    }
    let trace = scene.view.trace;
    let of_step = by_step(scene, |name| fused(name).is_some(), |event| event.sort == Sort::ManyTensors);
    let mut traffic = Traffic {
        operators: PerName::new(scene.view, Operator::named),
        lists: PerName::new(scene.view, is_of_lists),
    };
    let mut of_optimizer: FxHashMap<StrId, Passes> = FxHashMap::default();
    for (step, events) in of_step {
        let passes = of_optimizer.entry(trace.name_id(step)).or_default();
        passes.add(scene, &events, &mut traffic);
    }
    let found =
        of_optimizer.into_iter().filter_map(|(name, passes)| passes.report(scene, trace.strings.get(name)));
    let mut found: Vec<Opportunity> = found.collect();
    take(taken, found.iter().flat_map(|found| found.events.iter().map(|(row, _)| *row)));
    found.sort_by(|a, b| a.title.cmp(&b.title));
    found
}

/// How many tensors of a parameter's size the fused kernel of an optimizer moves.
fn fused(annotation: &str) -> Option<u32> {
    match of_annotation(annotation)? {
        "Adam" | "AdamW" => Some(7),
        "SGD" => Some(5),
        _ => None,
    }
}

/// What the name of an operator tells of how many it moves.
#[derive(Clone, Copy)]
enum Operator {
    /// None on lists of tensors.
    Other,
    Moves(u32),
    /// Two, or three if its kernel reads two lists.
    TwoOrThree,
}

impl Operator {
    fn named(name: &str) -> Operator {
        let Some(name) = name.strip_prefix("aten::_foreach_") else { return Operator::Other };
        match name.trim_end_matches('_') {
            "zero" => Operator::Moves(1),
            "lerp" | "addcmul" => Operator::Moves(3),
            "addcdiv" => Operator::Moves(4),
            _ => Operator::TwoOrThree,
        }
    }
}

/// Whether a kernel has two lists of tensors to read, and not one and a number.
fn is_of_lists(kernel: &str) -> bool {
    kernel.contains("BinaryOpList")
}

struct Traffic<'v> {
    operators: PerName<'v, Operator>,
    lists: PerName<'v, bool>,
}

impl Traffic<'_> {
    /// None if it is no operator on lists of tensors.
    fn of(&mut self, operator: StrId, kernel: StrId) -> Option<u32> {
        match self.operators.of(operator) {
            Operator::Other => None,
            Operator::Moves(tensors) => Some(tensors),
            Operator::TwoOrThree => Some(if self.lists.of(kernel) { 3 } else { 2 }),
        }
    }
}

/// What one optimizer does in all its steps.
#[derive(Default)]
struct Passes {
    events: Vec<Event>,
    steps: usize,
    /// How often each operator was called.
    calls: FxHashMap<StrId, u32>,
    /// What all these calls move.
    moved: u32,
}

impl Passes {
    fn add(&mut self, scene: &Scene<'_>, events: &[Event], traffic: &mut Traffic<'_>) {
        let trace = scene.view.trace;
        let mut calls: FxHashSet<Row> = FxHashSet::default();
        let before = self.events.len();
        for event in events {
            let Some(call) = scene.operator_row(event.row) else { continue };
            let names = (trace.name_id(call), trace.name_id(event.row));
            let Some(tensors) = traffic.of(names.0, names.1) else { continue };
            self.events.push(*event);
            // A call launches several kernels if it has many tensors.
            if calls.insert(call) {
                *self.calls.entry(trace.name_id(call)).or_default() += 1;
                self.moved += tensors;
            }
        }
        self.steps += usize::from(self.events.len() > before);
    }

    /// A number of all calls as it is for one parameter: each operator is called once or more for a group of them.
    fn per_parameter(&self, of_all: u32) -> f64 {
        let groups = self.calls.values().min().copied().unwrap_or(1);
        f64::from(of_all) / f64::from(groups.max(1))
    }

    fn report(mut self, scene: &Scene<'_>, annotation: &str) -> Option<Opportunity> {
        let (optimizer, fused) = (of_annotation(annotation)?, fused(annotation)?);
        let now = self.per_parameter(self.moved);
        let left = f64::from(fused) / now;
        if self.calls.len() < FEWEST_OPERATORS || left >= 1.0 {
            return None;
        }
        self.events.sort_by_key(|event| event.row);
        let rows = || self.events.iter().map(|event| event.row);
        let time: Ns = self.events.iter().map(|event| event.dur).sum();
        let launches: Vec<Row> = rows().filter_map(|row| scene.own_launch(row)).collect();
        let passes = self.per_parameter(self.calls.values().sum()).round() as i64;
        Some(Opportunity {
            id: ID,
            title: format!(
                "{optimizer} goes over its parameters {passes} times in a step, one operator at a time, with {} kernels in all, {}",
                self.events.len(),
                text::time(time)
            ),
            claim: vec![
                ("events", self.events.len() as i64),
                ("steps", self.steps as i64),
                ("passes", passes),
                ("gpu_ns", time.0),
            ],
            target: format!(
                "a fused {optimizer}, which moves {fused} tensors for each parameter in place of {now:.0}: {:.0} % of the time and one launch per step",
                100.0 * left
            ),
            evidence: format!(
                "{} different _foreach operators, {:.1} % of GPU time",
                self.calls.len(),
                time.pct_of(scene.busy)
            ),
            names: scene.largest(rows()),
            advice: "pass fused=True to the optimizer",
            caveat: Some(
                "how often memory is read and written follows from the operators, not from a measurement"
                    .to_owned(),
            ),
            confident: false,
            removed_launches: launches.get(self.steps..).unwrap_or_default().to_vec(),
            events: rows().map(|row| (row, left as f32)).collect(),
        })
    }
}
