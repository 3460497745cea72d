//! Every planted fault is the first thing that is found, and a healthy job has nothing to find.

use gpuscope_analysis::Analyze;
use gpuscope_analysis::analyze::AnalyzeAnswer;
use gpuscope_job::{JobOptions, Run};
use gpuscope_testkit::{Compression, Plan, StallCause, Truth, findings_page, write_job};

fn analyze(plan: &Plan) -> (AnalyzeAnswer, Truth) {
    let folder = tempfile::tempdir().unwrap();
    let truth = write_job(plan, folder.path(), Compression::None).unwrap();
    let run = Run::open(&[folder.path().display().to_string()], JobOptions::default()).unwrap();
    let answer = run.ask(&Analyze).unwrap().answer;
    let page = findings_page();
    for finding in &answer.findings {
        page[finding.id].hold(&finding.title, finding.claim.0.keys().copied());
    }
    (answer, truth)
}

fn ids(answer: &AnalyzeAnswer) -> Vec<(&'static str, Option<i64>, Option<i64>)> {
    let rounded = |pct: Option<f64>| pct.map(|pct| pct.round() as i64);
    answer
        .findings
        .iter()
        .map(|finding| (finding.id, finding.gain_ns.map(|ns| ns.0), rounded(finding.gain_pct)))
        .collect()
}

#[track_caller]
fn first(plan: &Plan, id: &str) {
    first_worth(plan, id, 6);
}

/// `tenths`: how much of what the fault costs can be had back at least.
#[track_caller]
fn first_worth(plan: &Plan, id: &str, tenths: i64) {
    let (answer, truth) = analyze(plan);
    assert_eq!(answer.findings.first().map(|finding| finding.id), Some(id), "{:?}", ids(&answer));
    let finding = &answer.findings[0];
    if let Some(pct) = answer.joint_gain_pct {
        let saved = format!("up to {pct:.0} %");
        assert!(answer.verdict.contains(&saved), "{}", answer.verdict);
    }
    let words = answer.verdict.split(' ').filter(|word| word.contains(char::is_alphanumeric)).count();
    assert!(words <= 25, "{}", answer.verdict);
    let Some(gain) = finding.gain_ns else { return };
    // What the job lost to the fault, step for step, is what removing it is said to bring.
    let planted = truth.faults.iter().map(|fault| fault.lost_ns).max().unwrap_or(0);
    let steps = i64::from(plan.steps);
    let (low, high) = (planted / steps * tenths / 10, planted / (steps - 1).max(1) * 14 / 10);
    assert!(
        (low..=high).contains(&gain.0),
        "gain {gain}, lost {planted} in {steps} steps: {:?}",
        ids(&answer)
    );
}

fn light() -> Plan {
    Plan::light().ranks(4)
}

#[test]
fn a_healthy_job_has_nothing_to_find() {
    for plan in [
        Plan::healthy().ranks(4),
        light(),
        light().sharded(),
        light().with_cuda_graph(),
        light().with_sync_rows(),
    ] {
        let (answer, _) = analyze(&plan);
        assert!(answer.findings.is_empty(), "{:?} {plan:?}", ids(&answer));
        assert!(answer.verdict.contains("no issue exceeds 2 %"), "{}", answer.verdict);
    }
}

#[test]
fn host_stalls_are_told_by_their_cause() {
    let cases = [
        (StallCause::StreamSynchronize, "host_synchronisation"),
        (StallCause::DeviceSynchronize, "host_synchronisation"),
        (StallCause::Item, "host_item"),
        (StallCause::BlockingCopy, "host_blocking_copy"),
        (StallCause::Malloc, "host_allocator"),
        (StallCause::GarbageCollection, "host_garbage_collection"),
        (StallCause::Recompilation, "host_recompilation"),
        (StallCause::Python, "host_python"),
    ];
    for (cause, id) in cases {
        first(&light().with_host_stalls(cause, 3_000_000), id);
    }
}

#[test]
fn slow_data_loading_is_found() {
    first(&light().with_slow_data_loader(30_000_000), "data_loading");
}

#[test]
fn small_kernels_are_found() {
    let (answer, _) = analyze(&light().with_small_kernels(400));
    // They are elementwise, too: fused, they are gone, while captured in a graph they still run on the GPU.
    let ids: Vec<&str> = answer.findings.iter().map(|finding| finding.id).collect();
    assert_eq!(ids, ["elementwise_chains", "small_kernels"], "{:?}", self::ids(&answer));
    assert!(answer.findings[1].gain_pct > Some(20.0), "{:?}", self::ids(&answer));
}

#[test]
fn unpinned_copies_are_found() {
    // From pinned memory the copies take half of their time.
    first_worth(&light().with_unpinned_input(100_000_000), "unpinned_copies", 5);
}

#[test]
fn low_occupancy_is_found() {
    first(&light().with_low_occupancy(400), "low_occupancy");
}

#[test]
fn recomputation_is_found() {
    first(&light().with_recomputation(), "recomputation");
}

#[test]
fn exposed_communication_is_found() {
    first(&light().with_exposed_all_reduce(), "exposed_communication");
}

#[test]
fn a_late_rank_is_found_whatever_makes_it_late() {
    first(&light().with_straggler(2, 130), "straggler");
    let (answer, _) = analyze(&light().with_straggler(2, 130));
    assert_eq!(answer.findings[0].evidence.ranks, [2]);
}

#[test]
fn memory_is_found_full_or_in_pieces() {
    first(&light().with_memory_near_limit(1, 500_000_000), "memory_near_limit");
    let (answer, _) = analyze(&light().with_fragmentation(1, 3_000_000));
    assert!(answer.findings.iter().any(|finding| finding.id == "memory_fragmented"), "{:?}", ids(&answer));
}

#[test]
fn what_gets_slower_is_told_from_what_was_slow_all_along() {
    first(&Plan { steps: 8, ..light() }.with_drift(4), "step_time_drift");
    first(&Plan { steps: 8, ..light() }.with_throttling(1, 14, 130), "clocks_throttled");
}
