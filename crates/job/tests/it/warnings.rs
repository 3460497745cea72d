//! What is wrong with a planted job is said, rank by rank, and nothing else is.

use std::collections::BTreeSet;

use gpuscope_testkit::{Plan, RankTruth, Sharding, Truth};
use gpuscope_trace::{Code, Quality, Severity};

pub(crate) fn check(label: &str, plan: &Plan, truth: &Truth, quality: &[Quality]) {
    // Sharded weights are gathered in between, so the testkit replays no graph there.
    let replays = plan.cuda_graph && plan.sharding == Sharding::Replicated;
    for rank in truth.ranks.iter().filter(|rank| rank.written) {
        let count = |code| count(quality, code, Some(rank.rank));
        assert_eq!(count(Code::UnlinkedKernels), more_than_none(rank.unlinked), "{label}");
        assert_eq!(count(Code::ZeroDuration), more_than_none(rank.zero_length_gpu_events), "{label}");
        assert_eq!(count(Code::NoSyncEvents).is_none(), plan.sync_rows, "{label}");
        // Where launches were lost, those of graphs may be among them.
        let shared = count(Code::GraphLaunchShare).is_some();
        assert!(shared == replays || (replays && rank.unlinked > 0), "{label}");
        let overhead = rank.events_by_category.get("overhead").copied().unwrap_or(0);
        assert_eq!(count(Code::ProfilerOverhead).unwrap_or(0), overhead, "{label}");
    }
    let missing = truth.ranks.iter().filter(|rank| !rank.written).count() as u64;
    assert_eq!(count(quality, Code::MissingRanks, None), more_than_none(missing), "{label}");

    let warned: BTreeSet<(Code, Option<u32>)> = quality
        .iter()
        .filter(|entry| entry.severity >= Severity::Warning)
        .map(|entry| (entry.code, entry.rank))
        .collect();
    let lacks_launches = |rank: &&RankTruth| rank.written && rank.unlinked > 0;
    let planted = truth.ranks.iter().filter(lacks_launches);
    let planted = planted.map(|rank| (Code::UnlinkedKernels, Some(rank.rank))).collect();
    assert_eq!(warned, planted, "{label}: {quality:#?}");
}

/// The count of the only entry with this code and rank.
fn count(quality: &[Quality], code: Code, rank: Option<u32>) -> Option<u64> {
    let mut entries = quality.iter().filter(|entry| entry.code == code && entry.rank == rank);
    let count = entries.next().map(|entry| entry.count);
    assert_eq!(entries.next(), None);
    count
}

fn more_than_none(count: u64) -> Option<u64> {
    (count > 0).then_some(count)
}
