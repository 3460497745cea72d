//! Start-up in the recording: said, and kept apart from what a step costs.

use crate::shared::recording::after_warm_up;
use gpuscope_trace::Ns;

use super::{Evidence, Facts, Finding};

pub(crate) const ID: &str = "start_up";

/// Less of the recorded time is not spoken of, in per cent.
const WORTH_PCT: f64 = 10.0;

pub(super) fn start_up(facts: &Facts<'_>) -> Vec<Finding> {
    let Some((worst, graph)) =
        facts.marked.iter().zip(&facts.model.coupled.graphs).max_by_key(|(rank, _)| rank.start_up.time)
    else {
        return Vec::new();
    };
    let found = &worst.start_up;
    let whole = graph.span.len().max(Ns(1));
    // What belongs to steps that are set apart is spoken of with them.
    let model = facts.model.ranks.iter().find(|model| model.rank == worst.rank);
    let from = model.map_or(graph.span.start, |model| model.steps.counts_from());
    let inside = found.span.filter(|(_, end)| *end > from);
    let (Some((start, end)), true) = (inside, found.time.pct_of(whole) >= WORTH_PCT) else {
        return Vec::new();
    };
    let parts: Vec<String> = found
        .names
        .iter()
        .map(|(name, time)| format!("{name} {}", crate::shared::text::time(*time)))
        .collect();
    let finding = Finding::new(
        ID,
        format!(
            "start-up takes {} of the {} recorded",
            crate::shared::text::time(found.time),
            crate::shared::text::time(whole)
        ),
        after_warm_up(facts.program.recorder),
        format!("gpuscope idle{}", super::rank_flag(&[worst.rank])),
    );
    let evidence = Evidence {
        rank: Some(worst.rank),
        start_ns: Some(start),
        end_ns: Some(end),
        names: found.names.iter().map(|(name, _)| name.clone()).collect(),
        text: format!("first calls on rank {}: {}", worst.rank, parts.join(", ")),
        ..Evidence::default()
    };
    let claim = [("calls", found.rows.len() as i64), ("time_ns", found.time.0), ("recorded_ns", whole.0)];
    vec![finding.claiming(claim).shown_by(evidence)]
}
