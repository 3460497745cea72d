//! The depth as a course, with GPU work below on the same time.

use gpuscope_figure::{Axis, Data, Figure, Panel, Pictured, Series, Unit};
use gpuscope_trace::Ns;

use super::{Busy, RankDepth, StackDepthAnswer};
use crate::kernels::{KernelType, hue};

impl Pictured for StackDepthAnswer {
    fn figures(&self) -> Vec<Figure> {
        self.ranks.iter().find(|rank| !rank.points.is_empty()).map(draw).into_iter().collect()
    }
}

fn draw(rank: &RankDepth) -> Figure {
    let starts =
        rank.points.iter().map(|point| point.time_ns).chain(rank.busy.iter().map(|busy| busy.start_ns));
    let start = starts.min().unwrap_or(Ns::ZERO);
    let time = || Axis::new("time", Unit::Ns).fitted();
    let at = |time: Ns| (time - start).as_f64();
    let (x, y) = rank.points.iter().map(|point| (at(point.time_ns), point.depth as f64)).unzip();
    let what = if rank.python { "Python frames" } else { "host events" };
    let depth = Panel::new(time(), Axis::new(format!("{what} deep"), Unit::Count))
        .titled("Depth of calls")
        .with(Series::steps(what, gpuscope_figure::Hue::Host, x, y, true));
    let title = if rank.python {
        format!("How deep is the program in Python while the GPU works? (rank {})", rank.rank)
    } else {
        format!(
            "How deep are host calls while the GPU works? (rank {}; no Python frames recorded)",
            rank.rank
        )
    };
    let figure = Figure::new("stack_depth", title, depth).summary(format!("{} deep at most", rank.max_depth));
    let present = |kind: &KernelType| rank.busy.iter().any(|busy| busy.kernel_type == *kind);
    let kinds: Vec<KernelType> = KernelType::ALL.into_iter().filter(present).collect();
    if kinds.is_empty() {
        return figure;
    }
    let mut lanes =
        Panel::new(time(), Axis::categories("", kinds.iter().map(|kind| kind.label().to_lowercase())));
    for (lane, kind) in kinds.into_iter().enumerate() {
        let runs: Vec<&Busy> = rank.busy.iter().filter(|busy| busy.kernel_type == kind).collect();
        let stretches = Data::Stretches {
            lanes: vec![lane; runs.len()],
            from: runs.iter().map(|run| at(run.start_ns)).collect(),
            to: runs.iter().map(|run| at(run.end_ns)).collect(),
        };
        lanes = lanes.with(Series::new("", hue(kind), stretches));
    }
    figure.below(lanes.titled("GPU"))
}
