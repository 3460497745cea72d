//! Time as stacked bars for each rank, and each rank's steps as a heat map.

use gpuscope_figure::{Axis, Figure, Hue, Panel, Pictured, Series, Unit};
use gpuscope_trace::Ns;

use super::{BreakdownAnswer, RankBreakdown, StepTimes, Times};
use crate::shared::few_ranks::FewRanks;
use crate::shared::grid::Grid;

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
        let few = FewRanks::of(&self.ranks, |rank| {
            let Times { total_ns, computation_ns, .. } = rank.total;
            (total_ns > Ns::ZERO).then(|| computation_ns.as_f64())
        });
        let mut figures = vec![by_rank(&few, &self.ranks), self.by_step()];
        if few.of.is_some() {
            // What many ranks have in common is seen at once in the heat map.
            figures.reverse();
        }
        figures.retain(|figure| !figure.is_empty());
        figures
    }
}

fn by_rank(few: &FewRanks<'_, RankBreakdown>, all: &[RankBreakdown]) -> Figure {
    let names = few.names(|rank| rank.rank.to_string());
    let mut panel = Panel::new(Axis::categories("rank", names), Axis::new("time", Unit::Ns)).stacked();
    for (name, hue, part) in PARTS {
        // A rank without GPU work has no bar, not an empty one.
        let value = |times: &Times| (times.total_ns > Ns::ZERO).then(|| part(times).as_f64());
        let values = few.ranks().map(|rank| value(&rank.total)).collect();
        panel = panel.with(Series::bars(name, hue, values));
    }
    let (idle, total) = all.iter().fold((0.0, 0.0), |(idle, total), rank| {
        (idle + rank.total.idle_ns.as_f64(), total + rank.total.total_ns.as_f64())
    });
    let summary = if total > 0.0 {
        format!("From their first to their last event GPUs idle {:.1} % of the time", idle / total * 100.0)
    } else {
        String::new()
    };
    Figure::new("breakdown", few.title("Where did GPU time go?", "compute"), panel).summary(summary)
}

impl BreakdownAnswer {
    /// How long each step took on each rank, and how much of that was communication which nothing hid.
    fn by_step(&self) -> Figure {
        let mut numbers: Vec<i64> = self.ranks.iter().flat_map(steps).map(|step| step.step).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let panel = |what: &str, hue: Hue, of: fn(&StepTimes) -> Option<Ns>| {
            let ranks = self.ranks.iter().map(|rank| rank.rank.to_string());
            let mut grid = Grid::new(ranks, numbers.iter().map(i64::to_string));
            for (row, rank) in self.ranks.iter().enumerate() {
                for step in steps(rank) {
                    if let (Ok(column), Some(time)) = (numbers.binary_search(&step.step), of(step)) {
                        grid.raise(row, column, time.as_f64());
                    }
                }
            }
            grid.panel(("rank", "step"), what, hue, Unit::Ns).titled(what)
        };
        let period = panel("period of the step", Hue::Critical, |step| step.period_ns);
        let exposed = panel("exposed communication", Hue::Communication, |step| {
            Some(step.times.exposed_comm_ns).filter(|time| *time > Ns::ZERO)
        });
        let figure = Figure::new("steps", "Which rank is slow in which step?", period);
        if exposed.is_empty() { figure } else { figure.below(exposed) }
    }
}

fn steps(rank: &RankBreakdown) -> &[StepTimes] {
    if rank.steps.is_empty() { &rank.inferred_steps } else { &rank.steps }
}
