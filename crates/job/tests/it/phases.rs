//! Every GPU event is in the phase that it was planned for.

use std::collections::BTreeMap;

use gpuscope_analysis::Phases;
use gpuscope_analysis::phases::{Phase, RankPhases};
use gpuscope_job::{JobOptions, Run};
use gpuscope_testkit::{Compression, Detail, Phase as Planned, Plan, RankTruth, Truth, write_job};
use gpuscope_trace::Ns;

use crate::plans::{mixtures, plans};

fn ask(plan: &Plan) -> (Truth, Vec<RankPhases>) {
    let folder = tempfile::tempdir().expect("a folder");
    let truth = write_job(plan, folder.path(), Compression::None).expect("written");
    let run =
        Run::open(&[folder.path().to_string_lossy().into_owned()], JobOptions::default()).expect("traces");
    (truth, run.ask(&Phases).expect("an answer").answer.ranks)
}

type Sums = BTreeMap<&'static str, (u64, i64)>;

/// What the file can tell: a replayed graph does not say what it is for, and without Python frames nothing tells what
/// is outside all passes.
fn expected(plan: &Plan, truth: &RankTruth) -> Sums {
    let mut sums = Sums::new();
    let mut add = |phase: Phase, count: u64, ns: i64| {
        let sum = sums.entry(phase.label()).or_default();
        *sum = (sum.0 + count, sum.1 + ns);
    };
    for row in &truth.phases {
        let phase = match row.phase {
            Planned::Forward => Phase::Forward,
            Planned::Backward => Phase::Backward,
            Planned::Recompute => Phase::Recompute,
            Planned::GradientCommunication => Phase::GradientCommunication,
            Planned::Optimizer => Phase::Optimizer,
            Planned::Data => Phase::Data,
            Planned::Other if plan.detail == Detail::Full => Phase::Other,
            Planned::Other => Phase::Unattributed,
        };
        add(phase, row.count - row.replayed, row.sum_ns - row.replayed_ns);
        add(Phase::Unattributed, row.replayed, row.replayed_ns);
    }
    let listed: u64 = truth.phases.iter().map(|row| row.count).sum();
    let known: i64 = truth.phases.iter().map(|row| row.sum_ns).sum();
    let all: i64 = truth.kernels.iter().map(|kernel| kernel.sum_ns).sum();
    add(Phase::Unattributed, truth.gpu_events - listed, all - known);
    sums.retain(|_, (count, _)| *count > 0);
    sums
}

fn answered(rank: &RankPhases) -> Sums {
    let seen = rank.phases.iter().filter(|time| time.count > 0);
    seen.map(|time| (time.phase.label(), (time.count, time.sum_ns.0))).collect()
}

fn check(label: &str, plan: &Plan) {
    let (truth, ranks) = ask(plan);
    for rank in &ranks {
        let truth = truth.ranks.iter().find(|truth| truth.rank == rank.rank).expect("a known rank");
        assert_eq!(answered(rank), expected(plan, truth), "{label}, rank {}", rank.rank);
        assert_eq!(rank.phases.iter().map(|time| time.sum_ns).sum::<Ns>(), rank.gpu_ns, "{label}");
        let in_steps: u64 = rank.steps.iter().flat_map(|step| &step.phases).map(|time| time.count).sum();
        assert_eq!(in_steps, truth.steps.iter().map(|step| step.gpu_events).sum::<u64>(), "{label}");
    }
}

#[test]
fn every_phase_is_as_planned() {
    for (label, plan) in plans().into_iter().filter(|(_, plan)| is_told(plan)) {
        check(label, &plan);
    }
}

#[test]
fn so_it_is_with_recomputation_and_tensor_parallelism() {
    let plan = Plan::small().ranks(4).layers(3).tensor_parallel(2);
    check("tensor parallel", &plan);
    check("recomputation", &Plan::small().with_recomputation());
    check("both, exposed", &plan.with_recomputation().with_exposed_all_reduce());
}

#[test]
fn so_it_is_for_mixtures_of_everything() {
    for plan in mixtures().filter(is_told) {
        check(&format!("{plan:?}"), &plan);
    }
}

/// Operators without a link tell their phase by the frames around them only.
fn is_told(plan: &Plan) -> bool {
    plan.detail == Detail::Full
        || (plan.faults.is_empty() && plan.sharding == gpuscope_testkit::Sharding::Replicated)
}
