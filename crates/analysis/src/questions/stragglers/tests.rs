//! Who is late in small jobs, worked out by hand.

use gpuscope_trace::Ns;

use super::*;
use crate::collectives::tests::{ALL_REDUCE, Said, job};
use crate::testing::{Sample, trace};

/// A rank that computes for so long before each collective; all end together.
fn rank(name: &str, compute: &[i64]) -> Sample {
    let sample = trace().about(|metadata| metadata.host_name = Some("a".to_owned()));
    let rounds = compute.iter().enumerate();
    rounds.fold(sample, |sample, (i, compute)| {
        let from = 1_000 * i as i64;
        sample.kernel("gemm", 7, from..from + compute, None).kernel(
            name,
            20,
            from + compute..from + 990,
            None,
        )
    })
}

#[test]
fn any_naming_will_do_and_no_steps_are_needed() {
    for name in [
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "rcclAllReduceKernel",
        "void vllm::cross_device_reduce_2stage<float, 2>(x)",
    ] {
        let ranks = vec![(0, rank(name, &[100; 4])), (1, rank(name, &[100; 4])), (5, rank(name, &[300; 4]))];
        let answer = job(&Stragglers, ranks);
        assert_eq!(answer.latest_rank, Some(5), "{name}");
        let late = &answer.ranks[2];
        assert_eq!((late.collectives, late.arrived_last, late.last), (4, 4, 4), "{name}");
        assert_eq!(
            (late.own_lateness_ns, late.inherited_ns, late.wait_ns),
            (Ns(800), Ns(0), Ns(0)),
            "{name}"
        );
        let pattern = late.pattern.as_ref().unwrap();
        assert_eq!((pattern.persistent, pattern.late_in, pattern.of), (true, 4, 4), "{name}");
        assert_eq!(late.cause.as_ref().unwrap().why, Why::SlowerKernels);
        assert_eq!(late.cause.as_ref().unwrap().slower_kernels_ns, Ns(800));
    }
}

#[test]
fn now_and_then_is_transient() {
    let name = "ncclDevKernel_AllReduce";
    let answer =
        job(&Stragglers, vec![(0, rank(name, &[100; 6])), (1, rank(name, &[100, 100, 100, 700, 100, 100]))]);
    let late = &answer.ranks[1];
    assert_eq!((answer.latest_rank, late.own_lateness_ns), (Some(1), Ns(600)));
    assert!(!late.pattern.as_ref().unwrap().persistent);
}

#[test]
fn between_clocks_durations_tell_who_was_last() {
    // Rank 1's clock is far ahead, and it is the one that waits.
    let first = trace().nccl(ALL_REDUCE, 500..600).nccl(ALL_REDUCE, 1_590..1_600);
    let second = trace().nccl(ALL_REDUCE, 90_100..90_600).nccl(ALL_REDUCE, 91_580..91_600);
    let answer = job(&Stragglers, vec![(0, first), (1, second)]);
    assert_eq!((answer.ranks[0].last, answer.ranks[0].own_lateness_ns), (1, Ns(400)));
    assert_eq!((answer.ranks[0].arrived_last, answer.ranks[1].arrived_last), (0, 2));
    assert_eq!(answer.latest_rank, Some(0));
}

#[test]
fn what_the_clocks_do_not_tell_is_not_told() {
    let answer = job(
        &Stragglers,
        vec![(0, trace().nccl(ALL_REDUCE, 0..1_000)), (1, trace().nccl(ALL_REDUCE, 100..1_000))],
    );
    assert_eq!((answer.ranks[1].arrived_last, answer.ranks[1].last, answer.latest_rank), (1, 0, None));
    assert!(answer.notes[0].contains("cannot be told"), "{:?}", answer.notes);
}

#[test]
fn what_was_waited_for_elsewhere_is_inherited() {
    let group = |group: &'static str, ranks: &'static str| Said { group, ranks, ..ALL_REDUCE };
    let (ab, bc) = (group("ab", "[0, 1]"), group("bc", "[1, 2]"));
    let host = |sample: Sample| sample.about(|metadata| metadata.host_name = Some("a".to_owned()));
    // Rank 0 is late; rank 1 waits for it, and then keeps rank 2 waiting: for 300 of 310 not by its own doing.
    let answer = job(
        &Stragglers,
        vec![
            (0, host(trace().nccl(ab, 400..450))),
            (1, host(trace().nccl(ab, 100..450).nccl(bc, 460..500))),
            (2, host(trace().nccl(bc, 150..500))),
        ],
    );
    let own: Vec<_> = answer.ranks.iter().map(|rank| (rank.own_lateness_ns.0, rank.inherited_ns.0)).collect();
    assert_eq!(own, [(300, 0), (10, 300), (0, 0)]);
    assert_eq!((answer.ranks[1].inherited_from, answer.ranks[1].last_inherited), (Some(0), 1));
    assert_eq!(answer.latest_rank, Some(0));
}

#[test]
fn with_nobody_to_compare_the_answer_says_so() {
    let alone = job(&Stragglers, vec![(3, trace().nccl(ALL_REDUCE, 0..10))]);
    assert_eq!((alone.ranks.len(), alone.ranks[0].collectives, alone.latest_rank), (1, 0, None));
    assert!(alone.notes[0].contains("One rank"), "{:?}", alone.notes);
    let apart = job(&Stragglers, vec![(0, trace().kernel("gemm", 7, 0..5, None)), (1, trace())]);
    assert!(apart.notes[0].contains("No synchronising collective"), "{:?}", apart.notes);
    assert!(job(&Stragglers, Vec::new()).ranks.is_empty());
}

#[test]
fn kernels_without_metadata_do_not_count_beside_those_with() {
    let rank = || trace().kernel("ncclDevKernel_AllReduce", 20, 0..5, None).nccl(ALL_REDUCE, 10..20);
    let answer = job(&Stragglers, vec![(0, rank()), (1, rank())]);
    assert_eq!(answer.ranks.iter().map(|rank| rank.collectives).collect::<Vec<_>>(), [1, 1]);
}
