//! Operators: their calls, their GPU time, what ran again and how much there was to do are as planted.

use std::collections::BTreeMap;

use gpuscope_analysis::Ops;
use gpuscope_analysis::ops::{By, OpRow, OpsAnswer};
use gpuscope_job::{JobOptions, Run};
use gpuscope_testkit::{Compression, Detail, Plan, RankTruth, Truth, write_job};

use crate::plans::{mixtures, plans};

/// The same traces, asked several times.
fn ask(plan: &Plan, questions: &[Ops]) -> (Truth, Vec<OpsAnswer>) {
    let folder = tempfile::tempdir().expect("a folder");
    let truth = write_job(plan, folder.path(), Compression::None).expect("written");
    let paths = [folder.path().to_string_lossy().into_owned()];
    let answer =
        |ops| Run::open(&paths, JobOptions::default()).expect("traces").ask(ops).expect("an answer").answer;
    (truth, questions.iter().map(answer).collect())
}

fn of_rank(answer: &OpsAnswer, rank: u32) -> impl Iterator<Item = &OpRow> {
    answer.ops.iter().filter(move |row| row.rank == rank)
}

/// Calls and direct time by name and whether they ran again.
type Times = BTreeMap<(String, bool), (u64, i64)>;

fn planted(truth: &RankTruth) -> Times {
    let mut times = Times::new();
    for op in &truth.operators {
        let first = (op.count - op.recomputed, op.direct_ns - op.recomputed_ns);
        times.extend((first.0 > 0).then(|| ((op.name.clone(), false), first)));
        times.extend(
            (op.recomputed > 0).then(|| ((op.name.clone(), true), (op.recomputed, op.recomputed_ns))),
        );
    }
    times
}

#[test]
fn calls_time_and_recomputation_are_as_planted() {
    let again = Plan::small().with_recomputation();
    let labelled = plans().into_iter().map(|(label, plan)| (label.to_owned(), plan));
    let mixed = mixtures().map(|plan| (format!("{plan:?}"), plan));
    let recomputing = [
        ("recomputing".to_owned(), again.clone()),
        ("recomputing, lean".to_owned(), again.detail(Detail::Lean)),
    ];
    let mut recomputed = 0;
    for (label, plan) in labelled.chain(mixed).chain(recomputing) {
        let (truth, answers) = ask(&plan, &[Ops { recompute: true, ..Ops::default() }]);
        for rank in truth.ranks.iter().filter(|rank| rank.written) {
            let row = |row: &OpRow| {
                let key = (row.name.clone(), row.recompute == Some(true));
                (key, (row.count, row.direct_kernel_ns.0))
            };
            let found: Times = of_rank(&answers[0], rank.rank).map(row).collect();
            assert_eq!(found, planted(rank), "{label}, rank {}", rank.rank);
            let about = answers[0].ranks.iter().find(|about| about.rank == rank.rank).expect("a row");
            let again: i64 = rank.operators.iter().map(|op| op.recomputed_ns).sum();
            assert_eq!(
                (about.recompute_kernel_ns.0, about.unlinked_kernels),
                (again, rank.unlinked),
                "{label}"
            );
            recomputed += usize::from(again > 0);
        }
    }
    assert!(recomputed >= 4, "{recomputed} ranks ran anything again");
}

/// Operations of all calls of an operator, first ones or those that ran again.
fn operations(answer: &OpsAnswer, rank: u32, name: &str, again: bool) -> f64 {
    let rows = of_rank(answer, rank).filter(|row| row.name == name && row.recompute == Some(again));
    let gflops = |row: &OpRow| row.work.as_ref().and_then(|work| work.gflops).expect("a work model");
    rows.map(|row| row.count as f64 * gflops(row) * 1e9).sum()
}

#[test]
fn operations_are_as_planted() {
    for (label, plan) in [("small", Plan::small()), ("recomputing", Plan::small().with_recomputation())] {
        let by_arguments = Ops { by: By::Arguments, recompute: true, ..Ops::default() };
        let (truth, answers) = ask(&plan, &[by_arguments]);
        let backward = "aten::_scaled_dot_product_flash_attention_backward";
        for rank in &truth.ranks {
            let planted = |name: &str| rank.operators.iter().find(|op| op.name == name).expect("launched");
            // The operator with the model of attention calls the one that launches.
            let pairs = [
                ("aten::addmm", "aten::addmm"),
                ("aten::mm", "aten::mm"),
                ("aten::_scaled_dot_product_flash_attention", "aten::_flash_attention_forward"),
                (backward, backward),
            ];
            for (name, launching) in pairs {
                let truth = planted(launching);
                assert!(truth.flops > 0, "{label}: {name}");
                let [first, again] =
                    [false, true].map(|again| operations(&answers[0], rank.rank, name, again).round() as u64);
                assert_eq!(first, truth.flops - truth.recomputed_flops, "{label}: {name}");
                assert_eq!(again, truth.recomputed_flops, "{label}: {name}");
            }
        }
    }
}

/// The dense peak of the planted GPU in the planted number format, as its data sheet has it.
const H100_BF16_FLOP_PER_NS: f64 = 989_400.0;

/// Of the steps that have a period, the median; planted steps are alike enough for none to be left out.
fn step_ns(rank: &RankTruth) -> i64 {
    let mut periods: Vec<i64> = rank.steps.iter().filter_map(|step| step.period_ns).collect();
    periods.sort_unstable();
    let (low, high) = (periods[(periods.len() - 1) / 2], periods[periods.len() / 2]);
    low + (high - low) / 2
}

fn assert_near(found: Option<f64>, planted: f64, label: &str) {
    let found = found.expect("a share of the peak");
    assert!((found / planted - 1.0).abs() < 1e-12, "{label}: {found} instead of {planted}");
}

#[test]
fn shares_of_the_peak_are_planted_operations_by_planted_step_times() {
    for (label, plan) in [
        ("small", Plan::small()),
        ("lean", Plan::small().detail(Detail::Lean)),
        ("recomputing", Plan::small().steps(5).with_recomputation()),
        ("pipeline", Plan::small().ranks(4).layers(4).pipeline(2, 3)),
        ("straggler", Plan::small().steps(4).with_straggler(1, 130)),
    ] {
        let (truth, answers) = ask(&plan, &[Ops::default()]);
        let mfu = &answers[0].mfu;
        let (mut all, mut slowest) = ((0, 0), 0);
        for (rank, found) in truth.ranks.iter().zip(&mfu.ranks) {
            let label = format!("{label}, rank {}", rank.rank);
            let (flops, ns) = (rank.steps[0].flops, step_ns(rank));
            assert!(flops.model > 0 && flops.model < flops.hardware, "{label}: {flops:?}");
            assert!(rank.steps.iter().all(|step| step.flops == flops), "{label}: steps are alike");
            assert_eq!(
                (found.of.model_flops, found.of.hardware_flops),
                (flops.model, flops.hardware),
                "{label}"
            );
            assert_eq!(found.of.step_ns.map(|ns| ns.0), Some(ns), "{label}");
            let share = |flops: u64| 100.0 * flops as f64 / (ns as f64 * H100_BF16_FLOP_PER_NS);
            assert_near(found.of.mfu_pct, share(flops.model), &label);
            assert_near(found.of.hfu_pct, share(flops.hardware), &label);
            all = (all.0 + flops.model, all.1 + flops.hardware);
            slowest = slowest.max(ns);
        }
        let share = |flops: u64| {
            100.0 * flops as f64 / (slowest as f64 * H100_BF16_FLOP_PER_NS * truth.ranks.len() as f64)
        };
        assert_eq!((mfu.all.model_flops, mfu.all.hardware_flops), all, "{label}");
        assert_near(mfu.all.mfu_pct, share(all.0), label);
        assert_near(mfu.all.hfu_pct, share(all.1), label);
    }
}
