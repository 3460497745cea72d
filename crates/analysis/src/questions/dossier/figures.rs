//! The median step as one bar, whose parts add up to it.

use gpuscope_figure::{Axis, Figure, Hue, Panel, Series, Unit};

use super::{MedianStep, StepPart, What};
use crate::shared::text;

impl MedianStep {
    pub fn figure(&self) -> Figure {
        let mut panel = Panel::new(Axis::new("time", Unit::Ns), Axis::categories("", ["step"])).stacked();
        for part in &self.parts {
            panel = panel.with(Series::bars(
                self.said(part),
                hue_without_stripes(part.what),
                vec![Some(part.ns.as_f64())],
            ));
        }
        let longest = self.parts.iter().max_by_key(|part| part.ns);
        let summary = longest.map_or(String::new(), |part| {
            format!("{:.1} % of it is {}", part.ns.pct_of(self.length_ns), part.label())
        });
        let title = format!("The median step: step {} of rank {}", self.step, self.rank);
        Figure::new("median_step", title, panel).summary(summary)
    }

    /// A part with how long it is: paper cannot be pointed at.
    fn said(&self, part: &StepPart) -> String {
        format!("{} {} {:.1} %", part.label(), text::time(part.ns), part.ns.pct_of(self.length_ns))
    }
}

impl StepPart {
    /// In words, with the group it is about.
    pub fn label(&self) -> String {
        let what = match self.what {
            What::Computation => "computation",
            What::Waiting => "waiting for ranks",
            What::Transfer => "transfer",
            What::Copy => "copies",
            What::IdleHost => "idle: host",
            What::IdleInCall => "idle: in the launching call",
            What::IdleLaunch => "idle: launch",
            What::IdleQueued => "idle: queued",
            What::IdleUnlinked => "idle: launch not recorded",
            What::Unrecorded => "older work, not recorded",
            What::Lead => "before the first GPU work",
            What::Tail => "after the last",
        };
        match &self.group {
            Some(group) => format!("{what} ({group})"),
            None => what.to_owned(),
        }
    }
}

impl What {
    pub fn hue(self) -> Hue {
        match self {
            What::Computation => Hue::Compute,
            What::Waiting | What::Transfer => Hue::Communication,
            What::Copy => Hue::Copy,
            What::IdleHost => Hue::Host,
            What::IdleInCall => Hue::Nth(4),
            What::IdleQueued => Hue::Nth(7),
            What::IdleUnlinked => Hue::Nth(6),
            What::Unrecorded => Hue::Nth(3),
            What::IdleLaunch | What::Lead | What::Tail => Hue::Idle,
        }
    }
}

/// In a chart nothing has stripes, which tell waiting from transfer elsewhere.
fn hue_without_stripes(what: What) -> Hue {
    if what == What::Waiting { Hue::Critical } else { what.hue() }
}
