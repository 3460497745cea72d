//! Idle time adds up to the truth, and what held the host up is named as planted.

use gpuscope_analysis::idle::{Cause, DeviceIdle, IdleAnswer};
use gpuscope_analysis::{Analyze, Idle, Ops};
use gpuscope_job::{JobOptions, Run};
use gpuscope_testkit::{Compression, Plan, StallCause, Truth, write_job};
use gpuscope_trace::Ns;

use crate::corpus::{ask_trace, trace_files, traces};
use crate::plans::plans;

fn ask(plan: &Plan) -> (Truth, IdleAnswer) {
    let folder = tempfile::tempdir().expect("a folder");
    let truth = write_job(plan, folder.path(), Compression::None).expect("written");
    let run =
        Run::open(&[folder.path().to_string_lossy().into_owned()], JobOptions::default()).expect("traces");
    (truth, run.ask(&Idle::default()).expect("an answer").answer)
}

fn parts(device: &DeviceIdle) -> Ns {
    device.host_ns
        + device.in_call_ns
        + device.launch_ns
        + device.queued_ns
        + device.unlinked_ns
        + device.unrecorded_ns
}

#[test]
fn every_idle_nanosecond_has_one_reason() {
    for (label, plan) in plans() {
        let (truth, answer) = ask(&plan);
        for device in &answer.devices {
            let rank = truth.ranks.iter().find(|rank| rank.rank == device.rank).expect("a known rank");
            assert_eq!(device.idle_ns.0, rank.total.idle_ns, "{label}, rank {}", rank.rank);
            assert_eq!(parts(device), device.idle_ns, "{label}, rank {}", rank.rank);
            let causes = answer.host_causes.iter().filter(|cause| cause.rank == device.rank);
            assert_eq!(causes.map(|cause| cause.idle_ns).sum::<Ns>(), device.host_ns, "{label}");
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

fn of_trace(name: &str) -> Option<IdleAnswer> {
    Some(ask_trace(&traces()?.join(name), &Idle::default()))
}

#[test]
fn every_idle_nanosecond_of_real_traces_has_one_reason() {
    let mut devices = 0;
    for file in trace_files() {
        let Ok(run) = Run::open(&[file.to_string_lossy().into_owned()], JobOptions::default()) else {
            continue;
        };
        let Ok(answer) = run.ask(&Idle::default()) else { continue };
        for device in &answer.answer.devices {
            assert_eq!(parts(device), device.idle_ns, "{}", file.display());
            devices += 1;
        }
        let sum = |of: fn(&DeviceIdle) -> Ns| answer.answer.devices.iter().map(of).sum::<Ns>();
        let calls: Ns = answer.answer.calls.iter().map(|call| call.idle_ns).sum();
        assert_eq!(calls, sum(|device| device.in_call_ns), "{}", file.display());
        let causes: Ns = answer.answer.host_causes.iter().map(|cause| cause.idle_ns).sum();
        assert_eq!(causes, sum(|device| device.host_ns), "{}", file.display());
    }
    assert!(devices > 30 || traces().is_none(), "{devices}");
}

/// What the launch call itself took is not "queued".
#[test]
fn real_launch_calls_that_take_long_are_named() {
    let expected = [
        ("amd_mi250.json.gz", [8_762_845, 2_019_296, 6_651_230, 92_319], ("hipLaunchKernel", 6_543_109)),
        (
            "mi300_normalization.json.gz",
            [1_067_761_200, 87_216_039, 979_492_624, 1_052_537],
            ("hipLaunchKernel", 331_626_739),
        ),
        (
            "cp_alexnet.json.gz",
            [12_854_103_000, 9_796_030_000, 3_057_927_000, 146_000],
            ("cudaLaunchKernel", 3_055_564_000),
        ),
    ];
    for (name, parts, (call, longest)) in expected {
        let Some(answer) = of_trace(name) else { return };
        let [device] = &*answer.devices else { panic!("{name}: one device") };
        let found = [device.idle_ns, device.host_ns, device.in_call_ns, device.launch_ns];
        assert_eq!(found, parts.map(Ns), "{name}");
        assert_eq!(device.queued_ns, Ns(0), "{name}");
        assert_eq!((&*answer.calls[0].name, answer.calls[0].longest_ns), (call, Ns(longest)), "{name}");
    }
}

#[test]
fn work_from_before_a_real_recording_is_no_idleness() {
    let Some(traces) = traces() else { return };
    let trace = traces.join("sglang_prefilldecode.json.gz");
    let analyze = ask_trace(&trace, &Analyze);
    let [device] = &*analyze.idle.devices else { panic!("one device") };
    assert_eq!((device.idle_ns, device.unrecorded_ns), (Ns(494_482_010), Ns(493_283_729)));
    // 1.198 of 494.005 ms.
    assert_eq!(format!("{:.3}", analyze.step.idle_pct), "0.243");
    assert!(!analyze.verdict.contains("idle"), "{}", analyze.verdict);
    let mfu = ask_trace(&trace, &Ops::default()).mfu.all;
    assert_eq!(
        (mfu.step_ns, mfu.mfu_pct.map(|pct| format!("{pct:.1}"))),
        (Some(Ns(494_083_745)), Some("33.8".into()))
    );
}
