//! Operators under the roof of their GPU: what they reach against how many operations there are for each byte.

use gpuscope_figure::{Axis, Data, Figure, Hue, Panel, Pictured, Series, Unit};

use super::{Bound, OpRow, OpsAnswer, RankRoof};

impl Pictured for OpsAnswer {
    fn figures(&self) -> Vec<Figure> {
        self.roofline().into_iter().collect()
    }
}

/// An operator's place under the roof.
struct Dot<'a> {
    row: &'a OpRow,
    intensity: f64,
    tflops: f64,
}

impl OpsAnswer {
    /// Of the first rank with known work.
    fn roofline(&self) -> Option<Figure> {
        let dots: Vec<Dot<'_>> = self.ops.iter().filter_map(Dot::of).collect();
        let rank = dots.iter().map(|dot| dot.row.rank).min()?;
        let dots: Vec<Dot<'_>> = dots.into_iter().filter(|dot| dot.row.rank == rank).collect();
        let mut panel = Panel::new(
            Axis::new("operations for each byte moved", Unit::Ratio).logarithmic(),
            Axis::new("reached", Unit::TeraflopsPerSecond).logarithmic(),
        );
        let roof = self.roofs.iter().find(|roof| roof.rank == rank);
        if let Some(roof) = roof {
            panel = roof.lines(&dots).into_iter().fold(panel, Panel::with);
        }
        let sorts = [
            ("bound by computation", Hue::Compute, Some(Bound::Compute)),
            ("bound by memory", Hue::Copy, Some(Bound::Memory)),
            ("operators", Hue::Idle, None),
        ];
        for (name, hue, bound) in sorts {
            let of: Vec<&Dot<'_>> = dots.iter().filter(|dot| dot.bound() == bound).collect();
            if of.is_empty() {
                continue;
            }
            let points = Data::Points {
                x: of.iter().map(|dot| dot.intensity).collect(),
                y: of.iter().map(|dot| dot.tflops).collect(),
                sizes: of.iter().map(|dot| dot.row.subtree_kernel_ns.as_f64()).collect(),
            };
            panel =
                panel.with(Series::new(name, hue, points).noted(of.iter().map(|dot| dot.note()).collect()));
        }
        let gpu = roof.and_then(|roof| roof.gpu.as_deref());
        let title = match gpu {
            Some(gpu) => format!("How close do operators come to what {gpu} can do? (rank {rank})"),
            None => format!("What do operators reach? (rank {rank}; which GPU it is is not known: --gpu)"),
        };
        let slow = dots.iter().max_by(|a, b| a.row.subtree_kernel_ns.cmp(&b.row.subtree_kernel_ns));
        let summary = slow.map_or(String::new(), |dot| format!("Most time: {}", dot.note()));
        Some(Figure::new("roofline", title, panel).summary(summary))
    }
}

impl<'a> Dot<'a> {
    fn of(row: &'a OpRow) -> Option<Dot<'a>> {
        let work = row.work.as_ref()?;
        let (intensity, tflops) = (work.flops_per_byte?, work.tflops_per_s?);
        (intensity > 0.0 && tflops > 0.0).then_some(Dot { row, intensity, tflops })
    }

    fn bound(&self) -> Option<Bound> {
        self.row.work.as_ref()?.bound
    }

    fn note(&self) -> String {
        let work = self.row.work.as_ref();
        let sizes =
            work.and_then(|work| work.sizes.as_deref()).map_or(String::new(), |sizes| format!(" {sizes}"));
        let roof = work.and_then(|work| work.pct_roofline);
        let roof = roof.map_or(String::new(), |pct| format!(", {pct:.0} % of what is possible"));
        format!("{}{sizes}{roof}", self.row.name)
    }
}

impl RankRoof {
    /// Up the slope of the memory to the level of each number format.
    fn lines(&self, dots: &[Dot<'_>]) -> Vec<Series> {
        let Some(memory) = self.memory_gb_per_s.filter(|speed| *speed > 0.0) else { return Vec::new() };
        let least = dots.iter().map(|dot| dot.intensity).fold(f64::INFINITY, f64::min);
        let most = dots.iter().map(|dot| dot.intensity).fold(0.0, f64::max);
        let line = |(i, (name, tflops)): (usize, &(String, f64))| {
            let ridge = tflops * 1e3 / memory;
            let (from, to) = (least.min(ridge) / 2.0, most.max(ridge) * 2.0);
            let name = format!("{name}: {tflops:.0} TFLOP/s, {memory:.0} GB/s");
            Series::line(
                name,
                Hue::Nth(i + 5),
                vec![from, ridge, to],
                vec![from * memory / 1e3, *tflops, *tflops],
            )
        };
        self.peaks.iter().enumerate().map(line).collect()
    }
}
