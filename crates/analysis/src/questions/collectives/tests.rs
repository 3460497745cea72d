//! Small jobs written as text, with metadata as traces have it, and as they should not.

mod costs;

use gpuscope_trace::{Arg, Id, Phase, Selection, StrId};

use super::*;
use crate::testing::{Loaded, Sample, json, trace};

/// What a trace says about a collective.
#[derive(Clone, Copy)]
pub(crate) struct Said<'a> {
    pub(crate) name: &'a str,
    pub(crate) group: &'a str,
    pub(crate) ranks: &'a str,
    pub(crate) description: &'a str,
    pub(crate) ints: &'a [(Arg, i64)],
}

pub(crate) const ALL_REDUCE: Said<'static> =
    Said { name: "allreduce", group: "0", ranks: "[0, 1]", description: "dp", ints: &[] };

impl Sample {
    /// A communication kernel that says what it is.
    pub(crate) fn nccl(self, said: Said<'_>, time: std::ops::Range<i64>) -> Sample {
        self.nccl_with(said, time, &[])
    }

    fn nccl_with(self, said: Said<'_>, time: std::ops::Range<i64>, texts: &[(Arg, StrId)]) -> Sample {
        self.said("kernel", "ncclDevKernel_Generic(args)", said, time, texts)
    }

    fn said(
        mut self,
        category: &str,
        event: &str,
        said: Said<'_>,
        time: std::ops::Range<i64>,
        more: &[(Arg, StrId)],
    ) -> Sample {
        let texts = [
            (Arg::CollectiveName, said.name),
            (Arg::GroupName, said.group),
            (Arg::GroupRanks, said.ranks),
            (Arg::GroupDescription, said.description),
            (Arg::Dtype, "Float"),
        ]
        .map(|(arg, text)| (arg, self.intern(text)));
        let (start, dur) = (time.start, time.end - time.start);
        self.event(Phase::Complete, category, event, Some(start), Some(dur), |record| {
            if category == "kernel" {
                (record.pid, record.tid) = (Id::Int(0), Id::Int(20));
                (record.device, record.stream) = (Id::Int(0), Id::Int(20));
            }
            for (arg, text) in texts.iter().chain(more) {
                record.set_text(*arg, *text);
            }
            for (arg, value) in said.ints {
                record.set_int(*arg, *value);
            }
        })
    }
}

pub(crate) fn job<Q: Question>(question: &Q, ranks: Vec<(u32, Sample)>) -> Q::Answer {
    let all = Selection::everything();
    let loaded: Vec<(u32, Loaded)> = ranks.into_iter().map(|(rank, sample)| (rank, sample.build())).collect();
    question.merge(loaded.iter().map(|(rank, loaded)| question.local(*rank, loaded.view(&all))).collect())
}

fn seq(number: i64) -> [(Arg, i64); 1] {
    [(Arg::CollectiveSeq, number)]
}

/// The ranks and starts of each row.
fn shape(answer: &CollectivesAnswer) -> Vec<Vec<(u32, i64)>> {
    let ranks = |row: &CollectiveRow| row.ranks.iter().map(|rank| (rank.rank, rank.start_ns.0)).collect();
    answer.collectives.iter().map(ranks).collect()
}

#[test]
fn waiting_and_transfer_are_apart() {
    let sized = [(Arg::InMsgNelems, 100), (Arg::OutMsgNelems, 100), (Arg::GroupSize, 2)];
    let said = Said { ints: &sized, ..ALL_REDUCE };
    let answer = job(
        &Collectives::default(),
        vec![(0, trace().nccl(said, 10..110)), (1, trace().nccl(said, 60..110))],
    );
    let row = &json(&answer)["collectives"][0];
    assert_eq!(row["latency_ns"], 50);
    assert_eq!(
        (&row["skew_start_ns"], &row["skew_end_ns"], &row["first_rank"]),
        (&50.into(), &0.into(), &0.into())
    );
    assert_eq!(
        (&row["size_bytes"], &row["complete"], &row["group_description"]),
        (&400.into(), &true.into(), &"dp".into())
    );
    assert_eq!((&row["algo_gb_per_s"], &row["bus_gb_per_s"]), (&8.0.into(), &8.0.into()));
    let waits: Vec<_> = answer.collectives[0].ranks.iter().map(|r| (r.wait_ns.0, r.wait_low_ns.0)).collect();
    assert_eq!(waits, [(50, 50), (0, 0)]);
    assert_eq!(
        (answer.summary[0].count, answer.summary[0].wait_ns.0, answer.summary[0].transfer_ns.0),
        (1, 25, 50)
    );
}

#[test]
fn older_releases_say_it_on_the_operator_around_the_launch() {
    let said = Said { ints: &seq(4), ..ALL_REDUCE };
    let old = trace()
        .said("cpu_op", "record_param_comms", said, 0..9, &[])
        .host("user_annotation", "nccl:all_reduce", 1..8)
        .call(1, 2..4)
        .kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", 20, 60..110, 1);
    let answer = job(&Collectives::default(), vec![(0, trace().nccl(said, 10..110)), (1, old)]);
    assert_eq!(shape(&answer), [[(0, 10), (1, 60)]]);
    assert_eq!(answer.collectives[0].group.as_deref(), Some("0"));
}

#[test]
fn names_are_enough_if_there_is_nothing_else() {
    let rank = |shift: i64, stream: i64| {
        trace()
            .call(1, 0..1)
            .kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", stream, 10 + shift..50, 1)
            .kernel("rcclAllGather", stream, 60 + shift..90, None)
            .host("user_annotation", "nccl:all_to_all", 91..99)
            .call(3, 92..93)
            .kernel("ncclDevKernel_SendRecv(x)", stream, 100 + shift..120, 3)
    };
    let answer = job(&Collectives::default(), vec![(0, rank(0, 20)), (1, rank(5, 44))]);
    assert_eq!(shape(&answer), [[(0, 10), (1, 15)], [(0, 60), (1, 65)], [(0, 100), (1, 105)]]);
    let names: Vec<_> = answer.collectives.iter().map(|row| row.name.to_string()).collect();
    assert_eq!(names, ["ncclKernel_AllReduce_RING_LL_Sum_float", "rcclAllGather", "nccl:all_to_all"]);
    assert!(answer.collectives.iter().all(|row| row.group.is_none() && !row.complete));
}

#[test]
fn groups_of_one_name_but_other_members_are_others() {
    let of = |ranks: &'static str| Said { ranks, ints: &[(Arg::CollectiveSeq, 1)], ..ALL_REDUCE };
    let answer = job(
        &Collectives::default(),
        vec![
            (0, trace().nccl(of("[0, 1]"), 10..20)),
            (1, trace().nccl(of("[1, 0]"), 12..20)),
            (2, trace().nccl(of("[2, 3]"), 11..20)),
        ],
    );
    assert_eq!(shape(&answer), [vec![(0, 10), (1, 12)], vec![(2, 11)]]);
    assert_eq!(answer.collectives.iter().map(|row| row.complete).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_list_that_was_cut_off_is_not_taken_for_the_members() {
    let cut = Said { ranks: "[0, 1, ...]", ints: &[(Arg::GroupSize, 3)], ..ALL_REDUCE };
    let configured = |sample: Sample| {
        sample.about(|metadata| {
            let group = gpuscope_trace::metadata::ProcessGroup {
                name: "0".into(),
                ranks: vec![0, 1, 2],
                ..Default::default()
            };
            metadata.distributed =
                Some(gpuscope_trace::metadata::Distributed { groups: vec![group], ..Default::default() });
        })
    };
    let ranks = |fill: fn(Sample) -> Sample| {
        (0..2).map(|rank| (rank, fill(trace().nccl(cut, 10 + i64::from(rank)..20)))).collect::<Vec<_>>()
    };
    let unknown = job(&Collectives::default(), ranks(|sample| sample));
    assert_eq!((shape(&unknown).len(), unknown.collectives[0].complete), (1, false));
    let whole: Vec<_> =
        ranks(|sample| sample).into_iter().map(|(rank, sample)| (rank, configured(sample))).collect();
    let known = job(&Collectives::default(), whole);
    assert_eq!(
        (shape(&known).len(), known.collectives[0].group_size, known.collectives[0].complete),
        (1, Some(3), false)
    );
}

#[test]
fn numbers_match_where_order_would_not() {
    let at = |number: i64, start: i64| {
        move |sample: Sample| sample.nccl(Said { ints: &seq(number), ..ALL_REDUCE }, start..start + 5)
    };
    let early = at(3, 30)(at(2, 20)(at(1, 10)(trace())));
    let late = at(3, 31)(at(2, 21)(trace()));
    let answer = job(&Collectives::default(), vec![(0, early), (1, late)]);
    assert_eq!(shape(&answer), [vec![(0, 10)], vec![(0, 20), (1, 21)], vec![(0, 30), (1, 31)]]);
}

#[test]
fn several_kernels_of_one_number_are_matched_in_order() {
    let said = Said { ints: &seq(7), ..ALL_REDUCE };
    let rank = |shift: i64| trace().nccl(said, 10 + shift..20).nccl(said, 30 + shift..40);
    let answer =
        job(&Collectives::default(), vec![(0, rank(0)), (1, rank(1)), (2, trace().nccl(said, 12..20))]);
    assert_eq!(shape(&answer), [vec![(0, 10), (1, 11), (2, 12)], vec![(0, 30), (1, 31)]]);
}

#[test]
fn without_numbers_on_every_rank_the_order_decides_sort_by_sort() {
    let broadcast = Said { name: "broadcast", ..ALL_REDUCE };
    let numbered = Said { ints: &seq(99), ..ALL_REDUCE };
    let first = trace().nccl(broadcast, 1..2).nccl(numbered, 10..20);
    let second = trace().nccl(ALL_REDUCE, 11..20);
    let answer = job(&Collectives::default(), vec![(0, first), (1, second)]);
    assert_eq!(shape(&answer), [vec![(0, 1)], vec![(0, 10), (1, 11)]]);
}

#[test]
fn sends_meet_their_receives() {
    let send = |to: i64| [(Arg::DestinationRank, to), (Arg::CollectiveSeq, 40 + to)];
    let recv = |from: i64| [(Arg::SourceRank, from), (Arg::CollectiveSeq, 1)];
    let group = Said { ranks: "[0, 1, 2]", ..ALL_REDUCE };
    let first = trace()
        .nccl(Said { name: "send", ints: &send(2), ..group }, 5..20)
        .nccl(Said { name: "send", ints: &send(1), ..group }, 30..40);
    let second = trace().nccl(Said { name: "recv", ints: &recv(0), ..group }, 25..40);
    let answer = job(&Collectives::default(), vec![(0, first), (1, second)]);
    assert_eq!(shape(&answer), [vec![(0, 5)], vec![(0, 30), (1, 25)]]);
    let ends: Vec<_> =
        answer.collectives.iter().map(|row| (row.source_rank, row.destination_rank, row.complete)).collect();
    assert_eq!(ends, [(Some(0), Some(2), false), (Some(0), Some(1), true)]);
}

#[test]
fn times_are_compared_since_the_epoch_and_shown_as_written() {
    let rank = |base: i64, start: i64| {
        trace().nccl(ALL_REDUCE, start..start + 40).about(|metadata| metadata.base_time_ns = Some(base))
    };
    let answer = job(&Collectives::default(), vec![(0, rank(1_000, 500)), (1, rank(1_400, 110))]);
    let row = &answer.collectives[0];
    assert_eq!((row.start_ns.0, row.skew_start_ns.0, row.first_rank), (500, 10, 0));
    assert_eq!(row.ranks.iter().map(|rank| rank.start_ns.0).collect::<Vec<_>>(), [500, 110]);
}

#[test]
fn one_rank_twice_counts_once() {
    let rank = || trace().nccl(ALL_REDUCE, 10..20);
    assert_eq!(
        shape(&job(&Collectives::default(), vec![(0, rank()), (0, rank()), (1, rank())])),
        [[(0, 10), (1, 10)]]
    );
    assert!(job(&Collectives::default(), Vec::new()).collectives.is_empty());
}

#[test]
fn hostile_metadata_does_no_harm() {
    let extreme = [i64::MIN + 1, -1, 0, 1, i64::MAX];
    for value in extreme {
        let ints = [
            Arg::InMsgNelems,
            Arg::OutMsgNelems,
            Arg::GroupSize,
            Arg::CollectiveSeq,
            Arg::SourceRank,
            Arg::DestinationRank,
            Arg::GlobalRankStart,
            Arg::GlobalRankStride,
        ]
        .map(|arg| (arg, value));
        for name in ["allreduce", "send", "recv", "all_to_allv", "", "barrier"] {
            for ranks in ["[0, 1]", "[", "[[0], [1]]", "[-5, 99999999999]", "[...]", ""] {
                let said = Said { name, ranks, ints: &ints, ..ALL_REDUCE };
                let rank = |start: i64| {
                    let sample = trace().nccl(said, start..start + 7).nccl(said, start..start);
                    sample.about(|metadata| metadata.base_time_ns = Some(value))
                };
                let answer = job(&Collectives::default(), vec![(0, rank(-4)), (1, rank(i64::MAX / 4))]);
                assert!(!answer.collectives.is_empty());
                assert!(!answer.tables_are_uneven());
                job(&crate::Stragglers, vec![(0, rank(0)), (u32::MAX, rank(9))]);
            }
        }
    }
}

impl CollectivesAnswer {
    fn tables_are_uneven(&self) -> bool {
        use gpuscope_table::Tabular;
        self.tables()
            .iter()
            .any(|table| table.columns.iter().any(|column| column.values.len() != table.rows()))
    }
}
