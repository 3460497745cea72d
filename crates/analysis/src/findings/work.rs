//! Work on the GPU that could be cheaper, or need not be done.

use super::marks::{self, Marked};
use super::{Confidence, Evidence, Facts, Finding, Gain};
use crate::model::graph::Scenario;

pub(super) const SMALL_KERNELS: &str = "small_kernels";
pub(crate) const UNPINNED_COPIES: &str = "unpinned_copies";
pub(super) const LOW_OCCUPANCY: &str = "low_occupancy";
pub(super) const RECOMPUTATION: &str = "recomputation";

/// Fewer small kernels are no habit of the program.
const FEWEST_SMALL: u64 = 20;

pub(super) fn small_kernels(facts: &Facts<'_>) -> Vec<Finding> {
    let without = Scenario { fused: marks::SMALL, ..Scenario::default() };
    let found = seen(facts, marks::SMALL, &without).filter(|(_, _, marked)| marked.count >= FEWEST_SMALL);
    let Some((gain, evidence, marked)) = found else { return Vec::new() };
    let (confidence, caveat) = facts.about_host();
    let finding = Finding::new(
        SMALL_KERNELS,
        format!("{} kernels finish before the host has launched the next one", marked.count),
        "fuse them with torch.compile, or capture the region in a CUDA graph",
        "gpuscope launches --table summary".to_owned(),
    );
    vec![
        finding
            .claiming(marked.claim("kernels"))
            .shown_by(evidence)
            .trusted(confidence, caveat)
            .worth(gain, without),
    ]
}

/// Pinned memory is copied at least twice as fast as the driver's staging copies.
const AS_PINNED: f64 = 0.5;

pub(super) fn unpinned_copies(facts: &Facts<'_>) -> Vec<Finding> {
    let without = Scenario::scaling(marks::UNPINNED, AS_PINNED);
    let Some((gain, evidence, marked)) = seen(facts, marks::UNPINNED, &without) else { return Vec::new() };
    let finding = Finding::new(
        UNPINNED_COPIES,
        format!("{} large copies go to or from pageable memory", marked.count),
        facts.program.either(
            "use pin_memory=True in the DataLoader with .to(device, non_blocking=True), and copy results into pinned tensors",
            "allocate the host's buffers with cudaMallocHost, or pin them with cudaHostRegister, and copy with cudaMemcpyAsync",
        ),
        "gpuscope bandwidth".to_owned(),
    );
    let caveat = "assumes that pinned memory is copied twice as fast".to_owned();
    vec![
        finding
            .claiming(marked.claim("copies"))
            .shown_by(evidence)
            .trusted(Confidence::Medium, Some(caveat))
            .worth(gain, without),
    ]
}

pub(super) fn low_occupancy(facts: &Facts<'_>) -> Vec<Finding> {
    let fill = facts.marked.iter().map(|rank| rank.fill).fold(1.0, f64::min);
    let without = Scenario::scaling(marks::LOW_OCCUPANCY, fill);
    let Some((gain, evidence, marked)) = seen(facts, marks::LOW_OCCUPANCY, &without) else {
        return Vec::new();
    };
    let finding = Finding::new(
        LOW_OCCUPANCY,
        format!("{} kernels launch fewer blocks than the GPU has multiprocessors", marked.count),
        "use larger batches, smaller tiles or split-K variants of these kernels, or run them alongside other work",
        "gpuscope kernels".to_owned(),
    );
    let caveat =
        format!("assumes that they would take {:.0} % of their time if they filled the device", fill * 100.0);
    vec![
        finding
            .claiming(marked.claim("kernels"))
            .shown_by(evidence)
            .trusted(Confidence::Medium, Some(caveat))
            .worth(gain, without),
    ]
}

pub(super) fn recomputation(facts: &Facts<'_>) -> Vec<Finding> {
    let without = Scenario::scaling(marks::RECOMPUTED, 0.0);
    let Some((gain, evidence, marked)) = seen(facts, marks::RECOMPUTED, &without) else { return Vec::new() };
    let finding = Finding::new(
        RECOMPUTATION,
        format!("activation checkpointing runs {} kernels a second time", marked.count),
        "checkpoint fewer blocks, or only cheap operators (selective checkpointing), as far as memory allows",
        "gpuscope memory".to_owned(),
    );
    let caveat = "without it the activations have to fit in memory: see gpuscope memory".to_owned();
    vec![
        finding
            .claiming(marked.claim("kernels"))
            .shown_by(evidence)
            .trusted(Confidence::High, Some(caveat))
            .worth(gain, without),
    ]
}

/// The gain of a scenario about marked work, and where there is most of it.
fn seen(facts: &Facts<'_>, mark: u32, without: &Scenario) -> Option<(Gain, Evidence, Marked)> {
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
            "{} on rank {}, {} in all, the largest share in {}",
            marked.count,
            most.rank,
            crate::shared::text::time(marked.time),
            crate::shared::text::name(&marked.name)
        ),
    };
    Some((gain, evidence, marked))
}
