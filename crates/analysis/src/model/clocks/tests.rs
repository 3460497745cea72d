//! Clocks of small jobs, worked out by hand.

use gpuscope_trace::Arg;

use super::*;
use crate::Collectives;
use crate::collectives::tests::{ALL_REDUCE, Said, job};
use crate::testing::{Sample, trace};

fn clocks(ranks: Vec<(u32, Sample)>) -> Vec<RankClock> {
    job(&Collectives::default(), ranks).clocks
}

fn on(host: &'static str, sample: Sample) -> Sample {
    sample.about(|metadata| metadata.host_name = Some(host.to_owned()))
}

/// The half-width, with some nanoseconds for rounding and for what a drift may add in a microsecond.
fn is_about(clock: &RankClock, half_width: i64) -> bool {
    (half_width..half_width + 6).contains(&clock.half_width_ns.0)
}

#[test]
fn a_collective_bounds_the_offset_from_both_sides() {
    // Rank 1 began at 1050 by its own clock, which was before rank 0 ended at 100: it is ahead by 950 at least.
    // It ended at 1100, after rank 0 had begun at 0: by 1100 at most.
    let found =
        clocks(vec![(0, trace().nccl(ALL_REDUCE, 0..100)), (1, trace().nccl(ALL_REDUCE, 1050..1100))]);
    assert_eq!((found[0].offset_ns.0, found[0].half_width_ns.0), (0, 0));
    assert_eq!((found[1].offset_ns.0, found[1].reference_rank), (1025, 0));
    assert!(is_about(&found[1], 75));
}

#[test]
fn ranks_of_one_host_share_a_clock() {
    let found = clocks(vec![
        (0, on("a", trace().nccl(ALL_REDUCE, 0..100))),
        (1, on("a", trace().nccl(ALL_REDUCE, 50..100))),
    ]);
    assert_eq!(found[1].half_width_ns.0, 0);
    // Unless one of them cannot have been in the collective at that time.
    let found = clocks(vec![
        (0, on("a", trace().nccl(ALL_REDUCE, 0..100))),
        (1, on("a", trace().nccl(ALL_REDUCE, 900_050..900_100))),
    ]);
    assert_eq!(found[1].offset_ns.0, 900_025);
}

#[test]
fn clocks_are_reached_through_others_or_stand_alone() {
    let group = |group: &'static str, ranks: &'static str| Said { group, ranks, ..ALL_REDUCE };
    let (ab, bc, d) = (group("ab", "[0, 1]"), group("bc", "[1, 2]"), group("d", "[3]"));
    let found = clocks(vec![
        (0, trace().nccl(ab, 0..100)),
        (1, trace().nccl(ab, 1000..1100).nccl(bc, 2000..2100)),
        (2, trace().nccl(bc, 7000..7100)),
        (3, trace().nccl(d, 50..60)),
    ]);
    let references: Vec<_> = found.iter().map(|clock| clock.reference_rank).collect();
    assert_eq!(references, [0, 0, 0, 3]);
    assert_eq!((found[1].offset_ns.0, found[3].offset_ns.0, found[3].half_width_ns.0), (1000, 0, 0));
    assert!((found[2].offset_ns.0 - 6000).abs() <= 1, "{found:#?}");
    assert!(is_about(&found[1], 100) && is_about(&found[2], 200), "{found:#?}");
}

#[test]
fn a_receive_bounds_from_one_side_and_its_answer_from_the_other() {
    let send = |to| [(Arg::DestinationRank, to)];
    let recv = |from| [(Arg::SourceRank, from)];
    let there = |sample: Sample| sample.nccl(Said { name: "send", ints: &send(1), ..ALL_REDUCE }, 0..50);
    let arrived = |sample: Sample| sample.nccl(Said { name: "recv", ints: &recv(0), ..ALL_REDUCE }, 500..550);
    let one_way = clocks(vec![(0, there(trace())), (1, arrived(trace()))]);
    assert_eq!((one_way[1].reference_rank, one_way[1].offset_ns.0), (1, 0));
    let back = |sample: Sample| sample.nccl(Said { name: "send", ints: &send(0), ..ALL_REDUCE }, 600..660);
    let returned = |sample: Sample| sample.nccl(Said { name: "recv", ints: &recv(1), ..ALL_REDUCE }, 90..160);
    let both = clocks(vec![(0, returned(there(trace()))), (1, back(arrived(trace())))]);
    // At most 550 - 0, at least 600 - 160.
    assert_eq!((both[1].reference_rank, both[1].offset_ns.0), (0, 495));
    assert!(is_about(&both[1], 55), "{both:#?}");
}

#[test]
fn a_broadcast_makes_nobody_wait() {
    let said = Said { name: "broadcast", ..ALL_REDUCE };
    let found = clocks(vec![(0, trace().nccl(said, 0..100)), (1, trace().nccl(said, 5000..5100))]);
    assert_eq!((found[1].reference_rank, found[1].offset_ns.0), (1, 0));
}

#[test]
fn contradictions_are_reported_and_not_aligned() {
    let three = |starts: [i64; 3]| {
        starts.into_iter().fold(trace(), |sample, start| sample.nccl(ALL_REDUCE, start..start + 1_000))
    };
    let ranks = || vec![(0, three([0, 1_000_000, 2_000_000])), (1, three([0, 9_000_000, 9_900_000]))];
    let answer = job(&Collectives::default(), ranks());
    assert_eq!(answer.clocks[1].offset_ns.0, 0);
    assert!(answer.clocks[1].contradiction_ns.is_some_and(|by| by.0 > 3_000_000));
    let quality = crate::Question::quality(&Collectives::default(), &answer);
    assert!(quality.iter().any(|entry| entry.message.contains("contradict")), "{quality:#?}");
}
