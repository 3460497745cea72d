//! What holds the host up is recorded where the time is spent, and costs what the truth says.

use gpuscope_testkit::{Plan, StallCause, truth};

use crate::faults::{base, lost};
use crate::reread::{Reread, reread};

/// A cause, the category and name of the event its time lies in, and as much time per block as the GPU has to feel.
const CAUSES: [(StallCause, &str, &str, i64); 8] = [
    (StallCause::StreamSynchronize, "cuda_runtime", "cudaStreamSynchronize", 400_000),
    (StallCause::DeviceSynchronize, "cuda_runtime", "cudaDeviceSynchronize", 400_000),
    (StallCause::Item, "cpu_op", "aten::_local_scalar_dense", 400_000),
    (StallCause::BlockingCopy, "cuda_runtime", "cudaMemcpy", 400_000),
    (StallCause::Malloc, "cpu_op", "aten::empty", 400_000),
    (StallCause::GarbageCollection, "python_function", "Python GC", 3_000_000),
    (StallCause::Recompilation, "user_annotation", "compile_fx_inner (dynamo_timed)", 3_000_000),
    (StallCause::Python, "python_function", "model.py(88): build_mask", 3_000_000),
];

fn light() -> Plan {
    Plan { ranks: 2, steps: 4, layers: 4, ..Plan::light() }
}

/// Time inside events of that name that lie in the planted stretches, and the time of the stretches.
fn inside(file: &Reread, category: &str, name: &str) -> (i64, i64) {
    let sites = &file.truth.fault_sites;
    let in_site = |start, end| sites.iter().any(|site| site.start_ns <= start && end <= site.end_ns);
    let found = file.spans().iter().filter(|span| span.category == category && span.name == name);
    let found = found.filter(|span| in_site(span.start, span.end)).map(|span| span.end - span.start);
    (found.sum(), sites.iter().map(|site| site.end_ns - site.start_ns).sum())
}

#[test]
fn every_cause_is_tried() {
    assert_eq!(CAUSES.map(|(cause, ..)| cause), StallCause::ALL);
}

#[test]
fn a_stall_lies_in_the_events_that_cause_it() {
    for (cause, category, name, ns) in CAUSES {
        let file = reread(&light().with_host_stalls(cause, ns), 1);
        assert_eq!(file.truth.fault_sites.len(), 4 * 4, "{name}");
        let (found, whole) = inside(&file, category, name);
        assert!(found * 100 > whole * 95 && found >= 16 * ns, "{name}: {found} of {whole}");
    }
}

#[test]
fn stalls_everywhere_cost_every_step_of_every_rank() {
    for (cause, _, name, ns) in CAUSES {
        let job = truth(&light().with_host_stalls(cause, ns));
        let fault = &job.faults[0];
        assert_eq!((fault.rank, fault.step), (None, None));
        assert!(fault.step_lost_ns > 1_000_000, "{name}: {fault:?}");
        assert!(fault.lost_ns > 3 * fault.step_lost_ns, "{name}: {fault:?}");
        let healthy = truth(&light());
        for (with, without) in job.ranks.iter().zip(&healthy.ranks) {
            for (slow, fast) in with.steps.iter().zip(&without.steps).skip(1) {
                assert!(slow.period_ns > fast.period_ns.map(|ns| ns + 1_000_000), "{name}");
            }
        }
    }
}

#[test]
fn a_stall_in_one_step_of_one_rank_stays_there() {
    for (cause, _, name, ns) in CAUSES {
        let job = truth(&light().with_host_bound_step(0, 12, cause, ns));
        let fault = &job.faults[0];
        let step = &job.ranks[0].steps[2];
        assert!(fault.lost_ns > 1_000_000, "{name}: {fault:?}");
        assert!(step.start_ns <= fault.start_ns && fault.end_ns <= step.end_ns, "{name}");
        let periods: Vec<_> = job.ranks[0].steps.iter().map(|step| step.period_ns).collect();
        assert_eq!(periods.iter().max(), Some(&periods[2]), "{name}");
        assert!(job.ranks[1].fault_sites.is_empty());
    }
}

#[test]
fn a_wait_ends_only_when_the_gpu_has_nothing_left() {
    for (cause, call) in [
        (StallCause::Item, "cudaStreamSynchronize"),
        (StallCause::StreamSynchronize, "cudaStreamSynchronize"),
        (StallCause::Malloc, "cudaFree"),
    ] {
        let file = reread(&light().with_host_stalls(cause, 50_000), 0);
        let launches = file.launches();
        let mut waits = 0;
        for wait in file.spans().iter().filter(|span| span.name == call) {
            let unfinished = file.spans().iter().filter(|span| span.is_gpu() && span.tid == 7).any(|span| {
                let launch = span.correlation().and_then(|id| launches.get(&id));
                launch.is_some_and(|(_, end)| *end <= wait.start) && span.end > wait.end - 50_000 / 3
            });
            assert!(!unfinished, "{call} at {}", wait.start);
            waits += 1;
        }
        assert_eq!(waits, 16, "{call}");
    }
}

#[test]
fn a_blocking_copy_comes_from_pageable_memory_while_the_host_waits() {
    let file = reread(&light().with_host_stalls(StallCause::BlockingCopy, 400_000), 0);
    let launches = file.launches();
    let copies: Vec<_> =
        file.spans().iter().filter(|span| span.name == "Memcpy HtoD (Pageable -> Device)").collect();
    assert_eq!(copies.len(), 16);
    for copy in copies {
        let (start, end) = launches[&copy.correlation().expect("a launch")];
        assert!(start < copy.start && copy.end < end);
        assert!((399_000..=400_000).contains(&(copy.end - copy.start)));
    }
}

#[test]
fn a_data_loader_stall_idles_the_gpu() {
    let plan = base().with_data_loader_stall(3, 12, 150_000_000);
    let job = truth(&plan);
    assert!(lost(&job, "data_loader_stall") > 50_000_000, "{:?}", job.faults);
    let step = &job.ranks[3].steps[2];
    assert!(step.lead_idle_ns >= 150_000_000);
    assert!(job.collectives.iter().any(|row| row.last_rank == 3 && row.last_behind_ns > 50_000_000));
    let file = reread(&plan, 3);
    let loads = file.spans().iter().filter(|span| span.name.starts_with("enumerate(DataLoader)"));
    assert_eq!(loads.filter(|span| span.end - span.start >= 150_000_000).count(), 1);
}

#[test]
fn a_slow_data_loader_costs_every_step() {
    let plan = light().with_slow_data_loader(20_000_000);
    let job = truth(&plan);
    let fault = &job.faults[0];
    assert!(fault.step_lost_ns > 2_000_000 && fault.lost_ns > 4 * fault.step_lost_ns, "{fault:?}");
    for rank in &job.ranks {
        assert_eq!(rank.fault_sites.len(), 4);
    }
    let file = reread(&plan, 1);
    let loads = file.spans().iter().filter(|span| span.name.starts_with("enumerate(DataLoader)"));
    assert_eq!(loads.filter(|span| span.end - span.start >= 20_000_000).count(), 4);
}
