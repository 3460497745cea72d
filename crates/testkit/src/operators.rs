//! Which operator launched what, as the truth has it.

use std::collections::{BTreeMap, HashMap};

use crate::event::{Batch, Event, Gpu, What};
use crate::fault::Fault;
use crate::plan::Plan;
use crate::purpose::{Modules, Phase, Purpose};
use crate::shapes::Shape;
use crate::truth::{OperatorTruth, StepFlops};

/// Who launched: an operator by its external id, or a call outside of any by its correlation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Owner {
    Operator(u64),
    Call(u64),
}

/// Adds up operators over the stretches of a rank.
#[derive(Debug, Default)]
pub(crate) struct Operators {
    by_name: BTreeMap<&'static str, OperatorTruth>,
    /// By phase and modules.
    flops: BTreeMap<(Phase, Modules), u64>,
}

/// The GPU events of one call, and whether it ran something again.
#[derive(Debug, Default)]
struct Launched {
    spans: Vec<(i64, i64)>,
    again: bool,
    purpose: Option<Purpose>,
}

impl Operators {
    /// Takes in a stretch in the times that are written; answers what it computed.
    pub(crate) fn observe(&mut self, plan: &Plan, batch: &Batch, again: &[(i64, i64)]) -> StepFlops {
        let mut names: HashMap<Owner, (&'static str, Shape)> = HashMap::new();
        let mut launched: BTreeMap<Owner, Launched> = BTreeMap::new();
        for event in &batch.events {
            match event.what {
                What::Op { name, external, shape, .. } => {
                    names.insert(Owner::Operator(external), (name, shape));
                }
                What::Runtime { name, correlation, .. } => {
                    names.insert(Owner::Call(correlation), (name, Shape::None));
                }
                What::Kernel { gpu, .. } | What::Copy { gpu, .. } | What::Set { gpu, .. } => {
                    launch(&mut launched, event, gpu, again);
                }
                _ => {}
            }
        }
        let mut all = StepFlops::default();
        for (owner, launched) in launched {
            if let Some(&(name, shape)) = names.get(&owner) {
                let flops = shape.flops(plan);
                all.hardware += flops;
                all.model += if launched.again { 0 } else { flops - shape.flops_again(plan) };
                self.add(name, flops, launched);
            }
        }
        all
    }

    fn add(&mut self, name: &'static str, flops: u64, launched: Launched) {
        if let Some(Purpose { phase, modules }) = launched.purpose {
            *self.flops.entry((phase, modules)).or_default() += flops;
        }
        let truth = self.by_name.entry(name).or_default();
        let ns = united(launched.spans);
        truth.count += 1;
        truth.direct_ns += ns;
        truth.flops += flops;
        if launched.again {
            truth.recomputed += 1;
            truth.recomputed_ns += ns;
            truth.recomputed_flops += flops;
        }
    }

    /// Operations for a phase of some modules.
    pub(crate) fn flops(&self, phase: Phase, modules: Modules) -> u64 {
        self.flops.get(&(phase, modules)).copied().unwrap_or(0)
    }

    pub(crate) fn finish(self) -> Vec<OperatorTruth> {
        let named = |(name, truth): (&str, OperatorTruth)| OperatorTruth { name: name.to_owned(), ..truth };
        self.by_name.into_iter().map(named).collect()
    }
}

fn launch(launched: &mut BTreeMap<Owner, Launched>, event: &Event, gpu: Gpu, again: &[(i64, i64)]) {
    let Some(at) = gpu.launched else { return };
    let owner = if gpu.operator > 0 { Owner::Operator(gpu.operator) } else { Owner::Call(gpu.correlation) };
    let call = launched.entry(owner).or_default();
    call.spans.push((event.start, event.end));
    call.purpose = Some(gpu.purpose);
    let begun = again.partition_point(|(start, _)| *start <= at);
    call.again |= begun > 0 && at < again[begun - 1].1;
}

fn united(mut spans: Vec<(i64, i64)>) -> i64 {
    spans.sort_unstable();
    let mut until = i64::MIN;
    let mut sum = 0;
    for (start, end) in spans {
        sum += (end - start.max(until)).max(0);
        until = until.max(end);
    }
    sum
}

/// When forward passes ran again, by start. A checkpointed block is planted twice: when it is thrown away, which is
/// one operator's opening and launches nothing, and when it runs again.
pub(crate) fn recomputation(plan: &Plan, batch: &Batch) -> Vec<(i64, i64)> {
    let is_one = |fault: usize| plan.faults.get(fault) == Some(&Fault::Recomputation);
    let mut spans: Vec<(i64, i64)> =
        batch.sites.iter().filter(|site| is_one(site.fault)).map(|site| (site.start, site.end)).collect();
    spans.sort_unstable();
    spans
}
