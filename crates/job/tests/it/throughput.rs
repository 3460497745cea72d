//! Operations per second of modules are the planned operations by the planned time.

use gpuscope_analysis::Throughput;
use gpuscope_analysis::layers::Pass;
use gpuscope_analysis::throughput::{LayerRate, PerStep};
use gpuscope_testkit::{Detail, Fault, LayerTruth, Phase, Plan, RankTruth};

use crate::answers::ask;
use crate::plans::{mixtures, plans};

/// Operations and compute time of a module and of those inside it.
fn planned(truth: &RankTruth, layer: &LayerRate) -> (u64, i64) {
    let phase = match layer.pass {
        Pass::Forward => Phase::Forward,
        Pass::Backward => Phase::Backward,
        Pass::Recompute => Phase::Recompute,
    };
    let is_inside = |name: &String| name.trim_start_matches("nn.Module: ") == layer.module;
    let rows = truth.layers.iter().filter(|row| row.phase == phase && row.modules.iter().any(is_inside));
    rows.fold((0, 0), |sum, row: &LayerTruth| (sum.0 + row.flops, sum.1 + row.compute_ns))
}

/// Modules with planned operations.
fn check(label: &str, plan: &Plan) -> usize {
    let (truth, outcome) = ask(plan, &Throughput::default());
    let mut checked = 0;
    // What runs again does so outside the call of the whole model, and the plan names modules by where they ran.
    let again = plan.faults.contains(&Fault::Recomputation);
    for layer in outcome.answer.layers.iter().filter(|layer| !again || layer.depth > 0) {
        let truth = truth.ranks.iter().find(|truth| truth.rank == layer.rank).expect("a known rank");
        let (flops, ns) = planned(truth, layer);
        assert_eq!(layer.compute_ns.0, ns, "{label}: {layer:?}");
        if flops > 0 {
            assert_eq!(layer.tflops_per_s, Some(flops as f64 / ns as f64 / 1e3), "{label}: {layer:?}");
            let calls = layer.call_tflops_per_s.expect("calls");
            assert!(calls.min <= calls.median && calls.median <= calls.max, "{label}: {layer:?}");
            checked += 1;
        }
    }
    checked
}

#[test]
fn rates_are_planned_operations_by_planned_time() {
    let is_told = |plan: &Plan| plan.detail == Detail::Full && !plan.cuda_graph;
    let labelled = plans().into_iter().filter(|(_, plan)| is_told(plan));
    let mixed = mixtures().filter(is_told).map(|plan| ("mixture", plan));
    let more = [
        ("tensor parallel", Plan::small().ranks(4).layers(3).tensor_parallel(2)),
        ("recomputation", Plan::small().with_recomputation()),
    ];
    for (label, plan) in labelled.chain(mixed).chain(more) {
        assert!(check(label, &plan) >= 4, "{label}");
    }
}

#[test]
fn tokens_per_second_follow_the_planned_periods() {
    let plan = Plan::small().steps(5);
    let per_step = PerStep { tokens: Some(1000.0), samples: Some(8.0) };
    let (truth, outcome) = ask(&plan, &Throughput { per_step, ..Throughput::default() });
    for steps in &outcome.answer.steps {
        let truth = truth.ranks.iter().find(|truth| truth.rank == steps.rank).expect("a known rank");
        let mut periods: Vec<i64> = truth.steps.iter().filter_map(|step| step.period_ns).collect();
        periods.sort_unstable();
        let (tokens, samples) = (steps.tokens_per_s.expect("tokens"), steps.samples_per_s.expect("samples"));
        assert_eq!((steps.steps, tokens.count), (4, 4));
        assert_eq!((tokens.min, samples.max), (1e12 / periods[3] as f64, 8e9 / periods[0] as f64));
    }
}
