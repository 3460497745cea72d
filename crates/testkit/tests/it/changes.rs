//! A changed job differs from the job as it was by the change and its consequences, and by nothing else.

use gpuscope_testkit::{Change, Plan, StallCause, Truth, truth};

use crate::reread::{Span, reread};

fn light() -> Plan {
    Plan { ranks: 2, steps: 5, layers: 6, ..Plan::light() }
}

fn median_period(job: &Truth, rank: usize) -> i64 {
    let mut periods: Vec<i64> = job.ranks[rank].steps.iter().filter_map(|step| step.period_ns).collect();
    periods.sort_unstable();
    periods[periods.len() / 2]
}

fn near(left: i64, right: i64, per_mille: i64) -> bool {
    (left - right).abs() * 1000 <= right * per_mille
}

/// Durations of the GPU work of a rank, in the order of the file, with their names.
fn durations(plan: &Plan) -> Vec<(String, i64)> {
    let duration = |span: &Span| (span.name.clone(), span.end - span.start);
    reread(plan, 0).spans().iter().filter(|span| span.is_gpu()).map(duration).collect()
}

#[test]
fn scaling_by_a_hundred_per_cent_changes_nothing() {
    let plan = light().with_straggler(1, 120);
    let (before, after) = (truth(&plan), truth(&plan.clone().scale_kernels("", 100)));
    assert_eq!(before, after);
}

#[test]
fn scaled_kernels_take_their_share_and_all_others_stay() {
    let (before, after) = (durations(&light()), durations(&light().scale_kernels("nvjet", 40)));
    assert_eq!(before.len(), after.len());
    let mut scaled = 0;
    for ((name, was), (same, is)) in before.iter().zip(&after) {
        assert_eq!(name, same);
        if name.contains("nvjet") {
            assert_eq!(*is, was * 40 / 100);
            scaled += 1;
        } else if !name.contains("nccl") {
            assert_eq!(is, was, "{name}");
        }
    }
    assert!(scaled > 100);
}

#[test]
fn a_faster_kernel_saves_what_it_took_where_the_gpu_is_the_limit() {
    let (before, after) = (truth(&light()), truth(&light().scale_kernels("nvjet", 40)));
    let of_kernel = |job: &Truth| -> i64 {
        job.ranks[0].kernels.iter().filter(|row| row.name.contains("nvjet")).map(|row| row.sum_ns).sum()
    };
    let saved = (of_kernel(&before) - of_kernel(&after)) / 5;
    let shorter = median_period(&before, 0) - median_period(&after, 0);
    assert!(near(shorter, saved, 30), "{shorter} instead of {saved}");
}

#[test]
fn of_a_transfer_only_the_part_after_the_last_arrival_is_scaled() {
    let plan = light().with_straggler(1, 130);
    let (before, after) = (truth(&plan), truth(&plan.clone().scale_kernels("nccl", 50)));
    assert_eq!(before.collectives.len(), after.collectives.len());
    for (was, is) in before.collectives.iter().zip(&after.collectives) {
        assert_eq!(is.transfer_ns, was.transfer_ns / 2);
    }
    let waits = |job: &Truth| job.lateness[0].wait_ns;
    assert!(near(waits(&after), waits(&before), 100), "{} and {}", waits(&before), waits(&after));
    assert!(after.true_makespan_ns < before.true_makespan_ns);
}

#[test]
fn without_launch_overhead_calls_are_empty_and_a_starved_gpu_is_fed() {
    let plan = light().with_small_kernels(400);
    let changed = plan.clone().without_launch_overhead();
    let file = reread(&changed, 0);
    let calls = || file.spans().iter().filter(|span| span.name.starts_with("cudaLaunchKernel"));
    assert!(calls().count() > 5 * 6 * 400 && calls().all(|call| call.start == call.end));
    let (before, after) = (truth(&plan), truth(&changed));
    assert!(median_period(&after, 0) * 100 < median_period(&before, 0) * 90);
    let kernels = |job: &Truth| job.ranks[0].kernels.clone();
    let computed = |job: &Truth| -> Vec<_> {
        kernels(job).into_iter().filter(|row| row.kernel_type == "COMPUTATION").collect()
    };
    assert_eq!(computed(&before), computed(&after));
}

#[test]
fn without_synchronisation_the_host_never_waits() {
    let stalled = light().with_host_stalls(StallCause::Item, 400_000);
    let changed = stalled.clone().without_synchronisation();
    let file = reread(&changed, 0);
    let waits = file.spans().iter().filter(|span| span.name.ends_with("Synchronize"));
    let longest: Vec<i64> = waits.map(|span| span.end - span.start).collect();
    // The last one ends the job.
    assert!(longest[..longest.len() - 1].iter().all(|ns| *ns < 10_000), "{longest:?}");
    let (healthy, before, after) = (truth(&light()), truth(&stalled), truth(&changed));
    assert!(median_period(&before, 0) - median_period(&healthy, 0) > 2_000_000);
    assert!(near(median_period(&after, 0), median_period(&healthy, 0), 5));
    let copying = light().with_host_stalls(StallCause::BlockingCopy, 400_000).without_synchronisation();
    let held = reread(&copying, 0);
    assert!(
        held.spans()
            .iter()
            .filter(|span| span.name == "cudaMemcpy")
            .all(|call| call.end - call.start < 10_000)
    );
}

#[test]
fn a_rank_as_the_median_is_a_rank_without_its_faults() {
    let plan = light().with_straggler(1, 130).with_unlinked_kernels(1, 100).with_small_kernels(10);
    let (changed, expected) = (
        truth(&plan.with_rank_as_median(1)),
        truth(&light().with_unlinked_kernels(1, 100).with_small_kernels(10)),
    );
    assert_eq!(changed, expected);
}

#[test]
fn nothing_waits_for_an_overlapped_group() {
    let exposed = light().with_exposed_all_reduce();
    let (before, after) = (truth(&exposed), truth(&exposed.clone().with_perfect_overlap("default_pg")));
    let share = |job: &Truth| job.ranks[0].total.exposed_comm_ns * 100 / job.ranks[0].total.total_ns;
    assert!(share(&before) > 10 && share(&after) < 2, "{} and {}", share(&before), share(&after));
    let saved = before.ranks[0].total.exposed_comm_ns / 5;
    let shorter = median_period(&before, 0) - median_period(&after, 0);
    assert!(near(shorter, saved, 50), "{shorter} instead of {saved}");
    let other = exposed.clone().with_change(Change::Overlap { group: "pp".to_owned() });
    assert_eq!(truth(&other), before);
}
