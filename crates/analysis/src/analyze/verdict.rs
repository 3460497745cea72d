//! The whole answer in one sentence.

use gpuscope_trace::Ns;

use super::AnalyzeAnswer;
use crate::idle::{Cause, DeviceIdle, HostCause, IdleAnswer};

/// Above this share of computation the GPUs are as busy as can be.
const BUSY_PCT: f64 = 90.0;
/// Communication that nothing hides, above this share of the time, is not passed over.
const MUCH_PCT: f64 = 25.0;

pub(super) fn of(answer: &AnalyzeAnswer) -> String {
    let step = &answer.step;
    if !answer.has_gpu_work() {
        return "There is no GPU work in these traces.".to_owned();
    }
    let whole = step.whole();
    let gain = answer.findings.first().and_then(|finding| finding.gain_pct);
    if let Some(pct) = bound_by_communication(answer, gain.unwrap_or(0.0)) {
        return format!("For {pct:.0} % of the time the GPUs only communicate, or wait for other ranks to.");
    }
    match (answer.findings.first(), gain) {
        (Some(finding), Some(pct)) => format!("{pct:.0} % {whole} could be saved: {}.", finding.title),
        (Some(finding), None) if step.computation_pct >= BUSY_PCT => {
            format!("Time is well spent, but {}.", finding.title)
        }
        (Some(finding), None) => {
            format!("The GPUs compute {:.0} % of the time; {}.", step.computation_pct, finding.title)
        }
        (None, _) => without_findings(answer, whole),
    }
}

/// The share of communication, if there is much of it and no finding says how to have less.
fn bound_by_communication(answer: &AnalyzeAnswer, gain_pct: f64) -> Option<f64> {
    let pct = answer.step.exposed_comm_pct;
    let most = pct >= MUCH_PCT && pct > answer.step.idle_pct && pct > 4.0 * gain_pct;
    let explains = |id| matches!(id, "exposed_communication" | "straggler");
    let told = answer.findings.iter().any(|finding| explains(finding.id));
    (most && !told).then_some(pct)
}

fn without_findings(answer: &AnalyzeAnswer, whole: &str) -> String {
    let step = &answer.step;
    let pct = step.computation_pct;
    if let Some((busy, median)) = mostly_elsewhere(answer) {
        return format!(
            "The GPUs have work for {} of a step of {}; the host spends the rest before and after.",
            crate::text::time(busy),
            crate::text::time(median)
        );
    }
    if pct >= BUSY_PCT {
        return format!(
            "Healthy: from their first to their last work the GPUs compute {pct:.0} % of the time, and nothing else is \
             worth 2 % {whole}."
        );
    }
    if step.idle_pct < MUCH_PCT {
        return format!(
            "The GPUs compute {pct:.0} % of the time; no single cause of the rest is worth 2 % {whole}."
        );
    }
    format!("The GPUs idle for {:.0} % of the time; {}.", step.idle_pct, why_idle(&answer.idle))
}

/// From the first to the last work of a GPU, and the step, if a single one was recorded and is mostly something else.
fn mostly_elsewhere(answer: &AnalyzeAnswer) -> Option<(Ns, Ns)> {
    let median = answer.step.median_ns.filter(|_| answer.step.steps == 1)?;
    let busy = answer.breakdown.ranks.iter().map(|rank| rank.total.total_ns).max()?;
    (busy.0 < median.0 / 2).then_some((busy, median))
}

fn why_idle(idle: &IdleAnswer) -> String {
    let sum = |part: fn(&DeviceIdle) -> Ns| idle.devices.iter().map(part).sum::<Ns>();
    let reasons = [
        (
            sum(|device| device.unlinked_ns),
            "what launched their work is not recorded, so it is not known why",
        ),
        (sum(|device| device.queued_ns), "work was launched but waited, for events or for work not recorded"),
        (sum(|device| device.launch_ns), "work was launched but had not arrived yet"),
        (sum(|device| device.in_call_ns), "the launch calls themselves take that long"),
    ];
    let host = sum(|device| device.host_ns);
    match reasons.into_iter().max_by_key(|(time, _)| *time).filter(|(time, _)| *time > host) {
        Some((_, why)) => why.to_owned(),
        None => format!("the host launches too late{}", doing(&idle.host_causes)),
    }
}

/// What the hosts did meanwhile, most of all.
fn doing(causes: &[HostCause]) -> String {
    let Some(most) = causes.iter().max_by_key(|cause| cause.idle_ns) else { return String::new() };
    let name = most.name.as_ref().filter(|_| most.cause != Cause::NothingRecorded);
    let name = name.map(|name| format!(", {name}")).unwrap_or_default();
    format!(" (most of all: {}{name})", most.cause.label())
}
