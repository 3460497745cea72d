//! Ranks that the others wait for.

use super::{Confidence, Evidence, Facts, Finding};
use crate::model::graph::Scenario;
use crate::stragglers::{RankStraggler, Why};

pub(crate) const ID: &str = "straggler";

/// Why a rank that is waited for may cost little.
const LITTLE: &str = "fixing this alone saves little: something else takes the other ranks just as long";

pub(super) fn late_ranks(facts: &Facts<'_>) -> Vec<Finding> {
    let late = facts.stragglers.ranks.iter().filter(|rank| rank.late);
    late.filter_map(|rank| finding(facts, rank)).collect()
}

fn finding(facts: &Facts<'_>, late: &RankStraggler) -> Option<Finding> {
    let place = facts.model.ranks.iter().position(|model| model.rank == late.rank)?;
    let mut without = Scenario::default();
    facts.model.as_the_median_rank(place, &mut without);
    // That others wait for it is worth knowing whatever it would bring.
    let gain = facts.any_gain(&without);
    if gain.pct < super::WORTH_PCT && late.others_wait_pct < super::WORTH_PCT {
        return None;
    }
    let cause = late.cause.as_ref();
    let (why, advice) = match cause.map(|cause| cause.why) {
        Some(Why::SlowerKernels) => (
            "its kernels are slower",
            "compare its clocks, power and temperature with the others'; swap the GPU or the node",
        ),
        Some(Why::MoreWork) => (
            "it has more work",
            "balance the shards: sequence lengths, experts, pipeline stages, and which rank logs and saves",
        ),
        Some(Why::Host) => (
            "its host is slower",
            "look for other processes, NUMA placement, logging or checkpointing on that rank",
        ),
        Some(Why::Unknown) | None => (
            "it is not clear why",
            "compare it with the median rank: gpuscope diff --rank N --against median",
        ),
    };
    let finding = Finding::new(
        ID,
        format!("the other ranks wait for rank {}: {why}", late.rank),
        advice,
        "gpuscope stragglers".to_owned(),
    );
    let evidence = Evidence {
        ranks: vec![late.rank],
        step: late.most_behind.and_then(|most| most.step),
        rank: Some(late.rank),
        start_ns: late.most_behind.map(|most| most.time.start),
        end_ns: late.most_behind.map(|most| most.time.end),
        names: cause.and_then(|cause| cause.kernel.clone()).into_iter().collect(),
        text: format!(
            "last to arrive at {} of {} collectives, {} behind in all; the others spend {:.0} % of their time waiting for it",
            late.last,
            late.collectives,
            crate::shared::text::time(late.own_lateness_ns),
            late.others_wait_pct,
        ),
    };
    let claim = [
        ("rank", i64::from(late.rank)),
        ("last", late.last as i64),
        ("collectives", late.collectives as i64),
        ("behind_ns", late.own_lateness_ns.0),
        ("others_wait_ns", late.others_wait_ns.0),
    ];
    let finding = finding.claiming(claim).shown_by(evidence);
    let finding = if gain.pct < super::WORTH_PCT {
        finding.trusted(Confidence::High, Some(LITTLE.to_owned()))
    } else {
        finding
    };
    Some(finding.worth(gain, without))
}
