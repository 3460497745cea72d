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
