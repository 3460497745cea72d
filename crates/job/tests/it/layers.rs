//! Every module has the GPU time that was planned for it, in each pass.

use std::collections::BTreeMap;

use gpuscope_analysis::Layers;
use gpuscope_analysis::layers::{Pass, RankLayers};
use gpuscope_job::{JobOptions, Run};
use gpuscope_testkit::{Compression, Detail, LayerTruth, Phase, Plan, RankTruth, Truth, write_job};

use crate::plans::{mixtures, plans};

fn ask(plan: &Plan) -> (Truth, Vec<RankLayers>) {
    let folder = tempfile::tempdir().expect("a folder");
    let truth = write_job(plan, folder.path(), Compression::None).expect("written");
    let run =
        Run::open(&[folder.path().to_string_lossy().into_owned()], JobOptions::default()).expect("traces");
    (truth, run.ask(&Layers::default()).expect("an answer").answer.ranks)
}

type Times = BTreeMap<(String, Pass), (i64, i64)>;

fn pass(row: &LayerTruth) -> Option<Pass> {
    match row.phase {
        Phase::Forward => Some(Pass::Forward),
        Phase::Backward => Some(Pass::Backward),
        Phase::Recompute => Some(Pass::Recompute),
        _ => None,
    }
}

/// Own compute and communication of the innermost modules.
fn planned(truth: &RankTruth) -> Times {
    let mut times = Times::new();
    for row in &truth.layers {
        let (Some(pass), Some(module)) = (pass(row), row.modules.last()) else { continue };
        let module = module.trim_start_matches("nn.Module: ").to_owned();
        let sum = times.entry((module, pass)).or_default();
        *sum = (sum.0 + row.compute_ns, sum.1 + row.comm_ns);
    }
    times
}

fn own(rank: &RankLayers) -> Times {
    let own = rank.layers.iter().map(|l| ((l.module.clone(), l.pass), (l.own_ns.0, l.own_comm_ns.0)));
    own.filter(|(_, times)| *times != (0, 0)).collect()
}

fn check(label: &str, plan: &Plan) {
    let (truth, ranks) = ask(plan);
    for rank in &ranks {
        let truth = truth.ranks.iter().find(|truth| truth.rank == rank.rank).expect("a known rank");
        let mut planned = planned(truth);
        planned.retain(|_, times| *times != (0, 0));
        assert_eq!(own(rank), planned, "{label}, rank {}", rank.rank);
        let of_modules: i64 = rank.layers.iter().map(|layer| layer.own_ns.0).sum();
        assert_eq!(of_modules + rank.without_module_ns.0, rank.compute_ns.0, "{label}");
        // A subtree is its own work and that of its children, in every pass.
        for layer in &rank.layers {
            let children = rank
                .layers
                .iter()
                .filter(|child| child.pass == layer.pass && child.parent.as_ref() == Some(&layer.module));
            let inside: i64 = children.map(|child| child.total_ns.0).sum();
            assert_eq!(layer.total_ns.0, layer.own_ns.0 + inside, "{label}: {layer:?}");
        }
    }
}

#[test]
fn every_module_takes_what_was_planned() {
    for (label, plan) in plans().into_iter().filter(|(_, plan)| plan.detail == Detail::Full) {
        check(label, &plan);
    }
    let plan = Plan::small().ranks(4).layers(3).tensor_parallel(2);
    check("tensor parallel", &plan);
    check("recomputation", &Plan::small().with_recomputation());
    check("both", &plan.with_recomputation());
}

#[test]
fn so_it_is_for_mixtures_of_everything() {
    for plan in mixtures().filter(|plan| plan.detail == Detail::Full) {
        check(&format!("{plan:?}"), &plan);
    }
}
