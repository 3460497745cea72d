//! The whole answer in one sentence.

use super::AnalyzeAnswer;

/// Below this share of idle time and exposed communication the GPUs are as busy as can be.
const BUSY_PCT: f64 = 90.0;

pub(super) fn of(answer: &AnalyzeAnswer) -> String {
    let step = &answer.step;
    if answer.breakdown.ranks.iter().all(|rank| rank.total.total_ns.0 == 0) {
        return "There is no GPU work in these traces.".to_owned();
    }
    let worth = answer.findings.first().and_then(|finding| Some((finding.gain_pct?, finding)));
    match (worth, answer.findings.first()) {
        (Some((pct, finding)), _) => {
            format!("{pct:.0} % of a step could be saved: {}.", finding.title)
        }
        (None, Some(finding)) => format!("Time is well spent, but {}.", finding.title),
        (None, None) if step.computation_pct >= BUSY_PCT => format!(
            "Healthy: the GPUs compute {:.0} % of the time, and nothing else is worth 2 % of a step.",
            step.computation_pct
        ),
        (None, None) => format!(
            "The GPUs compute {:.0} % of the time; no single cause of the rest is worth 2 % of a step.",
            step.computation_pct
        ),
    }
}
