//! Idle time by what the GPU waited for, and what the host did meanwhile.

use gpuscope_figure::{Axis, Figure, Hue, Panel, Pictured, Series, Unit};
use gpuscope_trace::Ns;

use super::{DeviceIdle, IdleAnswer};
use crate::shared::few_ranks::FewRanks;

impl Pictured for IdleAnswer {
    fn figures(&self) -> Vec<Figure> {
        let mut figures = vec![self.by_device(), self.by_cause()];
        figures.retain(|figure| !figure.is_empty());
        figures
    }
}

impl IdleAnswer {
    fn by_device(&self) -> Figure {
        let few = FewRanks::of(&self.devices, |device| Some(device.idle_ns.as_f64()));
        let part = |name: &str, hue: Hue, of: fn(&DeviceIdle) -> Ns| {
            let value = |device: &DeviceIdle| (device.idle_ns > Ns::ZERO).then(|| of(device).as_f64());
            Series::bars(name, hue, few.ranks().map(value).collect())
        };
        let names = few.names(|idle| format!("rank {} · device {}", idle.rank, idle.device));
        let panel = Panel::new(Axis::categories("", names), Axis::new("idle", Unit::Ns))
            .stacked()
            .with(part("nothing launched", Hue::Host, |device| device.host_ns))
            .with(part("inside the launching call", Hue::Nth(4), |device| device.in_call_ns))
            .with(part("launched, on its way", Hue::Idle, |device| device.launch_ns))
            .with(part("queued behind something else", Hue::Nth(7), |device| device.queued_ns))
            .with(part("launch not recorded", Hue::Nth(6), |device| device.unlinked_ns))
            .with(part("older work ran, not recorded", Hue::Nth(3), |device| device.unrecorded_ns));
        Figure::new("idle", few.title("What did idle GPUs wait for?", "idle"), panel)
    }

    /// Over all ranks.
    fn by_cause(&self) -> Figure {
        let mut causes: Vec<(&str, f64)> = Vec::new();
        for cause in &self.host_causes {
            let (label, time) = (cause.cause.label(), cause.idle_ns.as_f64());
            match causes.iter_mut().find(|(known, _)| *known == label) {
                Some((_, sum)) => *sum += time,
                None => causes.push((label, time)),
            }
        }
        causes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let values = causes.iter().map(|(_, time)| Some(*time)).collect();
        let panel = Panel::new(
            Axis::new("idle meanwhile", Unit::Ns),
            Axis::categories("", causes.iter().map(|(label, _)| *label)),
        )
        .with(Series::bars("idle", Hue::Host, values));
        let figure = Figure::new("idle_causes", "What did the host do while GPUs idled?", panel);
        match causes.first() {
            Some((first, _)) => figure.summary(format!("Most of it: {first}")),
            None => figure,
        }
    }
}
