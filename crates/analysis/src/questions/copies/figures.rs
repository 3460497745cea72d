//! Bytes in flight by kind, and below them passes and layers on the same time.

use gpuscope_figure::{Axis, Data, Figure, Hue, Panel, Pictured, Series, Unit};
use gpuscope_trace::Ns;

use super::{CopiesAnswer, LayerRun, RankCopies};
use crate::layers::Pass;
use crate::layers::figures::hue as pass_hue;
use crate::phases::Phase;
use crate::shared::text;

/// Colours that layers take in turn, so that one can be told from the next.
const TURNS: usize = 2;

impl Pictured for CopiesAnswer {
    /// Of the first rank that copied anything.
    fn figures(&self) -> Vec<Figure> {
        self.ranks.iter().find(|rank| !rank.kinds.is_empty()).map(draw).into_iter().collect()
    }
}

fn draw(rank: &RankCopies) -> Figure {
    let copies = rank.kinds.iter().flat_map(|kind| &kind.points).map(|point| point.time_ns);
    let start = copies.chain(rank.passes.iter().map(|run| run.start_ns)).min().unwrap_or(Ns::ZERO);
    let at = |time: Ns| (time - start).as_f64();
    let time = || Axis::new("time", Unit::Ns).fitted();
    let mut flight = Panel::new(time(), Axis::new("in flight", Unit::Bytes)).titled("Copies");
    for (i, kind) in rank.kinds.iter().enumerate() {
        let (x, y) = kind.points.iter().map(|point| (at(point.time_ns), point.bytes as f64)).unzip();
        flight = flight.with(Series::steps(&kind.kind, Hue::Nth(i), x, y, true));
    }
    let (x, y) = rank.running_total.iter().map(|point| (at(point.time_ns), point.bytes as f64)).unzip();
    flight = flight.with(Series::steps("running total", Hue::Critical, x, y, false).hidden());
    let title = format!("What is copied when, and what does the GPU work at? (rank {})", rank.rank);
    let most = rank.kinds.iter().max_by_key(|kind| kind.total_bytes);
    let summary = most
        .map_or(String::new(), |kind| format!("{} moves most: {}", kind.kind, text::bytes(kind.total_bytes)));
    let figure = Figure::new("copies", title, flight).summary(summary);
    let lanes = lanes(rank, &at);
    if lanes.is_empty() { figure } else { figure.below(lanes.titled("Passes and layers")) }
}

fn lanes(rank: &RankCopies, at: &dyn Fn(Ns) -> f64) -> Panel {
    let phases = Phase::ALL.into_iter().filter(|phase| rank.passes.iter().any(|run| run.phase == *phase));
    let phases: Vec<Phase> = phases.collect();
    let passes = Pass::ALL.into_iter().filter(|pass| rank.layers.iter().any(|run| run.pass == *pass));
    let passes: Vec<Pass> = passes.collect();
    let names = phases.iter().map(|phase| phase.label().to_owned());
    let names = names.chain(passes.iter().map(|pass| format!("layers, {}", pass.label())));
    let mut panel = Panel::new(Axis::new("time", Unit::Ns).fitted(), Axis::categories("", names));
    for (lane, phase) in phases.iter().enumerate() {
        let runs = rank.passes.iter().filter(|run| run.phase == *phase);
        let (from, to): (Vec<f64>, Vec<f64>) = runs.map(|run| (at(run.start_ns), at(run.end_ns))).unzip();
        panel = panel.with(Series::new(
            "",
            hue(*phase),
            Data::Stretches { lanes: vec![lane; from.len()], from, to },
        ));
    }
    for (lane, pass) in passes.iter().enumerate() {
        for turn in 0..TURNS {
            let of_pass = rank.layers.iter().filter(|run| run.pass == *pass).enumerate();
            let runs: Vec<&LayerRun> =
                of_pass.filter(|(i, _)| i % TURNS == turn).map(|(_, run)| run).collect();
            let stretches = Data::Stretches {
                lanes: vec![phases.len() + lane; runs.len()],
                from: runs.iter().map(|run| at(run.start_ns)).collect(),
                to: runs.iter().map(|run| at(run.end_ns)).collect(),
            };
            let hue = if turn == 0 { pass_hue(*pass) } else { Hue::Idle };
            let names = runs.iter().map(|run| run.module.clone()).collect();
            panel = panel.with(Series::new("", hue, stretches).noted(names));
        }
    }
    panel
}

fn hue(phase: Phase) -> Hue {
    match phase {
        Phase::Forward => pass_hue(Pass::Forward),
        Phase::Backward => pass_hue(Pass::Backward),
        Phase::Recompute => pass_hue(Pass::Recompute),
        Phase::GradientCommunication => Hue::Communication,
        Phase::Optimizer => Hue::Nth(2),
        Phase::Data => Hue::Copy,
        Phase::Other | Phase::Unattributed => Hue::Idle,
    }
}
