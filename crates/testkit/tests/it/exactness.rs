//! The truth is exactly what the file says.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use gpuscope_testkit::mutate::mutate;
use gpuscope_testkit::{
    BreakdownTruth, Compression, Detail, Plan, StallCause, demo, file_name, truth, write_job, write_rank,
};
use std::io::Read;

use crate::reread::{Reread, Span, brute_force, ns, reread};

/// Plans that together use every feature.
pub(crate) fn plans() -> Vec<(&'static str, Plan)> {
    let small = Plan::small();
    vec![
        ("small", small.clone()),
        ("one rank", small.clone().ranks(1)),
        ("lean", small.clone().detail(Detail::Lean)),
        ("tiny", small.clone().detail(Detail::Tiny)),
        ("straggler", small.clone().with_straggler(1, 130)),
        ("slow host", small.clone().with_slow_host(1, 900)),
        ("exposed", small.clone().with_exposed_all_reduce()),
        ("clock", small.clone().with_clock(0, -123_457, 41_003).with_clock(1, 5_000_001, -77_777)),
        ("sync rows", small.clone().with_sync_rows()),
        ("overhead", small.clone().with_profiler_overhead(500_000)),
        ("graph", small.clone().with_cuda_graph()),
        ("ahead", small.clone().with_host_running_ahead()),
        ("sharded", small.clone().sharded()),
        ("pipeline", small.clone().ranks(4).layers(4).pipeline(2, 3)),
        ("tensor", small.clone().tensor_parallel(2)),
        ("tensor, sharded", small.clone().ranks(4).tensor_parallel(2).sharded()),
        ("tensor, pipeline", small.clone().ranks(8).layers(4).tensor_parallel(2).pipeline(2, 2)),
        ("tensor, recomputed", small.clone().tensor_parallel(2).with_recomputation()),
        ("loader", small.clone().with_data_loader_stall(0, 11, 90_000_000)),
        ("item", small.clone().with_host_bound_step(0, 11, StallCause::Item, 3_000_000)),
        ("stream", small.clone().with_host_bound_step(0, 11, StallCause::StreamSynchronize, 3_000_000)),
        ("malloc", small.clone().with_host_bound_step(0, 11, StallCause::Malloc, 3_000_000)),
        ("gc", small.clone().with_host_bound_step(0, 11, StallCause::GarbageCollection, 60_000_000)),
        ("copy", small.clone().with_host_stalls(StallCause::BlockingCopy, 500_000)),
        ("device", small.clone().with_host_stalls(StallCause::DeviceSynchronize, 500_000)),
        ("compile", small.clone().with_host_stalls(StallCause::Recompilation, 500_000)),
        ("python", small.clone().with_host_stalls(StallCause::Python, 500_000)),
        ("small kernels", small.clone().with_small_kernels(30)),
        ("unpinned", small.clone().with_unpinned_input(9 << 20)),
        ("low occupancy", small.clone().with_low_occupancy(250)),
        ("near limit", small.clone().with_memory_near_limit(0, 1 << 30)),
        ("fragmented", small.clone().with_fragmentation(0, 300_000)),
        ("recomputed", small.clone().with_recomputation()),
        ("recomputed, sharded", small.clone().sharded().with_recomputation()),
        ("recomputed, lean", small.clone().detail(Detail::Lean).with_recomputation()),
        ("drift", small.clone().with_drift(3)),
        ("throttled", small.clone().with_throttling(0, 11, 140)),
        ("spike", small.clone().with_allocation_spike(0, 12, 7 << 30)),
        ("unlinked", small.clone().with_unlinked_kernels(0, 250).with_clock(0, 17, 12_345)),
        ("zero", small.with_zero_length_events(0, 4)),
    ]
}

/// The first rank's file of every plan, read once for all tests.
pub(crate) fn files() -> &'static [(&'static str, Reread)] {
    static FILES: OnceLock<Vec<(&'static str, Reread)>> = OnceLock::new();
    FILES.get_or_init(|| plans().into_iter().map(|(label, plan)| (label, reread(&plan, 0))).collect())
}

#[test]
fn the_truth_is_that_of_the_file() {
    for (label, file) in files() {
        counts(label, file);
        totals(label, file);
        steps(label, file);
        kernels(label, file);
        memory(label, file);
        collectives(label, file);
    }
}

fn counts(label: &str, file: &Reread) {
    let mut by_category: BTreeMap<String, u64> = BTreeMap::new();
    for element in file.elements() {
        *by_category.entry(element["cat"].as_str().unwrap_or("").to_owned()).or_default() += 1;
    }
    assert_eq!(file.truth.events_by_category, by_category, "{label}");
    assert_eq!(file.truth.elements as usize, file.elements().len(), "{label}");
    assert_eq!(file.truth.bytes as usize, file.bytes.len(), "{label}");
}

fn totals(label: &str, file: &Reread) {
    let all = file.spans();
    assert_eq!(Some(file.truth.start_ns), all.iter().map(|span| span.start).min(), "{label}");
    assert_eq!(Some(file.truth.end_ns), all.iter().map(|span| span.end).max(), "{label}");
    let gpu: Vec<&Span> = all.iter().filter(|span| span.is_gpu()).collect();
    assert_eq!(file.truth.total, brute_force(&gpu), "{label}");
    identity(label, &file.truth.total);
    let calls = file.launches();
    let launched =
        gpu.iter().filter(|span| span.correlation().is_some_and(|id| calls.contains_key(&id))).count();
    assert_eq!(file.truth.gpu_events as usize, gpu.len(), "{label}");
    assert_eq!(file.truth.launched as usize, launched, "{label}");
    assert_eq!(file.truth.unlinked as usize, gpu.len() - launched, "{label}");
}

fn identity(label: &str, sums: &BreakdownTruth) {
    let parts = sums.computation_ns + sums.exposed_comm_ns + sums.exposed_memcpy_ns + sums.idle_ns;
    assert_eq!(parts, sums.total_ns, "{label}");
}

fn steps(label: &str, file: &Reread) {
    let spans = file.spans();
    let launches = file.launches();
    let mut annotations: Vec<&Span> = spans
        .iter()
        .filter(|span| span.category == "user_annotation" && span.name.starts_with("ProfilerStep#"))
        .collect();
    annotations.sort_by_key(|span| span.start);
    assert_eq!(annotations.len(), file.truth.steps.len(), "{label}");
    let mut last_before = None;
    for (step, annotation) in file.truth.steps.iter().zip(annotations) {
        assert_eq!(annotation.name, format!("ProfilerStep#{}", step.step));
        assert_eq!((step.start_ns, step.end_ns), (annotation.start, annotation.end), "{label}");
        let owned: Vec<&Span> = spans
            .iter()
            .filter(|span| span.is_gpu())
            .filter(|span| {
                let launch = span.correlation().and_then(|id| launches.get(&id));
                launch.is_some_and(|(start, _)| annotation.start <= *start && *start < annotation.end)
            })
            .collect();
        assert_eq!(step.gpu_events as usize, owned.len(), "{label}");
        assert!(!owned.is_empty(), "{label}");
        assert_eq!(step.breakdown, brute_force(&owned), "{label}");
        let first = owned.iter().map(|span| span.start).min().expect("GPU work");
        let last = owned.iter().map(|span| span.end).max().expect("GPU work");
        assert_eq!(step.wall_ns, annotation.end - annotation.start, "{label}");
        assert_eq!(step.period_ns, last_before.map(|before| last - before), "{label}");
        assert_eq!(step.window_ns, annotation.end.max(last) - annotation.start, "{label}");
        assert_eq!(step.lead_idle_ns, first - annotation.start, "{label}");
        assert_eq!(step.tail_idle_ns, annotation.end.max(last) - last, "{label}");
        identity(label, &step.breakdown);
        let whole = step.breakdown.total_ns + step.lead_idle_ns + step.tail_idle_ns;
        assert_eq!(whole, step.window_ns, "{label}");
        last_before = Some(last);
    }
}

fn kernels(label: &str, file: &Reread) {
    let mut sums: BTreeMap<String, (u64, i64, i64, i64)> = BTreeMap::new();
    for span in file.spans().iter().filter(|span| span.is_gpu()) {
        let ns = span.end - span.start;
        let row = sums.entry(span.name.clone()).or_insert((0, 0, i64::MAX, i64::MIN));
        *row = (row.0 + 1, row.1 + ns, row.2.min(ns), row.3.max(ns));
    }
    let truth: BTreeMap<String, (u64, i64, i64, i64)> = file
        .truth
        .kernels
        .iter()
        .map(|row| (row.name.clone(), (row.count, row.sum_ns, row.min_ns, row.max_ns)))
        .collect();
    assert_eq!(truth, sums, "{label}");
}

fn memory(label: &str, file: &Reread) {
    let mut peak: Option<(i64, i64)> = None;
    for element in file.elements().iter().filter(|element| element["name"] == "[memory]") {
        let allocated = element["args"]["Total Allocated"].as_i64().expect("bytes");
        if peak.is_none_or(|(bytes, _)| allocated > bytes) {
            peak = Some((allocated, ns(&element["ts"])));
        }
    }
    assert_eq!(file.truth.memory_peak.map(|peak| (peak.bytes, peak.at_ns)), peak, "{label}");
}

fn collectives(label: &str, file: &Reread) {
    let mut found: Vec<(String, i64, i64, i64)> = file
        .spans()
        .iter()
        .filter(|span| span.category == "kernel" && span.kind() == 1)
        .map(|span| {
            let group = span.args["Process Group Name"].as_str().expect("a group").to_owned();
            (group, span.args["Seq"].as_i64().expect("a number"), span.start, span.end - span.start)
        })
        .collect();
    let mut truth: Vec<(String, i64, i64, i64)> = file
        .truth
        .collectives
        .iter()
        .map(|row| (row.group.clone(), row.seq as i64, row.start_ns, row.dur_ns))
        .collect();
    found.sort();
    truth.sort();
    assert!(!found.is_empty(), "{label}");
    assert_eq!(truth, found, "{label}");
}

#[test]
fn the_same_plan_gives_the_same_bytes() {
    let written = |plan: &Plan| {
        let mut bytes = Vec::new();
        write_rank(plan, 0, &mut bytes).expect("writing to memory");
        bytes
    };
    for ((label, plan), (_, file)) in plans().iter().zip(files()) {
        assert!(written(plan) == file.bytes, "{label}");
    }
    assert!(written(&Plan::small()) != written(&Plan::small().seed(2)));
}

#[test]
fn a_job_is_its_ranks() {
    let dir = tempfile::tempdir().expect("a directory");
    let plan = Plan::small().with_straggler(1, 140).with_clock(1, 999, 5);
    let job = write_job(&plan, dir.path(), Compression::Gzip).expect("written");
    assert_eq!(job, truth(&plan));
    for rank in 0..2 {
        let file = std::fs::File::open(dir.path().join(file_name(rank, Compression::Gzip))).expect("a file");
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).expect("whole gzip");
        let alone = reread(&plan, rank);
        assert_eq!(bytes, alone.bytes);
        assert_eq!(job.ranks[rank as usize], alone.truth);
    }
}

#[test]
fn a_missing_file_is_missing() {
    let dir = tempfile::tempdir().expect("a directory");
    let plan = Plan::small().ranks(3).with_missing_straggler(2, 150);
    let job = write_job(&plan, dir.path(), Compression::None).expect("written");
    assert!(!dir.path().join("rank-2.json").exists());
    assert!(dir.path().join("rank-1.json").exists());
    assert_eq!(job.ranks.iter().map(|rank| rank.written).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(job.latest_rank, Some(2));
}

#[test]
fn a_rank_that_does_not_exist_is_an_error() {
    assert!(write_rank(&Plan::small(), 2, &mut std::io::sink()).is_err());
}

#[test]
fn odd_plans_are_written_too() {
    let odd = [
        Plan::small().steps(0),
        Plan { ranks: 0, ..Plan::small() },
        Plan { layers: 0, ..Plan::small() },
        Plan::small().ranks(3).layers(1).pipeline(3, 1),
        Plan::small().ranks(2).pipeline(9, 2),
        Plan::small().ranks(5).pipeline(2, 2),
        Plan::small().ranks(7).tensor_parallel(3).pipeline(2, 2),
        Plan::small().ranks(2).tensor_parallel(9),
        Plan::small().tensor_parallel(2).with_cuda_graph(),
        Plan::small().sharded().with_cuda_graph().with_exposed_all_reduce(),
        Plan { layers_per_bucket: 3, ..Plan::small().layers(7) },
        Plan { hidden: 0, batch: 0, ..Plan::small() },
        Plan::small().with_straggler(99, 200).with_data_loader_stall(0, 999, 5),
    ];
    for plan in odd {
        let job = truth(&plan);
        assert!(!job.ranks.is_empty());
        let file = reread(&plan, 0);
        assert_eq!(file.truth, job.ranks[0]);
        assert_eq!(file.truth.steps.len(), plan.steps as usize);
    }
}

#[test]
fn a_damaged_trace_differs_in_the_same_way_each_time() {
    let bytes = reread(&Plan::small().with_events(300), 0).bytes;
    for seed in 0..100 {
        assert_eq!(mutate(&bytes, seed), mutate(&bytes, seed));
    }
    assert!((0..100).filter(|&seed| mutate(&bytes, seed) != bytes).count() > 90);
}

#[test]
fn the_demo_is_as_promised() {
    let plan = demo();
    let job = truth(&plan);
    assert_eq!(job.ranks.len(), 8);
    for rank in &job.ranks {
        assert!((14_000..26_000).contains(&rank.elements), "{}", rank.elements);
    }
    assert_eq!(job.latest_rank, Some(5));
    let codes: Vec<&str> = job.faults.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, ["slow_compute", "exposed_all_reduce", "data_loader_stall"]);
    assert!(job.faults.iter().all(|fault| fault.lost_ns > 0), "{:?}", job.faults);
}
