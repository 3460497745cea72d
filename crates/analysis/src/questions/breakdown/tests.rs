use gpuscope_table::Tabular;
use gpuscope_trace::Criteria;

use super::*;
use crate::model::step_time::{Basis, Reason};
use crate::testing::{Loaded, Sample, json, trace};

fn ask(sample: Sample) -> RankBreakdown {
    sample.build().ask(&Breakdown::default()).ranks.remove(0)
}

/// Two steps; the GPU runs behind the host, and what step 1 launched ends inside step 2.
fn two_steps() -> Loaded {
    trace()
        .step(1, 0..100)
        .call(1, 10..12)
        .call(2, 20..22)
        .kernel("gemm", 7, 30..60, 1)
        .kernel("ncclAllReduce", 20, 50..120, 2)
        .step(2, 100..200)
        .call(3, 110..112)
        .call(4, 120..122)
        .memcpy("Memcpy DtoH", 21, 115..125, 3)
        .kernel("gemm", 7, 130..150, 4)
        .kernel("unlaunched", 7, 170..175, None)
        .build()
}

#[test]
fn kinds_hide_each_other_in_order() {
    let total = ask(trace()
        .kernel("gemm", 7, 0..10, None)
        .memset(7, 10..15, None)
        .kernel("ncclAllReduce", 20, 5..30, None)
        .memcpy("Memcpy HtoD", 21, 12..40, None)
        .kernel("gemm", 7, 50..60, None))
    .total;
    assert_eq!(
        json(&total),
        serde_json::json!({
            "computation_ns": 25, "comm_ns": 25, "memcpy_ns": 28, "exposed_comm_ns": 15,
            "exposed_memcpy_ns": 10, "busy_ns": 50, "total_ns": 60, "idle_ns": 10,
            "est_sm_efficiency_pct": null, "est_occupancy_pct": null,
        })
    );
}

#[test]
fn devices_with_the_same_streams_are_apart_and_together_in_the_total() {
    let rank = ask(trace().on(1).kernel("gemm", 7, 5..15, None).on(0).kernel("gemm", 7, 0..10, None));
    let devices: Vec<_> =
        rank.devices.iter().map(|d| (d.device, d.times.busy_ns, d.times.total_ns)).collect();
    assert_eq!(devices, [(0, Ns(10), Ns(10)), (1, Ns(10), Ns(10))]);
    assert_eq!((rank.total.busy_ns, rank.total.total_ns), (Ns(15), Ns(15)));
}

#[test]
fn gaps_below_the_threshold_are_micro_idle() {
    let question = Breakdown::default().micro_idle_us(0.005);
    assert_eq!(question.micro_idle, Some(Ns(5)));
    // Idle for 4, 5 and 3; an event without length does not end a gap, unless it is the last of all.
    let sample = trace()
        .kernel("a", 7, 0..10, None)
        .kernel("b", 7, 14..20, None)
        .kernel("empty", 7, 22..22, None)
        .kernel("c", 7, 25..30, None)
        .kernel("empty", 7, 33..33, None);
    let total = sample.build().ask(&question).ranks.remove(0).total;
    assert_eq!((total.total_ns, total.idle_ns), (Ns(33), Ns(12)));
    assert_eq!((total.micro_idle_ns, total.macro_idle_ns), (Some(Ns(7)), Some(Ns(5))));
}

#[test]
fn a_step_owns_what_it_launched_wherever_it_ran() {
    let rank = two_steps().ask(&Breakdown::default()).ranks.remove(0);
    let times =
        |step: &StepTimes| (step.times.computation_ns.0, step.times.exposed_comm_ns.0, step.times.idle_ns.0);
    let window =
        |step: &StepTimes| (step.window_ns.0, step.lead_idle_ns.0, step.tail_idle_ns.0, step.wall_ns.0);
    let [first, second] = &rank.steps[..] else { panic!("two steps") };
    assert_eq!((first.step, times(first), window(first)), (1, (30, 60, 0), (120, 30, 0, 100)));
    assert_eq!((second.step, times(second), window(second)), (2, (20, 0, 5), (100, 15, 50, 100)));
    assert_eq!((first.period_ns, second.period_ns), (None, Some(Ns(30))));
    assert_eq!(rank.step_time_ns, Some(Ns(30)));
    assert!(rank.inferred_steps.is_empty());
    let table = BreakdownAnswer { ranks: vec![rank] }.tables().remove(2);
    assert_eq!((table.name, table.rows()), ("steps", 2));
}

#[test]
fn a_step_without_gpu_work_is_a_row_of_zeros_and_breaks_the_periods() {
    let rank = ask(trace()
        .step(1, 0..10)
        .call(1, 1..2)
        .kernel("gemm", 7, 5..9, 1)
        .step(2, 10..30)
        .step(3, 30..40)
        .call(2, 31..32)
        .kernel("gemm", 7, 35..39, 2));
    let idle = &rank.steps[1];
    assert_eq!(idle.times, Times::default());
    assert_eq!((idle.window_ns, idle.lead_idle_ns, idle.tail_idle_ns), (Ns(20), Ns(20), Ns(0)));
    assert_eq!(rank.steps[2].period_ns, None);
    let time = rank.step_time.unwrap();
    assert_eq!((time.from, time.ns, time.steps_used), (Basis::Window, Ns(10), 2));
    assert_eq!(time.left_out[0].reason, Reason::NoGpuWork);
}

#[test]
fn a_step_has_no_period_if_the_one_before_was_not_recorded() {
    let at = |sample: Sample, number: i64, at: i64| {
        sample.step(number, at..at + 10).call(number, at..at + 1).kernel("gemm", 7, at + 1..at + 8, number)
    };
    let rank = ask(at(at(at(trace(), 4, 0), 5, 10), 9, 50));
    assert_eq!(rank.steps.iter().map(|s| s.period_ns).collect::<Vec<_>>(), [None, Some(Ns(10)), None]);
    let left_out: Vec<_> =
        rank.step_time.unwrap().left_out.iter().map(|out| (out.step, out.reason)).collect();
    assert_eq!(left_out, [(4, Reason::First), (9, Reason::First)]);
}

#[test]
fn a_window_begins_with_a_gpu_event_that_a_clock_put_before_the_step() {
    let rank = ask(trace().step(1, 10..20).call(1, 11..12).kernel("gemm", 7, 8..15, 1));
    let step = &rank.steps[0];
    assert_eq!((step.window_ns, step.lead_idle_ns, step.tail_idle_ns), (Ns(12), Ns(0), Ns(5)));
}

#[test]
fn a_dropped_or_unselected_step_has_no_row_and_no_work() {
    let loaded = two_steps();
    let drop = Criteria { drop_last_step: true, ..Criteria::default() };
    let rank = loaded.ask_about(&drop, &Breakdown::default()).ranks.remove(0);
    assert_eq!(rank.steps.iter().map(|s| s.step).collect::<Vec<_>>(), [1]);
    assert_eq!(rank.total.total_ns, Ns(90));
    let second = Criteria { steps: Some((2, 2)), ..Criteria::default() };
    let rank = loaded.ask_about(&second, &Breakdown::default()).ranks.remove(0);
    assert_eq!((rank.steps[0].step, rank.steps[0].period_ns), (2, None));
    assert_eq!((rank.steps.len(), rank.total.total_ns), (1, Ns(35)));
}

#[test]
fn a_last_step_whose_launches_lack_their_work_is_cut() {
    let steps = |sample: Sample| {
        (1..=4).fold(sample, |sample, i| {
            let at = i * 100;
            sample.step(i, at..at + 100).call(i, at + 1..at + 2).kernel("gemm", 7, at + 10..at + 90, i)
        })
    };
    let whole = ask(steps(trace())).step_time.unwrap();
    assert_eq!((whole.ns, whole.steps_used), (Ns(100), 3));
    let cut = ask(steps(trace()).call(77, 480..481)).step_time.unwrap();
    let reasons: Vec<_> = cut.left_out.iter().map(|out| (out.step, out.reason)).collect();
    assert_eq!(reasons, [(1, Reason::First), (4, Reason::Cut)]);
}

#[test]
fn steps_are_guessed_only_where_none_are_recorded_and_stay_apart() {
    let rank = ask(iterations());
    assert_eq!((rank.steps.len(), rank.inferred_steps.len()), (0, 4));
    assert_eq!(rank.step_time_ns, Some(Ns(101)));
    let marked = iterations().build().with_steps(|name| name.starts_with("iter"));
    let rank = marked.ask(&Breakdown::default()).ranks.remove(0);
    assert_eq!((rank.steps.len(), rank.inferred_steps.len()), (4, 0));
    assert_eq!((rank.steps[3].step, rank.steps[3].wall_ns), (3, Ns(90)));
}

#[test]
fn estimates_are_over_the_time_of_kernels_and_apart_per_device() {
    let rank = ask(trace()
        .filling(7, 0..10, 0.5, 25.0)
        .memcpy("Memcpy HtoD", 7, 10..100, None)
        .on(1)
        .filling(7, 0..30, 4.0, 75.0));
    let estimates = |t: &Times| (t.est_sm_efficiency_pct, t.est_occupancy_pct);
    assert_eq!(estimates(&rank.devices[0].times), (Some(50.0), Some(25.0)));
    assert_eq!(estimates(&rank.devices[1].times), (Some(100.0), Some(75.0)));
    assert_eq!(estimates(&rank.total), (Some(87.5), Some(62.5)));
}

#[test]
fn a_rank_without_gpu_events_has_zeros_and_no_devices() {
    let rank = ask(trace().step(551, 0..10));
    assert_eq!((rank.total, rank.devices.len()), (Times::default(), 0));
    assert_eq!((rank.steps.len(), rank.steps[0].lead_idle_ns), (1, Ns(10)));
    assert_eq!(ask(trace()).step_time, None);
}

/// Four iterations of a loop, each with a kernel of its own length.
fn iterations() -> Sample {
    (0..4).fold(trace(), |sample, i| {
        let at = i * 100;
        sample.host("user_annotation", "iteration", at..at + 90).call(i + 1, at..at + 1).kernel(
            "gemm",
            7,
            at + 10..at + 50 + i,
            i + 1,
        )
    })
}

#[test]
fn guessed_and_marked_steps_can_be_selected() {
    let second = Criteria { steps: Some((1, 1)), ..Criteria::default() };
    let without_last = Criteria { drop_last_step: true, ..Criteria::default() };
    let rank = |loaded: &Loaded, criteria| loaded.ask_about(criteria, &Breakdown::default()).ranks.remove(0);
    let numbers = |rows: &[StepTimes]| rows.iter().map(|row| row.step).collect::<Vec<_>>();

    let guessed = iterations().build();
    let only = rank(&guessed, &second);
    assert_eq!((numbers(&only.inferred_steps), only.total.busy_ns), (vec![1], Ns(41)));
    let kept = rank(&guessed, &without_last);
    assert_eq!((numbers(&kept.inferred_steps), kept.total.busy_ns), (vec![0, 1, 2], Ns(123)));

    let marked = iterations().build().with_steps(|name| name == "iteration");
    let only = rank(&marked, &second);
    assert_eq!((numbers(&only.steps), only.total.busy_ns), (vec![1], Ns(41)));
    assert!(only.inferred_steps.is_empty());
}

#[test]
fn a_marker_wins_over_recorded_steps_even_if_it_matches_nothing() {
    let both = || iterations().step(7, 0..200).step(8, 200..400).build();
    assert_eq!(both().ask(&Breakdown::default()).ranks[0].steps.len(), 2);
    assert_eq!(
        both().with_steps(|name| name == "iteration").ask(&Breakdown::default()).ranks[0].steps.len(),
        4
    );
    let none = both().with_steps(|_| false).ask(&Breakdown::default()).ranks.remove(0);
    assert_eq!((none.steps.len(), none.inferred_steps.len()), (0, 0));
    // What is in the file stays in the file.
    assert_eq!(both().with_steps(|_| false).ask(&crate::Info).ranks[0].steps, [7, 8]);
}
