//! Work that takes longer than it need, or need not be there at all, shows in the files and costs what the truth says.

use std::collections::BTreeMap;

use gpuscope_testkit::{Plan, PlantedFault, truth};

use crate::reread::{Reread, Span, reread};

fn light() -> Plan {
    Plan { ranks: 2, steps: 5, layers: 4, ..Plan::light() }
}

fn planted(plan: &Plan) -> PlantedFault {
    truth(plan).faults.into_iter().next().expect("planted")
}

fn kernels<'f>(file: &'f Reread, part: &str) -> Vec<&'f Span> {
    file.spans().iter().filter(|span| span.category == "kernel" && span.name.contains(part)).collect()
}

/// Kernels by name: how many, and how long in all.
fn sums(plan: &Plan, rank: usize) -> BTreeMap<String, (u64, i64)> {
    let job = truth(plan);
    job.ranks[rank].kernels.iter().map(|row| (row.name.clone(), (row.count, row.sum_ns))).collect()
}

#[test]
fn the_host_cannot_keep_up_with_small_kernels() {
    let plan = light().with_small_kernels(800);
    let file = reread(&plan, 0);
    let small: Vec<&Span> = file
        .spans()
        .iter()
        .filter(|span| span.category == "kernel" && span.args["grid"][0] == 8)
        .filter(|span| span.name.contains("elementwise"))
        .collect();
    assert_eq!(small.len(), 5 * 4 * 800);
    assert!(small.iter().all(|span| (2_000..3_000).contains(&(span.end - span.start))));
    // Where the lead is used up, a kernel starts only just after its launch.
    let launches = file.launches();
    let starved = small.iter().filter(|span| {
        let (_, ready) = launches[&span.correlation().expect("a launch")];
        span.start - ready < 3_000
    });
    assert!(2 * starved.count() > small.len());
    let fault = planted(&plan);
    assert_eq!(fault.code, "small_kernels");
    assert!(fault.step_lost_ns > 5_000_000 && fault.idle_ns > 5 * 3_000_000, "{fault:?}");
}

#[test]
fn an_unpinned_input_stands_in_the_way_of_every_step() {
    let plan = light().with_unpinned_input(64 << 20);
    let file = reread(&plan, 1);
    let copies: Vec<_> =
        file.spans().iter().filter(|span| span.name == "Memcpy HtoD (Pageable -> Device)").collect();
    assert_eq!(copies.len(), 5);
    assert!(copies.iter().all(|copy| copy.tid == 7 && copy.args["bytes"] == 64 << 20));
    let fault = planted(&plan);
    // 11 ms from pageable memory, 1.3 ms from pinned.
    assert!((9_000_000..11_000_000).contains(&fault.step_lost_ns), "{fault:?}");
    let without = Plan { faults: Vec::new(), ..plan };
    let pinned = reread(&without, 1);
    let copies = pinned.spans().iter().filter(|span| span.name == "Memcpy HtoD (Pinned -> Device)");
    assert!(copies.clone().count() == 5 && copies.clone().all(|copy| copy.args["bytes"] == 64 << 20));
}

#[test]
fn a_narrow_kernel_leaves_multiprocessors_empty() {
    let plan = light().with_low_occupancy(400);
    let (narrow, wide) = (reread(&plan, 0), reread(&light(), 0));
    let (narrow, wide) = (kernels(&narrow, "flash_fwd"), kernels(&wide, "flash_fwd"));
    assert_eq!((narrow.len(), wide.len()), (5 * 4, 5 * 4));
    let blocks = |span: &Span| {
        let grid = span.args["grid"].as_array().expect("a grid").iter();
        grid.filter_map(serde_json::Value::as_i64).product::<i64>()
    };
    for (slow, fast) in narrow.iter().zip(&wide) {
        assert!(blocks(slow) < 132 && slow.args["est. achieved occupancy %"] == 5 && blocks(fast) >= 132);
        assert_eq!(slow.end - slow.start, 4 * (fast.end - fast.start));
    }
    assert!(planted(&plan).step_lost_ns > 400_000);
}

#[test]
fn recomputation_runs_the_forward_pass_again_inside_the_backward_pass() {
    let plan = light().with_recomputation();
    let file = reread(&plan, 0);
    let checkpoints = |name: &'static str| file.spans().iter().filter(move |span| span.name == name);
    assert_eq!(checkpoints("CheckpointFunction").count(), 5 * 4);
    assert_eq!(checkpoints("CheckpointFunctionBackward").count(), 5 * 4);
    let launches = file.launches();
    for backward in checkpoints("CheckpointFunctionBackward") {
        let launched_inside = |part: &str| {
            let inside = |span: &&&Span| {
                let (start, _) = launches[&span.correlation().expect("a launch")];
                backward.start <= start && start < backward.end
            };
            kernels(&file, part).iter().filter(inside).count()
        };
        assert_eq!((launched_inside("flash_fwd"), launched_inside("flash_bwd")), (1, 1));
        assert_eq!(launched_inside("vectorized_layer_norm_kernel"), 2);
    }
    let (with, without) = (sums(&plan, 0), sums(&light(), 0));
    for (name, (count, _)) in &with {
        let twice = name.contains("flash_fwd") || name.contains("GeluCUDAKernelImpl");
        assert_eq!(*count, without[name].0 * if twice { 2 } else { 1 } + extra(name), "{name}");
    }
    let fault = planted(&plan);
    assert!(fault.step_lost_ns > 1_000_000 && fault.lost_ns > 4 * fault.step_lost_ns, "{fault:?}");
    let (job, kept) = (truth(&plan), truth(&light()));
    let peak = |job: &gpuscope_testkit::Truth| job.ranks[0].memory_peak.expect("memory").bytes;
    assert!(peak(&job) < peak(&kept), "thrown away activations need no memory");
}

/// Runs of kernels that a block shares with what is not run again: two norms, four products and two sums per block.
fn extra(name: &str) -> u64 {
    let per_block = if name.contains("vectorized_layer_norm_kernel") || name.contains("CUDAFunctor_add<c10") {
        2
    } else if name.contains("nvjet") {
        4
    } else {
        0
    };
    5 * 4 * per_block
}

#[test]
fn drift_makes_every_step_slower_than_the_one_before() {
    let plan = light().with_drift(4);
    for rank in &truth(&plan).ranks {
        let periods: Vec<i64> = rank.steps.iter().filter_map(|step| step.period_ns).collect();
        let (first, last) = (periods[0], periods[periods.len() - 1]);
        assert!(periods.windows(2).all(|pair| pair[1] * 100 > pair[0] * 102), "{periods:?}");
        assert!((108..=113).contains(&(last * 100 / first)), "{periods:?}");
    }
    assert!(planted(&plan).lost_ns > 0);
    let (with, without) = (sums(&plan, 0), sums(&light(), 0));
    assert!(with.iter().all(|(name, (count, _))| without[name].0 == *count), "no more work");
}

#[test]
fn throttled_clocks_slow_the_same_kernels_from_one_step_on() {
    let plan = light().with_throttling(1, 12, 130);
    let (slow, fast) = (reread(&plan, 1), reread(&light(), 1));
    let gemms = |file: &Reread| -> Vec<i64> {
        kernels(file, "nvjet").iter().map(|span| span.end - span.start).collect()
    };
    let (slow, fast) = (gemms(&slow), gemms(&fast));
    let per_step = slow.len() / 5;
    assert_eq!(slow[..2 * per_step], fast[..2 * per_step]);
    for (slow, fast) in slow.iter().zip(&fast).skip(2 * per_step) {
        assert_eq!(*slow, fast * 130 / 100);
    }
    let fault = planted(&plan);
    assert!(fault.rank == Some(1) && fault.step_lost_ns > 1_000_000, "{fault:?}");
    assert_eq!(truth(&plan).latest_rank, Some(1));
}
