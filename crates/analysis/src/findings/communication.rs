//! Communication that nothing hides.

use super::marks::Marked;
use super::{Confidence, Evidence, Facts, Finding, Gain};
use crate::model::graph::{GroupChange, Scenario};

pub(crate) const ID: &str = "exposed_communication";

/// The last bucket of gradients has nothing left to hide behind; so much of a step is lost by any job.
const TAIL_PCT: f64 = 3.0;

pub(super) fn exposed(facts: &Facts<'_>) -> Vec<Finding> {
    let groups = (1u16..).zip(facts.model.groups.iter().skip(1));
    groups.filter_map(|(group, label)| finding(facts, group, label)).collect()
}

/// Hiding it all can bring no more than if its transfers took no time: late ranks are waited for either way. Nor can it
/// bring more than if nothing waited for it: it still has to fit beside the rest.
fn hidden(facts: &Facts<'_>, group: u16) -> Option<(Gain, Scenario, Scenario)> {
    let free = Scenario::of_group(group, GroupChange { factor: 0.0, hidden: false });
    let beside = Scenario::of_group(group, GroupChange { factor: 1.0, hidden: true });
    let worth = |scenario: Scenario| Some((facts.gain(&scenario)?, scenario));
    let (free, beside) = (worth(free)?, worth(beside)?);
    let (less, more) = if free.0.ns <= beside.0.ns { (free, beside) } else { (beside, free) };
    Some((less.0, less.1, more.1)).filter(|(gain, ..)| gain.pct >= TAIL_PCT)
}

/// What a rank has of a group.
fn of_group<'a>(facts: &'a Facts<'_>, label: &str) -> Option<(u32, &'a Marked)> {
    let each = facts.model.ranks.iter().zip(facts.marked).filter_map(|(model, marked)| {
        let number = model.groups.iter().skip(1).position(|group| group == label)? + 1;
        Some((model.rank, marked.groups.get(number)?))
    });
    each.max_by_key(|(_, marked)| marked.time)
}

fn finding(facts: &Facts<'_>, group: u16, label: &str) -> Option<Finding> {
    let (gain, without, or) = hidden(facts, group)?;
    let (rank, marked) = of_group(facts, label)?;
    let alone = facts.alone;
    let of_group = if label.is_empty() { String::new() } else { format!(" of group {label}") };
    let caveat = alone
        .then(|| "other ranks are not in the recording, so waiting cannot be told from transfer".to_owned());
    let finding = Finding::new(
        ID,
        format!("communication{of_group} is not hidden behind computation"),
        "start it earlier (smaller DDP buckets, FSDP prefetching, async_op=True) or send less (bf16 gradients, gradient accumulation)",
        "gpuscope collectives".to_owned(),
    );
    let evidence = Evidence {
        rank: Some(rank),
        start_ns: marked.longest.map(|(start, _)| start),
        end_ns: marked.longest.map(|(_, end)| end),
        names: vec![marked.name.clone()],
        text: format!(
            "{} kernels on rank {rank}, {} in all, the largest share in {}",
            marked.count,
            crate::shared::text::time(marked.time),
            crate::shared::text::name(&marked.name)
        ),
        ..Evidence::default()
    };
    let confidence = if alone { Confidence::Medium } else { Confidence::High };
    let finding = finding.claiming(marked.claim("calls")).shown_by(evidence).trusted(confidence, caveat);
    Some(finding.worth(gain, without).or(or))
}
