//! First steps that are unlike the others: said, and kept apart from what a step costs.

use crate::shared::recording::after_warm_up;
use gpuscope_trace::Ns;

use super::{Evidence, Facts, Finding, rank_flag};

pub(crate) const ID: &str = "first_step";

/// Less of the recorded time is not spoken of, in per cent.
const WORTH_PCT: f64 = 10.0;

pub(super) fn first_step(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(first) = facts.model.first_steps() else { return Vec::new() };
    let Some(place) = facts.model.ranks.iter().position(|rank| rank.rank == first.rank) else {
        return Vec::new();
    };
    let whole = facts.model.coupled.graphs[place].span;
    if (first.longest - first.usual).pct_of(whole.len().max(Ns(1))) < WORTH_PCT {
        return Vec::new();
    }
    let until = facts.model.ranks[place].steps.counts_from();
    let start_up = facts.marked.get(place).map(|marked| &marked.start_up);
    let calls = start_up.filter(|found| found.span.is_some_and(|(start, _)| start < until));
    let names = calls.map_or(&[][..], |found| &found.names);
    let parts: Vec<String> =
        names.iter().map(|(name, time)| format!("{name} {}", crate::shared::text::time(*time))).collect();
    let steps = if first.count == 1 {
        format!("{}", first.first)
    } else {
        format!("{}..{}", first.first, first.last)
    };
    let finding = Finding::new(
        ID,
        format!("{}, {:.1} times as long as the others", first.sentence(), first.times()),
        after_warm_up(facts.program.recorder),
        format!("gpuscope critical-path --step {steps}{}", rank_flag(&[first.rank])),
    );
    let evidence = Evidence {
        step: Some(first.first),
        rank: Some(first.rank),
        start_ns: Some(whole.start),
        end_ns: Some(until),
        names: names.iter().map(|(name, _)| name.clone()).collect(),
        text: if parts.is_empty() {
            format!(
                "on rank {}, where the others take {}",
                first.rank,
                crate::shared::text::time(first.usual)
            )
        } else {
            format!("first calls in it on rank {}: {}", first.rank, parts.join(", "))
        },
        ..Evidence::default()
    };
    let claim =
        [("steps", first.count as i64), ("longest_ns", first.longest.0), ("others_ns", first.usual.0)];
    vec![finding.claiming(claim).shown_by(evidence)]
}
