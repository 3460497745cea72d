//! GPU work that could take less: fused, in another precision or layout, or in other sizes.

use gpuscope_trace::Ns;

use super::marks::RankOpportunity;
use super::{Confidence, Evidence, Facts, Finding};
use crate::model::graph::{Scenario, What};

pub(super) fn cheaper_work(facts: &Facts<'_>) -> Vec<Finding> {
    let mut ids: Vec<&'static str> = Vec::new();
    for found in facts.marked.iter().flat_map(|rank| &rank.opportunities) {
        if !ids.contains(&found.found.id) {
            ids.push(found.found.id);
        }
    }
    ids.into_iter().filter_map(|id| finding(facts, id)).collect()
}

fn finding(facts: &Facts<'_>, id: &str) -> Option<Finding> {
    let each = || {
        let ranks = (0..).zip(facts.marked);
        ranks
            .flat_map(|(graph, rank)| rank.opportunities.iter().map(move |found| (graph, rank.rank, found)))
            .filter(|(_, _, found)| found.found.id == id)
    };
    let left = |(graph, _, found): (u32, u32, &RankOpportunity)| {
        found.left.iter().map(|(node, left)| (graph, *node, *left)).collect::<Vec<_>>()
    };
    let without = Scenario { few_factors: each().flat_map(left).collect(), ..Scenario::default() };
    let gain = facts.gain(&without)?;
    let (graph, rank, largest) = each().max_by_key(|(_, _, found)| found.time)?;
    let nodes = &facts.model.coupled.graphs[graph as usize].nodes;
    let work = largest.left.iter().map(|(id, _)| &nodes[*id as usize]);
    let on_gpu = work.filter(|node| matches!(node.what, What::Gpu(_)));
    let longest = on_gpu.max_by_key(|node| node.end - node.start);
    let found = &largest.found;
    let on_rank = if facts.marked.len() > 1 { format!("on rank {rank}: ") } else { String::new() };
    let semicolon = if found.evidence.is_empty() { "" } else { "; " };
    let evidence = Evidence {
        rank: Some(rank),
        start_ns: longest.map(|node| node.start),
        end_ns: longest.map(|node| node.end),
        names: found.names.clone(),
        text: format!("{on_rank}{}{}target: {}", found.evidence, semicolon, found.target),
        ..Evidence::default()
    };
    let time = std::iter::once(("time_ns", largest.time.max(Ns::ZERO).0));
    let confidence = if found.confident { Confidence::High } else { Confidence::Medium };
    let finding =
        Finding::new(found.id, found.title.clone(), found.advice, "gpuscope ops --unique-args".to_owned());
    let finding = finding
        .claiming(time.chain(found.claim.iter().copied()))
        .shown_by(evidence)
        .trusted(confidence, found.caveat.clone());
    Some(finding.worth(gain, without))
}
