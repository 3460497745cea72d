//! Plans that together use all that the testkit can plant.

use gpuscope_testkit::{Compression, Detail, Plan, Sharding, StallCause, demo};

pub(crate) fn plans() -> Vec<(&'static str, Plan)> {
    let small = Plan::small();
    let held_up = |cause, ns| small.clone().with_host_bound_step(0, 11, cause, ns);
    vec![
        ("healthy", Plan::healthy()),
        ("demo", demo()),
        ("small", small.clone()),
        ("one rank", small.clone().ranks(1)),
        ("one step", small.clone().steps(1)),
        ("lean", small.clone().detail(Detail::Lean)),
        ("tiny", small.clone().detail(Detail::Tiny)),
        ("straggler", small.clone().with_straggler(1, 130)),
        ("slow host", small.clone().with_slow_host(1, 900)),
        ("missing straggler", small.clone().ranks(3).with_missing_straggler(2, 150)),
        ("inherited lateness", small.clone().ranks(4).layers(4).with_inherited_lateness(150)),
        ("exposed all-reduce", small.clone().with_exposed_all_reduce()),
        ("item", held_up(StallCause::Item, 3_000_000)),
        ("stream synchronize", held_up(StallCause::StreamSynchronize, 3_000_000)),
        ("malloc", held_up(StallCause::Malloc, 3_000_000)),
        ("garbage collection", held_up(StallCause::GarbageCollection, 60_000_000)),
        ("data loader", small.clone().with_data_loader_stall(0, 11, 90_000_000)),
        ("allocation spike", small.clone().with_allocation_spike(0, 12, 7 << 30)),
        ("graph", small.clone().with_cuda_graph()),
        ("host runs ahead", small.clone().steps(6).with_host_running_ahead()),
        ("unlinked", small.clone().with_unlinked_kernels(0, 250)),
        ("unlinked and drifting", small.clone().with_unlinked_kernels(1, 20).with_clock(1, 17, 12_345)),
        ("zero length", small.clone().with_zero_length_events(0, 4)),
        ("clocks", small.clone().with_clock(0, -123_457, 41_003).with_clock(1, 5_000_001, -77_777)),
        ("sync rows", small.clone().with_sync_rows()),
        ("overhead", small.clone().with_profiler_overhead(500_000)),
        ("sharded", small.clone().sharded()),
        ("pipeline", small.clone().ranks(4).layers(4).pipeline(2, 3)),
        ("many things", many_things()),
        ("many things, sharded", Plan { cuda_graph: false, ..many_things() }.sharded()),
    ]
}

/// Faults of several sorts on top of each other.
fn many_things() -> Plan {
    Plan { seed: 99, ranks: 3, steps: 4, layers: 3, ..Plan::healthy() }
        .with_cuda_graph()
        .with_sync_rows()
        .with_profiler_overhead(200_000)
        .with_straggler(1, 120)
        .with_unlinked_kernels(2, 100)
        .with_zero_length_events(2, 3)
        .with_data_loader_stall(0, 12, 40_000_000)
        .with_clock(2, -999_999_937, 250_000)
}

/// Sizes, layouts and faults in mixtures that nobody thought of.
pub(crate) fn mixtures() -> impl Iterator<Item = Plan> {
    (0..24u32).map(|i| {
        let pick = |salt: u32, of: u32| mix(i, salt) % of;
        let mut plan = Plan {
            seed: u64::from(i),
            ranks: 1 + pick(1, 4),
            steps: 1 + pick(2, 4),
            first_step: pick(3, 1000),
            layers: 1 + pick(4, 3),
            stages: 1 + pick(5, 2),
            microbatches: 1 + pick(6, 3),
            layers_per_bucket: 1 + pick(7, 2),
            sharding: [Sharding::Replicated, Sharding::Sharded][pick(8, 2) as usize],
            detail: [Detail::Full, Detail::Lean, Detail::Tiny][pick(9, 3) as usize],
            sync_rows: pick(10, 2) == 0,
            overhead_ns_per_step: i64::from(pick(11, 3)) * 70_000,
            cuda_graph: pick(12, 3) == 0,
            host_runs_ahead: pick(13, 3) == 0,
            ..Plan::healthy()
        };
        let (rank, step) = (pick(14, plan.ranks), plan.first_step + pick(15, plan.steps));
        let causes = [
            StallCause::Item,
            StallCause::StreamSynchronize,
            StallCause::Malloc,
            StallCause::GarbageCollection,
        ];
        plan = plan.with_clock(rank, i64::from(pick(16, 2_000_000)) - 1_000_000, i64::from(pick(17, 90_000)));
        plan = match pick(18, 5) {
            0 => plan.with_unlinked_kernels(rank, 1 + pick(19, 900)),
            1 => plan.with_zero_length_events(rank, 1 + pick(19, 5)),
            2 => plan.with_host_bound_step(rank, step, causes[pick(19, 4) as usize], 2_000_000),
            3 => plan.with_straggler(rank, 110 + pick(19, 90)),
            _ => plan.with_exposed_all_reduce().with_slow_host(rank, 200 + pick(19, 2000)),
        };
        plan
    })
}

fn mix(a: u32, b: u32) -> u32 {
    let mixed = (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as u32
}

/// Every other job is compressed.
pub(crate) fn compression(i: usize) -> Compression {
    if i.is_multiple_of(2) { Compression::None } else { Compression::Gzip }
}
