//! Time as stacked bars for each rank, and each rank's steps as a heat map.

use gpuscope_figure::{Axis, Data, Figure, Hue, Panel, Pictured, Series, Unit};
use gpuscope_trace::Ns;

use super::{BreakdownAnswer, RankBreakdown, StepTimes, Times};

type Part = (&'static str, Hue, fn(&Times) -> Ns);

/// They add up to the total.
const PARTS: [Part; 4] = [
    ("computation", Hue::Compute, |times| times.computation_ns),
    ("exposed communication", Hue::Communication, |times| times.exposed_comm_ns),
    ("exposed copies", Hue::Copy, |times| times.exposed_memcpy_ns),
    ("idle", Hue::Idle, |times| times.idle_ns),
];

impl Pictured for BreakdownAnswer {
    fn figures(&self) -> Vec<Figure> {
        let mut figures = vec![self.by_rank(), self.by_step()];
        figures.retain(|figure| !figure.is_empty());
        figures
    }
}

impl BreakdownAnswer {
    fn by_rank(&self) -> Figure {
        let ranks = || self.ranks.iter().map(|rank| rank.rank.to_string());
        let mut panel = Panel::new(Axis::categories("rank", ranks()), Axis::new("time", Unit::Ns)).stacked();
        for (name, hue, part) in PARTS {
            let values = self.ranks.iter().map(|rank| Some(part(&rank.total).as_f64())).collect();
            panel = panel.with(Series::bars(name, hue, values));
        }
        let (idle, total) = self.ranks.iter().fold((0.0, 0.0), |(idle, total), rank| {
            (idle + rank.total.idle_ns.as_f64(), total + rank.total.total_ns.as_f64())
        });
        let summary = if total > 0.0 {
            format!("GPUs idle {:.1} % of the time", idle / total * 100.0)
        } else {
            String::new()
        };
        Figure::new("breakdown", "Where did GPU time go?", panel).summary(summary)
    }

    /// How long each step took on each rank.
    fn by_step(&self) -> Figure {
        let mut numbers: Vec<i64> = self.ranks.iter().flat_map(steps).map(|step| step.step).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut values = vec![None; numbers.len() * self.ranks.len()];
        for (row, rank) in self.ranks.iter().enumerate() {
            for step in steps(rank) {
                if let Ok(column) = numbers.binary_search(&step.step) {
                    values[row * numbers.len() + column] = step.period_ns.map(Ns::as_f64);
                }
            }
        }
        let panel = Panel::new(
            Axis::categories("step", numbers.iter().map(i64::to_string)),
            Axis::categories("rank", self.ranks.iter().map(|rank| format!("rank {}", rank.rank))),
        )
        .with(Series::new("time of the step", Hue::Critical, Data::Cells { values, unit: Unit::Ns }));
        Figure::new("steps", "Which rank is slow in which step?", panel)
    }
}

fn steps(rank: &RankBreakdown) -> &[StepTimes] {
    if rank.steps.is_empty() { &rank.inferred_steps } else { &rank.steps }
}
