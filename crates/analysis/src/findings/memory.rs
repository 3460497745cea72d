//! Memory that is nearly full, or reserved and of no use.

use super::{Confidence, Evidence, Facts, Finding, marks, rank_flag};
use crate::memory::DeviceMemory;
use crate::model::graph::Scenario;

pub(super) const NEAR_LIMIT: &str = "memory_near_limit";
pub(super) const FRAGMENTED: &str = "memory_fragmented";

/// Reserved memory above this share of the device leaves no room for anything else.
const NEARLY_FULL: f64 = 0.95;
/// Reserved and not given out, above this share of what is reserved.
const MUCH_UNUSED: f64 = 0.25;

fn share(part: i64, whole: i64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}

/// What lies reserved and unused when most is in use.
fn unused(device: &DeviceMemory) -> f64 {
    let Some((unused, reserved)) = device.peak.fragmentation_bytes.zip(device.peak.reserved_bytes) else {
        return 0.0;
    };
    share(unused, reserved)
}

fn fullness(device: &DeviceMemory) -> f64 {
    device.peak_reserved_bytes.zip(device.capacity_bytes).map_or(0.0, |(held, all)| share(held, all))
}

pub(super) fn near_limit(facts: &Facts<'_>) -> Vec<Finding> {
    let full = facts
        .memory
        .devices
        .iter()
        .filter(|device| fullness(device) >= NEARLY_FULL && unused(device) < MUCH_UNUSED);
    let Some(fullest) = full.max_by(|a, b| fullness(a).total_cmp(&fullness(b))) else { return Vec::new() };
    let finding = Finding::new(
        NEAR_LIMIT,
        format!(
            "the memory of {} on rank {} is {:.0} % full",
            fullest.device,
            fullest.rank,
            fullness(fullest) * 100.0
        ),
        "a slightly longer input may run out of memory: shard the model, checkpoint activations, or use smaller batches",
        format!("gpuscope memory{}", rank_flag(&[fullest.rank])),
    );
    vec![finding.claiming(claim(fullest)).shown_by(evidence(fullest))]
}

fn claim(device: &DeviceMemory) -> [(&'static str, i64); 3] {
    [
        ("reserved_bytes", device.peak_reserved_bytes.unwrap_or(0)),
        ("capacity_bytes", device.capacity_bytes.unwrap_or(0)),
        ("allocated_bytes", device.peak.allocated_bytes),
    ]
}

pub(super) fn fragmented(facts: &Facts<'_>) -> Vec<Finding> {
    let fragmented = facts
        .memory
        .devices
        .iter()
        .filter(|device| unused(device) >= MUCH_UNUSED && fullness(device) >= NEARLY_FULL);
    let Some(worst) = fragmented.max_by(|a, b| unused(a).total_cmp(&unused(b))) else { return Vec::new() };
    let title = format!(
        "{:.0} % of the memory reserved on rank {} sits unused in fragments",
        unused(worst) * 100.0,
        worst.rank
    );
    let finding = Finding::new(
        FRAGMENTED,
        title,
        "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and keep tensor sizes the same from step to step",
        format!("gpuscope memory{}", rank_flag(&[worst.rank])),
    );
    let finding = finding.claiming(claim(worst)).shown_by(evidence(worst)).trusted(Confidence::Medium, None);
    // What fragmentation costs is the allocator's giving back and asking again.
    let mut without = Scenario::scaling(marks::ALLOCATOR, 0.0);
    without.not_awaited = marks::ALLOCATOR;
    match facts.gain(&without) {
        Some(gain) => vec![finding.worth(gain, without)],
        None => vec![finding],
    }
}

fn evidence(device: &DeviceMemory) -> Evidence {
    Evidence {
        ranks: vec![device.rank],
        step: device.peak.site.step,
        rank: Some(device.rank),
        start_ns: Some(device.peak.time_ns),
        end_ns: Some(device.peak.time_ns),
        names: device.peak.site.operator.clone().into_iter().collect(),
        text: format!(
            "{} reserved of {}, {} allocated at the peak",
            crate::shared::text::bytes(device.peak_reserved_bytes.unwrap_or(0)),
            crate::shared::text::bytes(device.capacity_bytes.unwrap_or(0)),
            crate::shared::text::bytes(device.peak.allocated_bytes),
        ),
    }
}
