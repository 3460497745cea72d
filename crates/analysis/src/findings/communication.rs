//! Communication that nothing hides.

use std::collections::BTreeMap;

use super::{Confidence, Evidence, Facts, Finding, Gain};
use crate::graph::Scenario;

/// The last bucket of gradients has nothing left to hide behind; so much of a step is lost by any job.
const TAIL_PCT: f64 = 3.0;

pub(super) fn exposed(facts: &Facts<'_>) -> Vec<Finding> {
    let mut groups: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for rank in facts.marked {
        for (mark, label) in &rank.groups {
            let labels = groups.entry(*mark).or_default();
            if !label.is_empty() && !labels.contains(&label.as_str()) {
                labels.push(label);
            }
        }
    }
    groups.into_iter().filter_map(|(mark, labels)| finding(facts, mark, &labels.join(", "))).collect()
}

/// Hiding it all can bring no more than if its transfers took no time: late ranks are waited for either way. Nor can it
/// bring more than if nothing waited for it: it still has to fit beside the rest.
fn hidden(facts: &Facts<'_>, mark: u32) -> Option<(Gain, Scenario)> {
    let free = Scenario::scaling(mark, 0.0);
    let beside = Scenario { hidden: mark, ..Scenario::default() };
    let both = [free, beside].map(|scenario| Some((facts.gain(&scenario)?, scenario)));
    let [Some(free), Some(beside)] = both else { return None };
    let less = if free.0.ns <= beside.0.ns { free } else { beside };
    Some(less).filter(|(gain, _)| gain.pct >= TAIL_PCT)
}

fn finding(facts: &Facts<'_>, mark: u32, label: &str) -> Option<Finding> {
    let (gain, without) = hidden(facts, mark)?;
    let largest = facts.marked.iter().max_by_key(|rank| rank.marked(mark).time)?;
    let marked = largest.marked(mark);
    let alone = facts.model.has_lone_communication();
    let of_group = if label.is_empty() { String::new() } else { format!(" of group {label}") };
    let caveat = alone.then(|| "ranks are missing, so waiting and transfer cannot be told apart".to_owned());
    let finding = Finding {
        id: "exposed_communication",
        title: format!("communication{of_group} is not hidden behind computation"),
        evidence: Evidence {
            ranks: Vec::new(),
            step: None,
            rank: Some(largest.rank),
            start_ns: marked.longest.map(|(start, _)| start),
            end_ns: marked.longest.map(|(_, end)| end),
            names: vec![marked.name.clone()],
            text: format!(
                "{} calls on rank {}, {} in all, mostly {}",
                marked.count,
                largest.rank,
                crate::text::time(marked.time),
                marked.name
            ),
        },
        confidence: if alone { Confidence::Medium } else { Confidence::High },
        caveat,
        advice: "start it earlier: smaller DDP buckets, FSDP prefetch, async ops; or send less: bf16, accumulation",
        gain_ns: None,
        gain_pct: None,
        command: "gpuscope collectives".to_owned(),
        without: None,
    };
    Some(finding.worth(gain, without))
}
