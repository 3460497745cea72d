//! A single step that begins with work of the host: what it did before the GPU got its first work. With several steps
//! a gap between two of them is idle time like any other.

use gpuscope_trace::{Interval, Ns, StrId, View};
use rustc_hash::FxHashMap;

use super::{Evidence, Facts, Finding, rank_flag};
use crate::model::graph::{Graph, Node, NodeId, Scenario, What, Why};

pub(crate) const ID: &str = "host_before_first_launch";

pub(super) fn host_comes_first(facts: &Facts<'_>) -> Vec<Finding> {
    // Where a step's beginning is a guess, so is what comes first in it: a server's step before it may still run.
    let guessed = facts.marked.iter().any(|rank| rank.guessed_steps);
    let single = !guessed && facts.model.ranks.iter().all(|rank| rank.steps.len() == 1);
    let leads = || (0..).zip(&facts.model.coupled.graphs).filter_map(|(i, graph)| Some((i, lead(graph)?)));
    let longest = leads().max_by_key(|(_, lead)| lead.time.len());
    let Some((worst, lead)) = longest.filter(|_| single) else { return Vec::new() };
    let at_once = leads().map(|(i, lead)| (i, lead.first_call)).collect();
    let without = Scenario { at_once, ..Scenario::default() };
    let Some(gain) = facts.gain(&without).and_then(|gain| gain.at_most(lead.time.len(), facts.step)) else {
        return Vec::new();
    };
    let rank = facts.model.ranks[worst as usize].rank;
    let did = facts.marked.get(worst as usize).map_or(&[][..], |marks| &marks.lead);
    let most =
        did.first().map(|(name, time)| format!(", {} of it in {name}", crate::shared::text::time(*time)));
    let title = format!(
        "the host is busy for {} before the first launch{}",
        crate::shared::text::time(lead.time.len()),
        most.unwrap_or_default()
    );
    let parts: Vec<String> =
        did.iter().map(|(name, time)| format!("{name} {}", crate::shared::text::time(*time))).collect();
    let evidence = Evidence {
        rank: Some(rank),
        start_ns: Some(lead.time.start),
        end_ns: Some(lead.time.end),
        names: did.iter().map(|(name, _)| name.clone()).collect(),
        text: format!(
            "the GPU's first work starts {} into the step{}{}",
            crate::shared::text::time(lead.time.len()),
            if parts.is_empty() { "" } else { ": " },
            parts.join(", ")
        ),
        ..Evidence::default()
    };
    let (confidence, caveat) = facts.about_host();
    let finding = Finding::new(
        ID,
        title,
        "prepare the next batch while the GPU works: in DataLoader workers, ahead of the step, or on the GPU",
        format!("gpuscope critical-path{}", rank_flag(&[rank])),
    );
    let claim = [("lead_ns", lead.time.len().0)];
    vec![finding.claiming(claim).shown_by(evidence).trusted(confidence, caveat).worth(gain, without)]
}

struct Lead {
    /// From the step's start to the GPU's first work.
    time: Interval,
    first_call: NodeId,
}

fn lead(graph: &Graph) -> Option<Lead> {
    let on_gpu = (0..).zip(&graph.nodes).filter(|(_, node)| matches!(node.what, What::Gpu(_)));
    let (first, node) = on_gpu.min_by_key(|(_, node)| node.start)?;
    let launch = graph.edges_into(first).iter().find(|edge| edge.why == Why::Launch)?;
    let time = Interval::new(graph.span.start, node.start);
    Some(Lead { time, first_call: launch.from }).filter(|lead| !lead.time.is_empty())
}

/// Names listed.
const LISTED: usize = 3;
/// Deeper stacks are looked at from the inside only so far: each moment costs as much as its stack is deep.
const DEEPEST: usize = 128;
/// What takes less than this share of the time explains nothing, in per cent.
const TELLING_PCT: i128 = 10;

/// Names of what the launching thread was in, each with its time there and that of all inside it: of those that take
/// much of it the ones deepest inside, since what is around them says less.
pub(super) fn of(view: View<'_>, nodes: &[Node], from: Option<Ns>) -> Vec<(String, Ns)> {
    let on_gpu = nodes.iter().filter(|node| matches!(node.what, What::Gpu(_)));
    let Some(first) = on_gpu.min_by_key(|node| node.start) else { return Vec::new() };
    let (Some(from), Some(call)) = (from, view.launch(first.row)) else { return Vec::new() };
    let lead = Interval::new(from, first.start);
    if lead.is_empty() {
        return Vec::new();
    }
    let (trace, nesting) = (view.trace, view.index.nesting(view.trace));
    // Time and depth of each name; a name inside itself counts once.
    let mut names: FxHashMap<StrId, (Ns, usize)> = FxHashMap::default();
    let mut around = Vec::new();
    for (part, row) in view.index.innermost(trace).during(trace.track(call).thread, lead) {
        around.clear();
        let inside_out = std::iter::once(row).chain(nesting.ancestors(row)).take(DEEPEST);
        around.extend(inside_out.map(|row| trace.name_id(row)));
        for (i, name) in around.iter().enumerate().filter(|(i, name)| !around[..*i].contains(name)) {
            let (time, depth) = names.entry(*name).or_default();
            (*time, *depth) = (*time + part.len(), (*depth).max(around.len() - i));
        }
    }
    let much = |time: Ns| i128::from(time.0) * 100 >= i128::from(lead.len().0) * TELLING_PCT;
    // The step is around all of it.
    let is_step = |name: StrId| trace.strings.get(name).starts_with("ProfilerStep#");
    let tells = |(name, (time, _)): &(StrId, (Ns, usize))| much(*time) && !is_step(*name);
    let mut telling: Vec<_> = names.into_iter().filter(tells).collect();
    telling.sort_by_key(|(name, (time, depth))| (std::cmp::Reverse((*depth, *time)), *name));
    telling.truncate(LISTED);
    telling.sort_by_key(|(name, (time, _))| (std::cmp::Reverse(*time), *name));
    telling.into_iter().map(|(name, (time, _))| (trace.strings.get(name).to_owned(), time)).collect()
}
