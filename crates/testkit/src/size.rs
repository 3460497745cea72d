//! Finds the number of blocks and steps that gives a file of a wanted size.
//!
//! Elements and bytes of a file are as good as bilinear in blocks and steps, so four small measurements predict any
//! size.

use std::io;

use crate::plan::{Detail, Plan};
use crate::write::write_rank;

/// A file with fewer steps than this has fewer blocks instead.
const STEPS_WANTED: i64 = 3;

#[derive(Debug, Clone, Copy)]
enum Measure {
    Elements,
    Bytes,
}

impl Plan {
    /// Scales steps, and blocks where needed, so that each rank's file has about this many elements.
    #[must_use]
    pub fn with_events(self, approx_events_per_rank: u64) -> Plan {
        fit(self, approx_events_per_rank as i64, Measure::Elements)
    }

    /// Scales steps, and blocks where needed, so that each rank's file has about this many bytes, uncompressed.
    #[must_use]
    pub fn with_bytes(self, approx_bytes_per_rank: u64) -> Plan {
        fit(self, approx_bytes_per_rank as i64, Measure::Bytes)
    }
}

/// Size as `fixed + per_layer · layers + per_step · steps + per_both · layers · steps`.
#[derive(Debug, Clone, Copy)]
struct Model {
    fixed: i64,
    per_layer: i64,
    per_step: i64,
    per_both: i64,
}

impl Model {
    fn of(plan: &Plan, measure: Measure) -> Model {
        let unit = i64::from(plan.stage_count());
        let size = |units: i64, steps: i64| measured(plan, (units * unit) as u32, steps as u32, measure);
        let (a, b, c, d) = (size(1, 1), size(2, 1), size(1, 2), size(2, 2));
        let per_both = (d - c - b + a) / unit;
        let per_layer = (b - a) / unit - per_both;
        let per_step = c - a - per_both * unit;
        let fixed = a - per_layer * unit - per_step - per_both * unit;
        Model { fixed, per_layer, per_step, per_both }
    }

    fn size(&self, layers: i64, steps: i64) -> i64 {
        self.fixed + self.per_layer * layers + self.per_step * steps + self.per_both * layers * steps
    }

    fn steps_for(&self, target: i64, layers: i64) -> i64 {
        rounded(target - self.fixed - self.per_layer * layers, self.per_step + self.per_both * layers)
    }

    fn layers_for(&self, target: i64, steps: i64) -> i64 {
        rounded(target - self.fixed - self.per_step * steps, self.per_layer + self.per_both * steps)
    }
}

fn rounded(amount: i64, unit: i64) -> i64 {
    if unit <= 0 { 1 } else { (amount + unit / 2).div_euclid(unit).max(1) }
}

fn measured(plan: &Plan, layers: u32, steps: u32, measure: Measure) -> i64 {
    // Without faults, and with as few ranks as keep the layout, the shape of a file is the same.
    let sample = Plan {
        layers,
        steps,
        ranks: plan.stage_count() * plan.tensor_size(),
        faults: Vec::new(),
        clocks: Vec::new(),
        ..plan.clone()
    };
    write_rank(&sample, 0, &mut io::sink()).map_or(1, |truth| match measure {
        Measure::Elements => truth.elements as i64,
        Measure::Bytes => truth.bytes as i64,
    })
}

fn fit(plan: Plan, target: i64, measure: Measure) -> Plan {
    let details: &[Detail] = match plan.detail {
        Detail::Full => &[Detail::Full, Detail::Lean, Detail::Tiny],
        Detail::Lean => &[Detail::Lean, Detail::Tiny],
        Detail::Tiny => &[Detail::Tiny],
    };
    let mut best: Option<(i64, Plan)> = None;
    for &detail in details {
        let (miss, candidate) = fit_blocks_and_steps(Plan { detail, ..plan.clone() }, target, measure);
        let good = miss * 10 <= target;
        if best.as_ref().is_none_or(|(least, _)| miss < *least) {
            best = Some((miss, candidate));
        }
        if good {
            break;
        }
    }
    best.map_or(plan, |(_, found)| found)
}

/// The best plan of one detail, and by how much it misses.
fn fit_blocks_and_steps(plan: Plan, target: i64, measure: Measure) -> (i64, Plan) {
    let model = Model::of(&plan, measure);
    let stages = i64::from(plan.stage_count());
    let wanted_layers = i64::from(plan.layers).max(stages);
    let (layers, steps) = if model.size(wanted_layers, STEPS_WANTED) <= target {
        (wanted_layers, model.steps_for(target, wanted_layers))
    } else {
        let fewer_blocks = (1..=STEPS_WANTED).rev().map(|steps| (model.layers_for(target, steps), steps));
        let miss = |&(layers, steps): &(i64, i64)| (model.size(layers.max(stages), steps) - target).abs();
        let (layers, steps) = fewer_blocks.min_by_key(miss).unwrap_or((1, 1));
        (layers.max(stages), steps)
    };
    let miss = (model.size(layers, steps) - target).abs();
    (miss, Plan { layers: layers as u32, steps: steps as u32, ..plan })
}
