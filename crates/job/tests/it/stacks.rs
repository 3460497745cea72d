//! The call tree holds every nanosecond of GPU time once, below the modules that it was planned for.

use std::collections::BTreeMap;

use gpuscope_analysis::diff_tree::TreeDiffAnswer;
use gpuscope_analysis::stacks::{NodeKind, RankStacks, Stacks};
use gpuscope_analysis::{Question, TreeDiff};
use gpuscope_job::{JobOptions, Run};
use gpuscope_testkit::{Compression, Detail, Phase, Plan, RankTruth, Truth, write_job};
use gpuscope_trace::Ns;

use crate::plans::{mixtures, plans};

fn ask<Q: Question>(plan: &Plan, question: &Q) -> (Truth, Q::Answer) {
    let folder = tempfile::tempdir().expect("a folder");
    let truth = write_job(plan, folder.path(), Compression::None).expect("written");
    let run =
        Run::open(&[folder.path().to_string_lossy().into_owned()], JobOptions::default()).expect("traces");
    (truth, run.ask(question).expect("an answer").answer)
}

fn sum(truth: &RankTruth) -> i64 {
    truth.kernels.iter().map(|kernel| kernel.sum_ns).sum()
}

fn check(label: &str, plan: &Plan) {
    for backward_below_forward in [false, true] {
        let question = Stacks { backward_below_forward, ..Stacks::default() };
        let (truth, answer) = ask(plan, &question);
        for rank in &answer.ranks {
            let truth = truth.ranks.iter().find(|truth| truth.rank == rank.rank).expect("a known rank");
            assert_eq!(rank.gpu_ns.0, sum(truth), "{label}");
            let known: i64 = truth.phases.iter().map(|phase| phase.sum_ns).sum();
            assert_eq!(rank.unlinked_ns.0, sum(truth) - known, "{label}");
            assert_eq!(rank.nodes.iter().map(|node| node.own).sum::<i64>(), sum(truth), "{label}");
            if plan.detail == Detail::Full {
                assert_eq!(by_module(rank), planned(truth, backward_below_forward), "{label}");
            }
        }
    }
}

/// GPU time below the innermost modules.
fn by_module(rank: &RankStacks) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    let mut module: Vec<Option<usize>> = Vec::new();
    for (i, node) in rank.nodes.iter().enumerate() {
        let outer = node.parent.and_then(|parent| module[parent as usize]);
        module.push(if node.kind == NodeKind::Module { Some(i) } else { outer });
        if let (Some(module), true) = (module[i], node.own > 0) {
            *sums.entry(rank.nodes[module].name.clone()).or_default() += node.own;
        }
    }
    sums
}

/// Only links bring backward work below its module.
fn planned(truth: &RankTruth, with_backward: bool) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for row in &truth.layers {
        let is_there = with_backward || matches!(row.phase, Phase::Forward | Phase::Recompute);
        if let (Some(module), true) = (row.modules.last(), is_there) {
            *sums.entry(module.clone()).or_default() += row.compute_ns + row.comm_ns;
        }
    }
    sums.retain(|_, ns| *ns > 0);
    sums
}

#[test]
fn every_nanosecond_is_below_its_module() {
    for (label, plan) in plans() {
        check(label, &plan);
    }
    for plan in mixtures() {
        check(&format!("{plan:?}"), &plan);
    }
}

#[test]
fn a_slower_layer_is_where_the_change_comes_from() {
    let (truth_a, a) = ask(&Plan::small(), &TreeDiff);
    let (truth_b, b) = ask(&Plan::small().with_straggler(1, 130), &TreeDiff);
    let diff = TreeDiffAnswer::between(&a, &b);
    let whole = |truth: &Truth| truth.ranks.iter().map(sum).sum::<i64>();
    assert_eq!((diff.a_ns.0, diff.b_ns.0), (whole(&truth_a), whole(&truth_b)));
    assert_eq!(diff.rows.iter().map(|row| row.delta_ns).sum::<Ns>(), diff.delta_ns);
    assert_eq!(diff.operators.iter().map(|row| row.delta_ns).sum::<Ns>(), diff.delta_ns);
    assert!(diff.operators[0].delta_ns > Ns::ZERO, "{:?}", diff.operators[0]);
}
