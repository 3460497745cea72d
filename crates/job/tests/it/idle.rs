//! Idle time adds up to the truth, and what held the host up is named as planted.

use gpuscope_analysis::Idle;
use gpuscope_analysis::idle::{Cause, IdleAnswer};
use gpuscope_job::{JobOptions, Run};
use gpuscope_testkit::{Compression, Plan, StallCause, Truth, write_job};

use crate::plans::plans;

fn ask(plan: &Plan) -> (Truth, IdleAnswer) {
    let folder = tempfile::tempdir().expect("a folder");
    let truth = write_job(plan, folder.path(), Compression::None).expect("written");
    let run =
        Run::open(&[folder.path().to_string_lossy().into_owned()], JobOptions::default()).expect("traces");
    (truth, run.ask(&Idle::default()).expect("an answer").answer)
}

#[test]
fn every_idle_nanosecond_has_one_reason() {
    for (label, plan) in plans() {
        let (truth, answer) = ask(&plan);
        for device in &answer.devices {
            let rank = truth.ranks.iter().find(|rank| rank.rank == device.rank).expect("a known rank");
            assert_eq!(device.idle_ns.0, rank.total.idle_ns, "{label}, rank {}", rank.rank);
            let parts = device.host_ns + device.launch_ns + device.queued_ns + device.unlinked_ns;
            assert_eq!(parts, device.idle_ns, "{label}, rank {}", rank.rank);
            let causes = answer.host_causes.iter().filter(|cause| cause.rank == device.rank);
            assert_eq!(
                causes.map(|cause| cause.idle_ns).sum::<gpuscope_trace::Ns>(),
                device.host_ns,
                "{label}"
            );
        }
    }
}

#[test]
fn what_held_the_host_up_comes_first() {
    let plan = Plan::small().with_host_bound_step(0, 11, StallCause::GarbageCollection, 60_000_000);
    let first = ask(&plan).1.host_causes.into_iter().find(|found| found.rank == 0).expect("a cause");
    assert_eq!(first.cause, Cause::GarbageCollection);
    let plan = Plan::small().with_data_loader_stall(0, 11, 80_000_000);
    let first = ask(&plan).1.host_causes.into_iter().find(|found| found.rank == 0).expect("a cause");
    assert_eq!(first.cause, Cause::DataLoading);
}

#[test]
fn the_longest_wait_is_the_planted_one() {
    let (truth, answer) = ask(&Plan::small().with_data_loader_stall(0, 11, 80_000_000));
    let gap = &answer.host_gaps[0];
    assert_eq!((gap.rank, gap.step, gap.cause), (0, Some(11), Cause::DataLoading));
    assert!(gap.stack.iter().any(|name| name.contains("DataLoader")), "{gap:?}");
    let planted = truth.ranks[0].fault_sites[0];
    let (from, to) = (gap.start_ns.0, (gap.start_ns + gap.idle_ns).0);
    let common = to.min(planted.end_ns) - from.max(planted.start_ns);
    assert!(common * 10 > gap.idle_ns.0 * 9, "{gap:?} is most of it in {planted:?}");
}
