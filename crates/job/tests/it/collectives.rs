//! Every collective over all ranks, and what is the same instant on their clocks, as planted.

use std::collections::BTreeMap;

use gpuscope_analysis::clocks::RankClock;
use gpuscope_analysis::collectives::{CollectiveRow, CollectivesAnswer, Doing, NodesFrom, Span};
use gpuscope_analysis::idle::Cause;
use gpuscope_analysis::{Collectives, Stragglers};
use gpuscope_testkit::{CollectiveTruth, JOB_START_NS, Plan, RankTruth, Truth};
use gpuscope_trace::Code;

use crate::answers::ask;
use crate::plans::{mixtures, plans};

type Peers = Option<(u32, u32)>;
type Key = (String, Peers, u64);

/// The planted parts of each collective that are in the files, by group, peers and number.
fn planted(truth: &Truth) -> BTreeMap<Key, Vec<(u32, &CollectiveTruth)>> {
    let mut rows: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for rank in truth.ranks.iter().filter(|rank| rank.written) {
        for part in &rank.collectives {
            let key = (part.group.clone(), part.peers, part.seq);
            rows.entry(key).or_default().push((rank.rank, part));
        }
    }
    rows
}

fn peers(row: &CollectiveRow) -> Peers {
    row.source_rank.zip(row.destination_rank)
}

#[test]
fn every_collective_is_matched_as_planted() {
    let all = plans().into_iter().map(|(label, plan)| (label.to_owned(), plan));
    for (label, plan) in all.chain(mixtures().map(|plan| (format!("{plan:?}"), plan))) {
        let (truth, outcome) = ask(&plan, &Collectives::default());
        let planted = planted(&truth);
        // Told apart by the start of the first rank's part: no rank is in two collectives at once.
        let mut found: BTreeMap<(u32, i64), &CollectiveRow> = BTreeMap::new();
        for row in &outcome.answer.collectives {
            found.insert((row.ranks[0].rank, row.ranks[0].start_ns.0), row);
        }
        assert_eq!(found.len(), planted.len(), "{label}");
        for ((group, of, _), parts) in planted {
            let row = found[&(parts[0].0, parts[0].1.start_ns)];
            let ranks: Vec<_> =
                row.ranks.iter().map(|rank| (rank.rank, rank.start_ns.0, rank.dur_ns.0)).collect();
            let expected: Vec<_> =
                parts.iter().map(|(rank, part)| (*rank, part.start_ns, part.dur_ns)).collect();
            assert_eq!(ranks, expected, "{label}");
            assert_eq!((row.group.as_deref(), peers(row)), (Some(group.as_str()), of), "{label}");
            let members = of.map_or(parts[0].1.group_ranks.len(), |_| 2);
            assert_eq!(row.complete, parts.len() == members, "{label}");
            assert_eq!(row.size_bytes, Some(2 * size(parts[0].1)), "{label}");
        }
    }
}

fn size(part: &CollectiveTruth) -> i64 {
    if part.name == "_allgather_base" { part.out_elements } else { part.in_elements }
}

/// Two hosts, and what their clocks are off by.
fn two_hosts(plan: Plan, offset_ns: i64, drift_ppb: i64) -> Plan {
    let plan = Plan { ranks: 16, steps: 4, layers: 4, ..plan };
    (8..16).fold(plan, |plan, rank| plan.with_clock(rank, offset_ns, drift_ppb))
}

/// How far a rank's clock truly is ahead of rank 0's when it shows `shown`.
fn truly_ahead(truth: &Truth, rank: u32, shown: i64) -> i64 {
    let of = |rank: u32| truth.ranks[rank as usize].clock;
    let clock = of(rank);
    // Inverts the clock to within a nanosecond.
    let elapsed = i128::from(shown - clock.offset_ns - JOB_START_NS);
    let true_ns =
        JOB_START_NS + (elapsed * 1_000_000_000 / (1_000_000_000 + i128::from(clock.drift_ppb))) as i64;
    shown - of(0).shows(true_ns)
}

fn check_alignment(label: &str, truth: &Truth, answer: &CollectivesAnswer) {
    let clocks: BTreeMap<u32, &RankClock> = answer.clocks.iter().map(|clock| (clock.rank, clock)).collect();
    assert!(answer.clocks.iter().all(|clock| clock.reference_rank == 0), "{label}: {:#?}", answer.clocks);
    for row in &answer.collectives {
        for rank in &row.ranks {
            let clock = clocks[&rank.rank];
            let ahead = rank.start_ns.0 - rank.aligned_start_ns.0;
            let wrong = (ahead - truly_ahead(truth, rank.rank, rank.start_ns.0)).abs();
            assert!(wrong <= clock.half_width_ns.0, "{label}, rank {}: {wrong} {clock:?}", rank.rank);
        }
    }
}

#[test]
fn clocks_that_are_off_and_drift_are_aligned_to_within_the_half_width() {
    for (label, plan) in [
        ("replicated", Plan::healthy()),
        ("sharded", Plan::healthy().sharded()),
        ("pipeline", Plan::healthy().pipeline(2, 4)),
        ("straggler", Plan::healthy().with_straggler(9, 130)),
    ] {
        for (offset, drift) in [(0, 0), (7_000_000, 0), (-3_000_000_000, 40_000), (250_000, -200_000)] {
            let plan = two_hosts(plan.clone(), offset, drift);
            let (truth, outcome) = ask(&plan, &Collectives::default());
            let answer = &outcome.answer;
            let label = format!("{label}, {offset} ns, {drift} ppb");
            check_alignment(&label, &truth, answer);
            let clock = &answer.clocks[15];
            assert!(answer.clocks[..8].iter().all(|clock| clock.half_width_ns.0 == 0), "{label}");
            let known = clock.offset_ns.0.abs() > clock.half_width_ns.0;
            let warned = outcome.quality.iter().any(|entry| entry.code == Code::ClockSkew);
            assert_eq!(warned, known, "{label}: {clock:?}");
            if offset.abs() > 20_000_000 {
                assert!(known && clock.half_width_ns.0 < 20_000_000, "{label}: {clock:?}");
            }
        }
    }
}

#[test]
fn ranks_of_one_host_with_clocks_of_their_own_are_told_apart() {
    let plan = Plan::healthy().ranks(4).layers(4).with_clock(2, 9_000_000, 0);
    let (truth, outcome) = ask(&plan, &Collectives::default());
    check_alignment("torn host", &truth, &outcome.answer);
    let messages: Vec<_> = outcome.quality.iter().filter(|entry| entry.code == Code::ClockSkew).collect();
    assert!(messages.iter().any(|entry| entry.message.contains("do not share a clock")), "{messages:#?}");
    assert!(messages.iter().any(|entry| entry.rank == Some(2)), "{messages:#?}");
}

#[test]
fn a_shifted_clock_changes_neither_lateness_nor_aligned_times() {
    for plan in
        [Plan::healthy().with_straggler(9, 130), Plan::healthy().pipeline(2, 4).with_straggler(3, 140)]
    {
        let plans = [0, 1_234_567, -8_000_000_000].map(|offset| two_hosts(plan.clone(), offset, 0));
        let answers = plans.each_ref().map(|plan| ask(plan, &Collectives::default()).1.answer);
        let aligned = |answer: &CollectivesAnswer| -> Vec<(u32, i64)> {
            let mut parts: Vec<_> = answer
                .collectives
                .iter()
                .flat_map(|row| row.ranks.iter().map(|rank| (rank.rank, rank.aligned_start_ns.0)))
                .collect();
            parts.sort_unstable();
            parts
        };
        let [first, others @ ..] = answers.each_ref().map(aligned);
        assert!(others.iter().all(|other| *other == first));
        let late = plans.each_ref().map(|plan| {
            let answer = ask(plan, &Stragglers).1.answer;
            let own: Vec<i64> = answer.ranks.iter().map(|rank| rank.own_lateness_ns.0).collect();
            (answer.latest_rank, own)
        });
        assert!(late.iter().all(|other| *other == late[0]), "{late:?}");
        assert!(late[0].0.is_some());
    }
}

#[test]
fn the_straggler_is_found_whatever_the_clocks_say() {
    for (offset, drift) in [(0, 0), (-40_000_000, 30_000), (2_000_000_000, -120_000)] {
        let plan = two_hosts(Plan::healthy().with_straggler(11, 125), offset, drift);
        let (truth, outcome) = ask(&plan, &Stragglers);
        assert_eq!(truth.latest_rank, Some(11));
        assert_eq!(outcome.answer.latest_rank, Some(11), "{:#?}", outcome.answer.notes);
    }
}

/// Whole jobs on one host and one clock, so that everything is known to the nanosecond.
fn on_one_clock() -> impl Iterator<Item = (String, Plan, Truth, CollectivesAnswer)> {
    let more = [
        ("deep pipeline", Plan::small().ranks(8).layers(8).pipeline(4, 6)),
        ("tensor parallel", Plan::small().ranks(4).tensor_parallel(2)),
        ("both", Plan::small().ranks(8).layers(4).pipeline(2, 3).tensor_parallel(2)),
        ("experts", Plan::small().ranks(4).with_experts()),
        ("all at once", Plan::small().ranks(8).layers(4).pipeline(2, 3).tensor_parallel(2).with_experts()),
    ];
    let all = plans().into_iter().chain(more).map(|(label, plan)| (label.to_owned(), plan));
    let mixed = mixtures().map(|plan| (format!("{plan:?}"), Plan { clocks: Vec::new(), ..plan }));
    all.chain(mixed).filter(|(_, plan)| plan.clocks.is_empty() && plan.ranks <= 8).filter_map(
        |(label, plan)| {
            let (truth, outcome) = ask(&plan, &Collectives::default());
            truth.ranks.iter().all(|rank| rank.written).then_some((label, plan, truth, outcome.answer))
        },
    )
}

/// Waiting and transfer of some parts of a rank.
fn planted_times(rank: &RankTruth, which: impl Fn(&CollectiveTruth) -> bool) -> (i64, i64) {
    let parts = rank.collectives.iter().filter(|part| which(part));
    parts.fold((0, 0), |(wait, transfer), part| {
        (wait + part.true_wait_ns, transfer + part.true_end_ns - part.last_arrival_true_ns)
    })
}

#[test]
fn waiting_and_transfer_by_purpose_are_the_planted_ones() {
    for (label, _, truth, answer) in on_one_clock() {
        for rank in &truth.ranks {
            let label = format!("{label}, rank {}", rank.rank);
            let own = || answer.group_ranks.iter().filter(|row| row.rank == rank.rank);
            let of = |pipeline: bool| {
                let rows = own().filter(|row| (row.group == "pp") == pipeline);
                rows.fold((0, 0), |(wait, transfer), row| {
                    (wait + row.times.wait_ns.0, transfer + row.times.transfer_ns.0)
                })
            };
            assert_eq!(of(true), planted_times(rank, |part| part.peers.is_some()), "{label}");
            assert_eq!(of(false), planted_times(rank, |part| part.peers.is_none()), "{label}");
        }
        let sum = |of: fn(&gpuscope_analysis::collectives::GroupTimes) -> i64| {
            let ranks: i64 = answer.group_ranks.iter().map(|row| of(&row.times)).sum();
            (ranks, answer.groups.iter().map(|row| of(&row.times)).sum::<i64>())
        };
        for (ranks, groups) in [sum(|t| t.exposed_ns.0), sum(|t| t.wait_ns.0), sum(|t| t.transfer_ns.0)] {
            assert_eq!(ranks, groups, "{label}");
        }
    }
}

/// Without groups of their own, all ranks together share the gradients; one rank alone has nobody to share with.
fn purpose(group: &str) -> &str {
    if group == "default_pg" { "dp" } else { group }
}

#[test]
fn every_group_costs_what_was_planted() {
    let mut most_groups = 0;
    for (label, _, truth, answer) in on_one_clock() {
        for rank in &truth.ranks {
            let planted: BTreeMap<&str, _> = rank
                .groups
                .iter()
                .map(|group| {
                    let (wait, transfer) = planted_times(rank, |part| part.group == group.group);
                    (
                        purpose(group.description),
                        (group.collectives, group.comm_ns, group.exposed_ns, wait, transfer),
                    )
                })
                .collect();
            let own = answer.group_ranks.iter().filter(|row| row.rank == rank.rank);
            let found: BTreeMap<&str, _> = own
                .map(|row| {
                    let times = row.times;
                    let [comm, exposed, wait, transfer] =
                        [times.comm_ns, times.exposed_ns, times.wait_ns, times.transfer_ns].map(|ns| ns.0);
                    (purpose(&row.group), (row.collectives, comm, exposed, wait, transfer))
                })
                .collect();
            assert_eq!(found, planted, "{label}, rank {}", rank.rank);
            most_groups = most_groups.max(planted.len());
        }
    }
    assert_eq!(most_groups, 4, "tensor, data, pipeline and expert parallel at once");
}

/// Rows by source, columns by destination.
type Bytes = Vec<Vec<i64>>;

fn planted_exchanges(truth: &Truth) -> BTreeMap<&str, BTreeMap<u64, Bytes>> {
    let mut calls: BTreeMap<&str, BTreeMap<u64, Bytes>> = BTreeMap::new();
    for rank in &truth.ranks {
        for part in rank.collectives.iter().filter(|part| !part.sent_bytes.is_empty()) {
            calls.entry(&part.group).or_default().entry(part.seq).or_default().push(part.sent_bytes.clone());
        }
    }
    calls
}

#[test]
fn exchanges_of_tokens_are_as_uneven_as_planted() {
    let mut exchanges = 0;
    for (label, _, truth, answer) in on_one_clock() {
        let planted = planted_exchanges(&truth);
        assert_eq!(answer.all_to_all_v.len(), planted.len(), "{label}");
        for row in &answer.all_to_all_v {
            let calls = &planted[row.group.as_deref().expect("a name")];
            let ranks = row.members.len();
            let mut sent: Bytes = vec![vec![0; ranks]; ranks];
            let mut imbalances = Vec::new();
            for call in calls.values() {
                for (cell, bytes) in sent.iter_mut().flatten().zip(call.iter().flatten()) {
                    *cell += bytes;
                }
                let by_rank: Vec<i64> = call.iter().map(|row| row.iter().sum()).collect();
                let mean = by_rank.iter().sum::<i64>() as f64 / ranks as f64;
                imbalances.push(*by_rank.iter().max().expect("ranks") as f64 / mean);
            }
            assert_eq!(row.sent_bytes, sent, "{label}");
            assert_eq!(row.total_bytes, sent.iter().flatten().sum::<i64>(), "{label}");
            assert_eq!((row.count, row.incomplete), (calls.len() as u64, 0), "{label}");
            let mean = imbalances.iter().sum::<f64>() / imbalances.len() as f64;
            let most = imbalances.iter().copied().fold(0.0, f64::max);
            let near = |found: Option<f64>, planted: f64| (found.expect("one") / planted - 1.0).abs() < 1e-12;
            assert!(near(row.imbalance_mean, mean) && near(row.imbalance_max, most), "{label}: {row:?}");
            assert!(most > 1.01, "{label}: {most}");
            exchanges += calls.len();
        }
    }
    assert!(exchanges > 20, "{exchanges}");
}

#[test]
fn bubbles_are_the_planted_waiting_of_each_stage() {
    let mut pipelines = 0;
    for (label, plan, truth, answer) in on_one_clock() {
        let ranks = truth.ranks.len() as u32;
        let stages = plan.stages.clamp(1, plan.ranks);
        if stages == 1 {
            assert!(answer.stages.is_empty(), "{label}");
            continue;
        }
        pipelines += 1;
        assert_eq!(answer.stages.len(), stages as usize, "{label}");
        for row in &answer.stages {
            let of_stage = |rank: &&RankTruth| rank.rank / (ranks / stages) == row.stage;
            let own: Vec<&RankTruth> = truth.ranks.iter().filter(of_stage).collect();
            let planted: Vec<_> =
                own.iter().map(|rank| planted_times(rank, |part| part.peers.is_some())).collect();
            let sums = (planted.iter().map(|p| p.0).sum::<i64>(), planted.iter().map(|p| p.1).sum::<i64>());
            assert_eq!((row.wait_ns.0, row.transfer_ns.0), sums, "{label}, stage {}", row.stage);
            assert_eq!(row.wait_ns, row.wait_sending_ns + row.wait_receiving_ns);
            assert_eq!(row.ranks, own.iter().map(|rank| rank.rank).collect::<Vec<_>>(), "{label}");
            assert!(row.transfers > 0 && row.incomplete == 0, "{label}");
        }
    }
    assert!(pipelines > 5);
}

#[test]
fn the_late_are_told_and_the_way_they_took_is_accounted_for() {
    let mut told = 0;
    for (label, _, truth, answer) in on_one_clock() {
        for late in &answer.late {
            let planted = |part: &CollectiveTruth| {
                part.start_ns == late.start_ns.0
                    && part.last_rank == late.late_rank
                    && part.last_behind_ns == late.behind_ns.0
            };
            let mut parts = truth.ranks.iter().flat_map(|rank| &rank.collectives);
            assert!(parts.any(planted), "{label}: {late:#?}");
            for since in [late.late, late.second] {
                let sum = since.computation_ns + since.communication_ns + since.host_ns + since.other_ns;
                assert_eq!(sum, since.since_ns, "{label}");
                assert!(since.other_ns.0 >= 0, "{label}: {since:?}");
            }
            if late.in_step {
                told += 1;
                assert_eq!(late.late.since_ns - late.second.since_ns, late.behind_ns, "{label}: {late:#?}");
            }
        }
        assert!(answer.late.is_sorted_by(|a, b| a.behind_ns >= b.behind_ns), "{label}");
    }
    assert!(told > 50, "{told}");
}

#[test]
fn what_the_late_rank_did_instead_is_what_was_planted() {
    let plan = Plan::healthy().ranks(4).layers(4);
    let first = |plan: &Plan| ask(plan, &Collectives::default()).1.answer.late.remove(0);
    let slow = first(&plan.clone().with_straggler(2, 130));
    assert_eq!((slow.late_rank, slow.doing, slow.cause), (2, Doing::Computation, None), "{slow:#?}");
    assert!(slow.event.is_some() && slow.more_ns >= slow.behind_ns, "{slow:#?}");
    let stalled = first(&plan.with_data_loader_stall(3, 12, 200_000_000));
    assert_eq!((stalled.late_rank, stalled.step, stalled.doing), (3, Some(12), Doing::Host), "{stalled:#?}");
    assert_eq!(stalled.cause, Some(Cause::DataLoading), "{stalled:#?}");
}

#[test]
fn groups_within_and_between_hosts_are_told_apart() {
    let plan = Plan { ranks: 16, steps: 1, layers: 2, ..Plan::healthy() }.tensor_parallel(2);
    let answer = ask(&plan, &Collectives::default()).1.answer;
    assert_eq!((answer.nodes.from, answer.nodes.count), (NodesFrom::HostNames, Some(2)));
    let spans: Vec<_> = answer.groups.iter().map(|row| (row.group.as_str(), row.span)).collect();
    assert!(spans.contains(&("tp", Some(Span::IntraNode))), "{spans:?}");
    assert!(spans.contains(&("dp", Some(Span::InterNode))), "{spans:?}");
    let told = ask(&plan, &Collectives { gpus_per_node: Some(1) }).1.answer;
    assert!(told.collectives.iter().all(|row| row.span == Some(Span::InterNode)));
}
