//! Work on the GPU that could be cheaper, or need not be done.

use super::marks::{self, Marked};
use super::{Confidence, Evidence, Facts, Finding, Gain};
use crate::graph::Scenario;

pub(super) const SMALL_KERNELS: &str = "small_kernels";

/// Fewer small kernels are no habit of the program.
const FEWEST_SMALL: u64 = 10;

pub(super) fn small_kernels(facts: &Facts<'_>) -> Vec<Finding> {
    let without = Scenario { fused: marks::SMALL, ..Scenario::default() };
    let found = seen(facts, marks::SMALL, &without).filter(|(_, _, marked)| marked.count >= FEWEST_SMALL);
    let Some((gain, evidence, marked)) = found else { return Vec::new() };
    let (confidence, caveat) = facts.about_host();
    let finding = Finding {
        id: SMALL_KERNELS,
        title: format!("{} kernels are over before the host has launched the next", marked.count),
        evidence,
        confidence,
        caveat,
        advice: "fuse them with torch.compile, or capture the region in a CUDA graph",
        gain_ns: None,
        gain_pct: None,
        command: "gpuscope launches --table summary".to_owned(),
        without: None,
    };
    vec![finding.worth(gain, without)]
}

pub(super) fn unpinned_copies(facts: &Facts<'_>) -> Vec<Finding> {
    let mut without = Scenario::scaling(marks::UNPINNED, 0.0);
    without.not_awaited = marks::UNPINNED;
    let Some((gain, evidence, marked)) = seen(facts, marks::UNPINNED, &without) else { return Vec::new() };
    let finding = Finding {
        id: "unpinned_copies",
        title: format!("{} copies from or to pageable memory hold up host and GPU", marked.count),
        evidence,
        confidence: Confidence::High,
        caveat: None,
        advice: "pin_memory=True in the DataLoader and .to(device, non_blocking=True); copy results to pinned tensors",
        gain_ns: None,
        gain_pct: None,
        command: "gpuscope bandwidth".to_owned(),
        without: None,
    };
    vec![finding.worth(gain, without)]
}

pub(super) fn low_occupancy(facts: &Facts<'_>) -> Vec<Finding> {
    let fill = facts.marked.iter().map(|rank| rank.fill).fold(1.0, f64::min);
    let without = Scenario::scaling(marks::LOW_OCCUPANCY, fill);
    let Some((gain, evidence, marked)) = seen(facts, marks::LOW_OCCUPANCY, &without) else {
        return Vec::new();
    };
    let finding = Finding {
        id: "low_occupancy",
        title: format!("{} kernels have fewer blocks than the GPU has multiprocessors", marked.count),
        evidence,
        confidence: Confidence::Medium,
        caveat: Some(format!(
            "if they filled the device as well as others: {:.0} % of their time",
            fill * 100.0
        )),
        advice: "larger batches or tiles, split-K or flash variants of the kernel, or run it beside other work",
        gain_ns: None,
        gain_pct: None,
        command: "gpuscope kernels".to_owned(),
        without: None,
    };
    vec![finding.worth(gain, without)]
}

pub(super) fn recomputation(facts: &Facts<'_>) -> Vec<Finding> {
    let without = Scenario::scaling(marks::RECOMPUTED, 0.0);
    let Some((gain, evidence, marked)) = seen(facts, marks::RECOMPUTED, &without) else { return Vec::new() };
    let finding = Finding {
        id: "recomputation",
        title: format!("activation checkpointing runs {} kernels a second time", marked.count),
        evidence,
        confidence: Confidence::High,
        caveat: Some("the memory it saves is then needed: see gpuscope memory".to_owned()),
        advice: "checkpoint fewer blocks, or only cheap operators (selective checkpointing), as memory allows",
        gain_ns: None,
        gain_pct: None,
        command: "gpuscope memory".to_owned(),
        without: None,
    };
    vec![finding.worth(gain, without)]
}

/// The gain of a scenario about marked work, and where there is most of it.
fn seen<'a>(facts: &'a Facts<'_>, mark: u32, without: &Scenario) -> Option<(Gain, Evidence, &'a Marked)> {
    let most = facts.marked.iter().max_by_key(|rank| rank.marked(mark).time)?;
    let marked = most.marked(mark);
    if marked.count == 0 {
        return None;
    }
    let gain = facts.gain(without)?;
    let evidence = Evidence {
        ranks: Vec::new(),
        step: None,
        rank: Some(most.rank),
        start_ns: marked.longest.map(|(start, _)| start),
        end_ns: marked.longest.map(|(_, end)| end),
        names: vec![marked.name.clone()],
        text: format!(
            "{} on rank {}, {} in all, mostly {}",
            marked.count,
            most.rank,
            crate::text::time(marked.time),
            marked.name
        ),
    };
    Some((gain, evidence, marked))
}
