//! From one run to the other as a waterfall, and the names that changed most.

use gpuscope_figure::{Axis, Figure, Hue, Panel, Pictured, Series, Unit};
use gpuscope_trace::Ns;

use super::{DiffAnswer, DiffRow, PartRow, Place, Summary};

/// Bars that a person still tells apart.
const MOST_BARS: usize = 20;

type Part = (&'static str, fn(&Summary) -> Option<Ns>);

const PARTS: [Part; 4] = [
    ("computation", |summary| summary.computation_ns),
    ("exposed communication", |summary| summary.exposed_comm_ns),
    ("exposed copies", |summary| summary.exposed_memcpy_ns),
    ("idle", |summary| summary.idle_ns),
];

impl Pictured for DiffAnswer {
    fn figures(&self) -> Vec<Figure> {
        self.figures_of_top(None)
    }
}

impl DiffAnswer {
    pub fn figures_of_top(&self, top: Option<usize>) -> Vec<Figure> {
        let mut figures: Vec<Figure> = self.waterfall().into_iter().collect();
        figures.push(self.names(top.unwrap_or(MOST_BARS)));
        figures.retain(|figure| !figure.is_empty());
        figures
    }

    /// From A's time, part by part, to B's: of a step, or of all that the GPUs did where steps are not known.
    fn waterfall(&self) -> Option<Figure> {
        if !self.step_parts.is_empty() {
            let sum = |of: fn(&PartRow) -> Ns| self.step_parts.iter().map(of).sum::<Ns>().as_f64();
            let changes: Vec<_> =
                self.step_parts.iter().map(|part| (part.part, part.delta_ns.as_f64())).collect();
            return Some(falling((sum(|part| part.a_ns), sum(|part| part.b_ns)), &changes, "the step time"));
        }
        let (a, b) = (&self.summary.a, &self.summary.b);
        let (before, after) = (a.total_ns?.as_f64(), b.total_ns?.as_f64());
        let mut changes: Vec<(&str, f64)> = Vec::new();
        for (name, of) in PARTS {
            changes.push((name, of(b)?.as_f64() - of(a)?.as_f64()));
        }
        // Medians over ranks need not add up.
        let rest = after - before - changes.iter().map(|(_, change)| change).sum::<f64>();
        if rest.abs() >= 1.0 {
            changes.push(("ranks differ", rest));
        }
        Some(falling((before, after), &changes, "the time from the first to the last GPU event"))
    }

    /// On the GPU.
    fn names(&self, most: usize) -> Figure {
        let rows = self.rows.iter().filter(|row| row.device == Place::Gpu && row.delta_ns != Ns::ZERO);
        let rows: Vec<&DiffRow> = rows.take(most).collect();
        let bars = |name: &str, hue: Hue, wanted: fn(i64) -> bool| {
            let value = |row: &&DiffRow| wanted(row.delta_ns.0).then(|| row.delta_ns.as_f64());
            let note = |row: &&DiffRow| format!("{} → {} launches", row.a.count, row.b.count);
            Series::bars(name, hue, rows.iter().map(value).collect()).noted(rows.iter().map(note).collect())
        };
        let names = rows.iter().map(|row| row.name.as_str());
        let panel =
            Panel::new(Axis::new("summed time of B less that of A", Unit::Ns), Axis::categories("", names))
                .stacked()
                .with(bars("less in B", Hue::Copy, |change| change < 0))
                .with(bars("more in B", Hue::Critical, |change| change > 0));
        Figure::new("diff_kernels", "Which kernels changed?", panel)
    }
}

/// Bars that lead from one time to another.
fn falling((before, after): (f64, f64), changes: &[(&str, f64)], what: &str) -> Figure {
    let names = std::iter::once("A").chain(changes.iter().map(|(name, _)| *name)).chain(["B"]);
    let mut bases = vec![0.0];
    bases.extend(changes.iter().scan(before, |at, (_, change)| Some(std::mem::replace(at, *at + change))));
    bases.push(0.0);
    let bars = |name: &str, hue: Hue, wanted: fn(f64) -> bool| {
        let values = changes.iter().map(|(_, change)| Some(*change).filter(|change| wanted(*change)));
        let values = std::iter::once(None).chain(values).chain([None]).collect();
        Series::bars(name, hue, values).standing_on(bases.clone())
    };
    let mut ends = vec![None; changes.len() + 2];
    (ends[0], ends[changes.len() + 1]) = (Some(before), Some(after));
    let panel = Panel::new(Axis::new("time", Unit::Ns), Axis::categories("", names))
        .with(Series::bars("total", Hue::Compute, ends).standing_on(bases.clone()))
        .with(bars("less in B", Hue::Copy, |change| change < 0.0))
        .with(bars("more in B", Hue::Critical, |change| change > 0.0));
    let pct = if before > 0.0 { (after - before) / before * 100.0 } else { 0.0 };
    let summary = format!("From A to B {what} of the median rank changes by {pct:+.1} %");
    Figure::new("diff", "What makes B differ from A?", panel).summary(summary)
}
