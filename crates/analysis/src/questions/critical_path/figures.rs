//! What the critical path is made of, as a waterfall that ends at the length of the window.

use gpuscope_figure::{Axis, Figure, Hue, Panel, Pictured, Series, Unit};

use super::{Bound, CriticalPathAnswer};

impl Pictured for CriticalPathAnswer {
    fn figures(&self) -> Vec<Figure> {
        let mut parts: Vec<(Bound, f64)> = Vec::new();
        for share in &self.path {
            let time = share.dur_ns.as_f64();
            match parts.iter_mut().find(|(bound, _)| *bound == share.bound_by) {
                Some((_, sum)) => *sum += time,
                None => parts.push((share.bound_by, time)),
            }
        }
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let bases: Vec<f64> = parts
            .iter()
            .scan(0.0, |sum, (_, time)| Some(std::mem::replace(sum, *sum + time)))
            .chain([0.0])
            .collect();
        let names = parts.iter().map(|(bound, _)| bound.label()).chain(["window"]);
        let mut panel = Panel::new(Axis::new("time", Unit::Ns), Axis::categories("", names));
        for (place, (bound, time)) in parts.iter().enumerate() {
            let mut values = vec![None; parts.len() + 1];
            values[place] = Some(*time);
            panel = panel.with(Series::bars("", hue(*bound), values).standing_on(bases.clone()));
        }
        let mut whole = vec![None; parts.len() + 1];
        whole[parts.len()] = Some(self.makespan_ns.as_f64());
        panel = panel.with(Series::bars("", Hue::Critical, whole).standing_on(bases));
        let title = format!("What is {} made of?", self.window);
        let figure = Figure::new("critical_path", title, panel);
        let figure = match parts.first() {
            Some((bound, time)) => {
                let share = time / self.makespan_ns.as_f64().max(1.0) * 100.0;
                figure.summary(format!("{share:.1} % of the critical path is {}", bound.label()))
            }
            None => figure,
        };
        if self.path.is_empty() { Vec::new() } else { vec![figure] }
    }
}

fn hue(bound: Bound) -> Hue {
    match bound {
        Bound::GpuCompute => Hue::Compute,
        Bound::GpuComm => Hue::Communication,
        Bound::GpuMemcpy => Hue::Copy,
        Bound::Cpu | Bound::DataLoading => Hue::Host,
        Bound::KernelLaunch | Bound::Sync => Hue::Memset,
        Bound::KernelKernel | Bound::Unknown => Hue::Idle,
    }
}
