//! What each step of a rank lost to its host: the stretches in which its GPU had nothing to do because nothing had been
//! launched, put down to the step whose work ended them.

use gpuscope_trace::{Ns, View};

use crate::idle::HostWaits;

/// By place of the step among those of the trace; by its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RankSteps {
    pub(super) host_idle: Vec<(i64, Ns)>,
}

pub(super) fn of(view: View<'_>) -> RankSteps {
    let steps = view.steps();
    let mut host_idle: Vec<(i64, Ns)> = steps.iter().map(|step| (step.number, Ns::ZERO)).collect();
    let (mut waits, mut step_at) = (HostWaits::new(view), steps.cursor());
    for event in view.gpu() {
        let Some(gap) = waits.add(view, event) else { continue };
        let step = view.trace.start(gap.call).and_then(|launched| step_at.at(launched));
        if let Some(step) = step {
            host_idle[step].1 += gap.time.len();
        }
    }
    RankSteps { host_idle }
}
