//! Who was late, by how much, and whether it was its own doing: as planted.

use gpuscope_analysis::stragglers::{RankStraggler, StragglersAnswer, Why};
use gpuscope_analysis::{Dossier, Stragglers};
use gpuscope_testkit::{Plan, StallCause, Truth, demo};
use gpuscope_trace::Ns;

use crate::answers::ask;
use crate::corpus::{ask_trace, corpus};
use crate::plans::{mixtures, plans};

fn stragglers(plan: &Plan) -> (Truth, StragglersAnswer) {
    let (truth, outcome) = ask(plan, &Stragglers);
    (truth, outcome.answer)
}

fn rank(answer: &StragglersAnswer, rank: u32) -> &RankStraggler {
    answer.ranks.iter().find(|row| row.rank == rank).expect("a row for every rank")
}

/// All on one host and one clock, so that arrivals are known to the nanosecond.
fn on_one_clock(plan: &Plan) -> bool {
    plan.clocks.is_empty() && plan.ranks <= 8
}

#[test]
fn lateness_is_the_planted_one_to_the_nanosecond() {
    let all = plans().into_iter().map(|(label, plan)| (label.to_owned(), plan));
    let mixed = mixtures().map(|plan| (format!("{plan:?}"), Plan { clocks: Vec::new(), ..plan }));
    for (label, plan) in all.chain(mixed).filter(|(_, plan)| on_one_clock(plan)) {
        let (truth, answer) = stragglers(&plan);
        if truth.ranks.iter().any(|rank| !rank.written) {
            continue;
        }
        for planted in &truth.lateness {
            let found = rank(&answer, planted.rank);
            let label = format!("{label}, rank {}", planted.rank);
            assert_eq!(
                (found.last, found.last_inherited),
                (planted.arrived_last, planted.inherited),
                "{label}"
            );
            assert_eq!(found.own_lateness_ns.0, planted.behind_ns, "{label}");
            assert_eq!(found.wait_ns.0, planted.wait_ns, "{label}");
        }
        let inherited: i64 =
            truth.collectives.iter().filter(|row| row.peers.is_none()).map(|row| row.inherited_ns).sum();
        assert_eq!(answer.ranks.iter().map(|rank| rank.inherited_ns.0).sum::<i64>(), inherited, "{label}");
    }
}

#[test]
fn the_latest_rank_is_named() {
    for (label, plan) in plans() {
        let (truth, answer) = stragglers(&plan);
        if on_one_clock(&plan) && truth.ranks.iter().all(|rank| rank.written) {
            assert_eq!(answer.latest_rank, truth.latest_rank, "{label}: {:#?}", answer.notes);
        }
    }
}

#[test]
fn slow_kernels_are_told_from_a_slow_host() {
    let (_, answer) = stragglers(&Plan::healthy().ranks(4).layers(4).with_straggler(2, 130));
    let late = rank(&answer, 2);
    let (cause, pattern) = (late.cause.as_ref().expect("a cause"), late.pattern.as_ref().expect("a pattern"));
    assert_eq!((answer.latest_rank, cause.why, pattern.persistent), (Some(2), Why::SlowerKernels, true));
    assert!(cause.kernel.is_some());

    let (_, answer) = stragglers(&Plan::healthy().ranks(4).layers(4).with_slow_host(1, 6000));
    let late = rank(&answer, 1);
    assert_eq!(answer.latest_rank, Some(1));
    assert_eq!(late.cause.as_ref().map(|cause| cause.why), Some(Why::Host), "{:#?}", answer.notes);
    assert_eq!(late.pattern.as_ref().map(|pattern| pattern.persistent), Some(true));
}

#[test]
fn one_bad_step_is_transient() {
    let plan = Plan::healthy().ranks(4).layers(4);
    for plan in [
        plan.clone().with_data_loader_stall(3, 12, 200_000_000),
        plan.with_host_bound_step(3, 12, StallCause::GarbageCollection, 60_000_000),
    ] {
        let (_, answer) = stragglers(&plan);
        assert_eq!(answer.latest_rank, Some(3), "{:#?}", answer.notes);
        let late = rank(&answer, 3);
        assert_eq!(late.cause.as_ref().map(|cause| cause.why), Some(Why::Host), "{:#?}", answer.notes);
        let pattern = late.pattern.as_ref().expect("a pattern");
        assert_eq!((pattern.persistent, pattern.late_steps.as_slice()), (false, &[12][..]));
    }
}

#[test]
fn inherited_lateness_is_not_held_against_a_rank() {
    let plan = Plan::healthy().ranks(8).layers(8).with_inherited_lateness(140);
    let (truth, answer) = stragglers(&plan);
    assert_eq!((truth.latest_rank, answer.latest_rank), (Some(0), Some(0)), "{:#?}", answer.notes);
    // Rank 4 has the second stage behind rank 0.
    let fed = rank(&answer, 4);
    assert!(fed.last > 0 && fed.inherited_ns > fed.own_lateness_ns && !fed.late, "{fed:#?}");
    assert_eq!(fed.inherited_from, Some(0));
}

#[test]
fn a_late_rank_may_be_one_that_is_missing() {
    let (_, answer) = stragglers(&Plan::healthy().ranks(4).layers(4).with_missing_straggler(2, 150));
    assert_eq!(answer.latest_rank, None, "{:#?}", answer.notes);
    assert_eq!(answer.missing.iter().map(|missing| missing.rank).collect::<Vec<_>>(), [2]);
    assert!(answer.notes.iter().any(|note| note.contains("rank 2")), "{:#?}", answer.notes);
    assert!(answer.unexplained_wait_ns.0 > 0);
}

#[test]
fn one_rank_alone_is_not_late() {
    let (_, answer) = stragglers(&Plan::small().ranks(1));
    assert_eq!((answer.latest_rank, answer.ranks.len(), answer.notes.len()), (None, 1, 1));
    assert_eq!(answer.ranks[0].collectives, 0);
}

#[test]
fn a_healthy_job_has_no_late_rank() {
    for plan in [Plan::healthy(), Plan::healthy().sharded(), Plan::healthy().pipeline(2, 4)] {
        let (_, answer) = stragglers(&plan);
        assert_eq!(answer.latest_rank, None, "{:#?}", answer.notes);
    }
}

#[test]
fn four_real_ranks_in_one_file_are_aligned_by_the_ends_of_their_all_reduces() {
    let Some(corpus) = corpus() else { return };
    let merged = corpus.join("formats/traces/ranks/mi300x_4ranks_merged.json.gz");
    let answer = ask_trace(&merged, &Stragglers);
    let clocks: Vec<u32> = answer.clocks.iter().map(|clock| clock.rank).collect();
    assert_eq!(clocks, [0, 1, 2, 3]);
    // The ends of all-reduces are within 21 µs of each other as written; those of broadcasts up to 3.3 ms apart.
    for clock in &answer.clocks {
        assert!(clock.half_width_ns < Ns(30_000), "{clock:?}");
        assert!(clock.offset_ns.0.abs() < 10_000, "{clock:?}");
        assert_eq!(clock.host, None);
    }
    let [others @ .., late] = &*answer.ranks else { panic!("four ranks") };
    assert!(others.iter().all(|rank| !rank.late && rank.last == 0 && rank.others_wait_ns == Ns(0)));
    assert_eq!((late.rank, late.last, late.collectives, late.late), (3, 15, 15, true));
    // What the others were longer in these all-reduces than rank 3, by their durations alone.
    assert_eq!(late.others_wait_ns, Ns(44_716_374));
    assert_eq!(format!("{:.1}", late.others_wait_pct), "32.9");
}

#[test]
fn the_slow_rank_of_the_demo_is_never_called_alike() {
    let (_, outcome) = ask(&demo(), &Dossier { most_slices: 10, least_share: 0.5 });
    let differs = outcome.answer.analyze.step.differs.expect("rank 5 differs");
    assert_eq!((differs.rank, differs.part), (5, "computation"));
    // Its step is as long as the others': they wait for it.
    assert_eq!(format!("{:.1}", outcome.answer.analyze.step.spread_pct), "0.0");
    let exposed =
        outcome.answer.numbers.iter().find(|number| number.name == "exposed_comm").expect("a number");
    let unlike = exposed.worst.expect("a rank");
    let said = (unlike.rank, format!("{:.1}", unlike.value), format!("{:.1}", unlike.from_median));
    assert_eq!(said, (5, "18.2".to_owned(), "-12.3".to_owned()));
}
