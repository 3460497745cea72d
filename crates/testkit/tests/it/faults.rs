//! Every planted fault is visible in the files, and a healthy job has none.

use gpuscope_testkit::{Plan, Truth, truth};

use crate::reread::reread;

pub(crate) fn base() -> Plan {
    Plan { layers: 4, steps: 4, ranks: 4, ..Plan::healthy() }
}

pub(crate) fn lost(job: &Truth, code: &str) -> i64 {
    job.faults.iter().find(|fault| fault.code == code).expect("planted").lost_ns
}

fn share(part: i64, whole: i64) -> f64 {
    part as f64 / whole as f64
}

#[test]
fn a_healthy_job_is_healthy() {
    for plan in [Plan::healthy(), Plan::light()] {
        let job = truth(&plan);
        assert!(job.faults.is_empty());
        assert_eq!(job.latest_rank, None);
        for rank in &job.ranks {
            assert!(share(rank.total.idle_ns, rank.total.total_ns) < 0.02, "{:?}", rank.total);
            assert!(share(rank.total.exposed_comm_ns, rank.total.total_ns) < 0.025, "{:?}", rank.total);
            assert_eq!((rank.unlinked, rank.zero_length_gpu_events), (0, 0));
        }
        for step in job.ranks.iter().flat_map(|rank| &rank.steps) {
            assert!(share(step.breakdown.idle_ns, step.breakdown.total_ns) < 0.02, "{step:?}");
        }
        let most = job.lateness.iter().map(|row| row.behind_ns).max().expect("ranks");
        assert!(share(most, job.true_makespan_ns) < 0.03, "{:?}", job.lateness);
        let periods = || job.ranks.iter().flat_map(|rank| &rank.steps).filter_map(|step| step.period_ns);
        let (least, most) = (periods().min().expect("steps"), periods().max().expect("steps"));
        assert!(share(most - least, least) < 0.01, "neither spread nor drift: {least} to {most}");
    }
}

#[test]
fn a_straggler_is_last_and_the_others_wait() {
    let job = truth(&base().with_straggler(2, 130));
    assert_eq!(job.latest_rank, Some(2));
    assert!(lost(&job, "slow_compute") > job.true_makespan_ns / 10);
    let waits: Vec<i64> = job.lateness.iter().map(|row| row.wait_ns).collect();
    assert!((0..4).filter(|rank| *rank != 2).all(|rank| waits[rank] > 20 * waits[2].max(1)), "{waits:?}");
    let steps = &job.ranks[0].steps;
    assert!(steps[1].breakdown.exposed_comm_ns > steps[1].breakdown.total_ns / 10);
}

#[test]
fn a_slow_host_starves_its_gpu() {
    let healthy = truth(&base());
    let job = truth(&base().with_slow_host(1, 3_000));
    assert_eq!(job.latest_rank, Some(1));
    assert!(lost(&job, "slow_host") > 0);
    assert!(job.ranks[1].total.idle_ns > 5 * healthy.ranks[1].total.idle_ns);
}

#[test]
fn lateness_is_inherited_over_groups() {
    // Rank 0 is slow; its pipeline successor, rank 2, is then late among its own replicas.
    let job = truth(&base().layers(8).with_inherited_lateness(150));
    assert_eq!(job.latest_rank, Some(0));
    let among_second_stage: Vec<_> =
        job.collectives.iter().filter(|row| row.members == [2, 3] && row.peers.is_none()).collect();
    assert!(!among_second_stage.is_empty());
    let inherited =
        among_second_stage.iter().filter(|row| row.last_rank == 2 && row.inherited_from == Some(0));
    assert!(2 * inherited.count() > among_second_stage.len(), "{among_second_stage:?}");
    assert!(job.lateness[0].behind_ns > 5 * job.lateness[2].behind_ns, "{:?}", job.lateness);
}

#[test]
fn a_pipeline_has_bubbles() {
    let job = truth(&base().layers(8).pipeline(4, 4));
    let bubbles: Vec<_> = job.faults.iter().filter(|fault| fault.code == "pipeline_bubble").collect();
    assert_eq!(bubbles.len(), 4);
    assert!(bubbles.iter().all(|bubble| bubble.lost_ns > 0), "{bubbles:?}");
    assert!(job.ranks[3].total.exposed_comm_ns > job.ranks[3].total.total_ns / 5);
}

#[test]
fn ranks_that_share_blocks_wait_for_their_sums() {
    let plan = base().ranks(8).tensor_parallel(2).pipeline(2, 2);
    let file = reread(&plan, 5);
    let groups = file.root["distributedInfo"]["pg_config"].as_array().expect("groups");
    let ranks = |description: &str| {
        let mut named = groups.iter().filter(|group| group["pg_desc"] == description);
        let found = named.next().expect("a group")["ranks"].clone();
        assert!(named.next().is_none());
        found
    };
    assert_eq!((ranks("tp"), ranks("dp"), ranks("pp")), ([4, 5].into(), [5, 7].into(), [1, 5].into()));
    let sums: Vec<_> =
        file.spans().iter().filter(|span| span.args["Process Group Description"] == "tp").collect();
    let kernels = || sums.iter().filter(|span| span.category == "kernel");
    // Two blocks per stage, twice in each direction, two micro-batches, four steps.
    assert_eq!(kernels().count(), 2 * 4 * 2 * 4);
    assert!(kernels().all(|span| span.tid == 28 && span.args["Group size"] == 2));

    let plan = base().tensor_parallel(2);
    let (job, beside) = (truth(&plan), truth(&plan.with_perfect_overlap("tp")));
    let row = job.faults.iter().find(|row| row.code == "exposed_tensor_parallel").expect("a row");
    assert_eq!(row.lost_ns, job.true_makespan_ns - beside.true_makespan_ns);
    let exposed = |job: &Truth| job.ranks[0].total.exposed_comm_ns;
    assert_eq!(row.exposed_comm_ns, exposed(&job) - exposed(&beside));
    assert!(row.step_lost_ns > 500_000 && 10 * row.exposed_comm_ns > 9 * row.lost_ns, "{row:?}");
}

#[test]
fn an_all_reduce_after_the_backward_pass_is_exposed() {
    let (overlapped, exposed) = (truth(&base()), truth(&base().with_exposed_all_reduce()));
    assert!(exposed.ranks[0].total.exposed_comm_ns > 3 * overlapped.ranks[0].total.exposed_comm_ns);
    assert!(lost(&exposed, "exposed_all_reduce") > 0);
    let planted = &exposed.faults[0];
    let difference = exposed.ranks[0].total.exposed_comm_ns - overlapped.ranks[0].total.exposed_comm_ns;
    assert_eq!(planted.exposed_comm_ns, difference);
}

#[test]
fn a_host_running_ahead_leads_more_and_more() {
    let job = truth(&base().with_host_running_ahead());
    let lead = |step: &gpuscope_testkit::StepTruth| step.window_ns - step.wall_ns;
    let leads: Vec<i64> = job.ranks[0].steps.iter().map(lead).collect();
    assert!(leads.windows(2).all(|pair| pair[0] < pair[1]), "{leads:?}");
    let steps = &job.ranks[0].steps;
    assert!(steps[3].end_ns < steps[1].start_ns + steps[1].window_ns);
}

#[test]
fn a_graph_launches_many_kernels_at_once() {
    let file = reread(&base().with_cuda_graph(), 0);
    let spans = file.spans();
    let graphs: Vec<_> = spans.iter().filter(|span| span.name == "cudaGraphLaunch").collect();
    assert_eq!(graphs.len(), 4);
    for graph in graphs {
        let nodes = spans
            .iter()
            .filter(|span| span.category == "kernel" && span.correlation() == graph.correlation())
            .inspect(|span| assert!(span.args["graph node id"].is_i64() && span.args["graph id"].is_i64()));
        assert!(nodes.count() > 40);
    }
}

#[test]
fn an_allocation_spike_is_the_peak() {
    let plan = base().with_allocation_spike(1, 12, 20 << 30);
    let job = truth(&plan);
    let (with, without) =
        (job.ranks[1].memory_peak.expect("memory"), job.ranks[0].memory_peak.expect("memory"));
    assert!(with.bytes - without.bytes > 15 << 30);
    let step = &job.ranks[1].steps[2];
    assert!((step.start_ns..step.end_ns).contains(&with.at_ns));
}

#[test]
fn unlinked_and_empty_events_are_counted() {
    let job = truth(&base().with_unlinked_kernels(0, 300).with_zero_length_events(1, 5));
    let part = share(job.ranks[0].unlinked as i64, job.ranks[0].gpu_events as i64);
    assert!((0.2..0.4).contains(&part), "{part}");
    assert_eq!(job.ranks[1].unlinked, 0);
    assert_eq!(job.ranks[1].zero_length_gpu_events, 20);
}

#[test]
fn a_wrong_clock_changes_times_and_not_the_truth() {
    let (exact, wrong) = (truth(&base()), truth(&base().with_clock(1, 3_000_000, 50_000)));
    assert_eq!(exact.collectives, wrong.collectives);
    assert_eq!(exact.ranks[0], wrong.ranks[0]);
    let (before, after) = (&exact.ranks[1].collectives[0], &wrong.ranks[1].collectives[0]);
    assert!(after.start_ns - before.start_ns >= 3_000_000);
    assert_eq!(after.true_start_ns, before.true_start_ns);
    assert_eq!(wrong.ranks[1].clock.drift_ppb, 50_000);
}

#[test]
fn the_profilers_own_work_is_a_row_per_step() {
    let file = reread(&base().with_profiler_overhead(250_000), 0);
    let rows: Vec<_> = file.spans().iter().filter(|span| span.category == "overhead").collect();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.end - row.start == 250_000 && row.pid == -1));
}
