//! What communication cost, and whose doing it was.

use gpuscope_trace::Ns;

use super::*;
use crate::idle::Cause;

#[test]
fn what_the_last_rank_did_instead() {
    let rank = |compute: i64, launched: i64| {
        let second = 40 + compute.max(launched + 10);
        trace()
            .nccl(ALL_REDUCE, 10..40)
            .host("cpu_op", "aten::item", 45..launched.max(46) + 40)
            .call(1, launched + 40..launched + 41)
            .kernel("gemm", 7, 40 + launched + 5..second, 1)
            .nccl(ALL_REDUCE, second..150)
    };
    let late = |ranks: Vec<(u32, Sample)>| job(&Collectives::default(), ranks).late.remove(0);
    let slow = late(vec![(0, rank(20, 0)), (1, rank(60, 0))]);
    assert_eq!((slow.late_rank, slow.second_rank, slow.behind_ns.0, slow.waited_ns.0), (1, 0, 40, 40));
    assert_eq!((slow.doing, slow.more_ns.0, slow.event.as_deref()), (Doing::Computation, 40, Some("gemm")));
    let since = Since {
        since_ns: Ns(60),
        computation_ns: Ns(55),
        communication_ns: Ns(0),
        host_ns: Ns(0),
        other_ns: Ns(5),
    };
    assert_eq!(slow.late, since);
    let held_up = late(vec![(0, rank(20, 0)), (1, rank(20, 50))]);
    assert_eq!((held_up.doing, held_up.event.as_deref()), (Doing::Host, Some("aten::item")));
    assert_eq!((held_up.behind_ns.0, held_up.late.host_ns.0, held_up.cause), (40, 50, Some(Cause::Item)));
}

#[test]
fn time_is_counted_by_purpose_and_rank() {
    let dp = Said { ints: &seq(1), ..ALL_REDUCE };
    let rank =
        |start: i64| trace().kernel("gemm", 7, 0..70, None).nccl(dp, start..100).nccl(ALL_REDUCE, 90..90);
    let answer = job(&Collectives { gpus_per_node: Some(1) }, vec![(0, rank(20)), (1, rank(60))]);
    let times: Vec<_> = answer
        .group_ranks
        .iter()
        .map(|row| {
            (row.rank, row.collectives, row.times.exposed_ns.0, row.times.wait_ns.0, row.times.transfer_ns.0)
        })
        .collect();
    assert_eq!(times, [(0, 2, 30, 40, 40), (1, 2, 30, 0, 40)]);
    let [group] = answer.groups.as_slice() else { panic!("{:#?}", answer.groups) };
    assert_eq!(
        (group.group.as_str(), group.role, group.role_from),
        ("dp", Some(Role::Data), RoleFrom::Description)
    );
    assert_eq!((group.times.exposed_ns.0, group.times.comm_ns.0), (60, 120));
    assert_eq!((group.span, answer.nodes.from), (Some(Span::InterNode), NodesFrom::GpusPerNode));
}

#[test]
fn collectives_of_one_group_that_overlap_are_exposed_once() {
    let both = trace()
        .kernel("gemm", 7, 0..20, None)
        .nccl(ALL_REDUCE, 10..50)
        .nccl(ALL_REDUCE, 30..70)
        .nccl(ALL_REDUCE, 40..60);
    let answer = job(&Collectives::default(), vec![(0, both)]);
    assert_eq!((answer.groups[0].times.exposed_ns.0, answer.groups[0].times.comm_ns.0), (50, 100));
}

#[test]
fn machines_are_told_by_their_names_or_by_their_devices() {
    let rank = |host: Option<&str>, devices: usize| {
        let sample = trace().nccl(Said { ranks: "[0, 1, 2]", ..ALL_REDUCE }, 10..20);
        sample.about(|metadata| {
            metadata.host_name = host.map(str::to_owned);
            metadata.devices = vec![gpuscope_trace::metadata::Device::default(); devices];
        })
    };
    let span = |ranks: Vec<(u32, Sample)>| {
        let answer = job(&Collectives::default(), ranks);
        (answer.collectives[0].span, answer.nodes.from)
    };
    let named = vec![(0, rank(Some("a"), 2)), (1, rank(Some("b"), 2))];
    assert_eq!(span(named), (Some(Span::InterNode), NodesFrom::HostNames));
    // The third rank is not here, so nobody knows where it ran.
    let one = vec![(0, rank(Some("a"), 8)), (1, rank(Some("a"), 8))];
    assert_eq!(span(one), (None, NodesFrom::HostNames));
    let counted = |devices| vec![(0, rank(None, devices)), (1, rank(None, devices))];
    assert_eq!(span(counted(8)), (Some(Span::IntraNode), NodesFrom::DeviceProperties));
    assert_eq!(span(counted(2)), (Some(Span::InterNode), NodesFrom::DeviceProperties));
    assert_eq!(span(counted(1)), (None, NodesFrom::Unknown));
}

#[test]
fn stages_wait_for_each_other() {
    let transfer = |name, ints, time| {
        let said = Said { name, ints, description: "pp", ranks: "[0, 4]", ..ALL_REDUCE };
        trace().kernel("gemm", 7, 0..5, None).nccl(said, time)
    };
    let first = transfer("send", &[(Arg::DestinationRank, 4)], 30..50);
    let second = transfer("recv", &[(Arg::SourceRank, 0)], 10..50);
    let answer = job(&Collectives::default(), vec![(0, first), (4, second)]);
    let stages: Vec<_> = answer
        .stages
        .iter()
        .map(|row| {
            (row.stage, row.ranks.as_slice(), row.wait_sending_ns.0, row.wait_receiving_ns.0, row.wait_pct)
        })
        .collect();
    assert_eq!(stages, [(0, &[0][..], 0, 0, 0.0), (1, &[4][..], 0, 20, 40.0)]);
    assert_eq!(answer.stages[1].transfer_ns.0, 20);
}

#[test]
fn uneven_all_to_alls_are_mapped() {
    let call = |rank: usize, sent: &'static str, got: &'static str, elements: (i64, i64)| {
        let mut sample = trace();
        let texts = [(Arg::InSplitSize, sent), (Arg::OutSplitSize, got)]
            .map(|(arg, text)| (arg, sample.intern(text)));
        let said = Said { name: "all_to_allv", ranks: "[0, 1, 2]", ints: &[], ..ALL_REDUCE };
        let ints = [(Arg::InMsgNelems, elements.0), (Arg::OutMsgNelems, elements.1)];
        sample.nccl_with(Said { ints: &ints, ..said }, 10 * rank as i64..50, &texts)
    };
    let answer = job(
        &Collectives::default(),
        vec![
            (0, call(0, "[1, 2, 3]", "[1, 0, 5]", (60, 6))),
            (1, call(1, "[0, 2, 0]", "[2, 2, 7]", (2, 11))),
        ],
    );
    let [uneven] = answer.all_to_all_v.as_slice() else { panic!("{:#?}", answer.all_to_all_v) };
    // Rank 2 is not here: what it sent is known from those who got it.
    assert_eq!(uneven.sent_bytes, [[40, 80, 120], [0, 8, 0], [20, 28, 0]]);
    assert_eq!((uneven.count, uneven.incomplete, uneven.total_bytes, uneven.wall_ns.0), (1, 1, 248, 50));
    assert_eq!((uneven.parts, uneven.parts_with_sizes), (2, 2));
    assert_eq!(uneven.imbalance_max, Some(240.0 * 2.0 / 248.0));
}

#[test]
fn operations_are_summed_over_groups() {
    const SMALL: &[(Arg, i64)] = &[(Arg::InMsgNelems, 100), (Arg::GroupSize, 2)];
    let of =
        |ranks: &'static str, elements: &'static [(Arg, i64)]| Said { ranks, ints: elements, ..ALL_REDUCE };
    let rank = |ranks: &'static str, dur: i64| trace().nccl(of(ranks, SMALL), 10..10 + dur);
    let answer = job(
        &Collectives::default(),
        vec![
            (0, rank("[0, 1]", 40)),
            (1, rank("[0, 1]", 60)),
            (2, rank("[2, 3]", 80)),
            (3, rank("[2, 3]", 80)),
        ],
    );
    assert_eq!((answer.summary.len(), answer.operations.len()), (2, 1));
    let all = &answer.operations[0];
    assert_eq!(
        (all.count, all.transfer_ns.0, all.median_transfer_ns.0, all.min_transfer_ns.0),
        (2, 120, 60, 40)
    );
    assert_eq!((all.algo_gb_per_s, all.bus_gb_per_s), (Some(800.0 / 120.0), Some(800.0 / 120.0)));
    assert_eq!((all.min_bus_gb_per_s, all.max_bus_gb_per_s), (Some(5.0), Some(10.0)));
}
