//! The least time that work can take on a GPU: computing at its dense peak, or moving bytes at its memory bandwidth,
//! whichever is longer.

use gpuscope_trace::View;
use gpuscope_work::gpus::{Device, Gpu, Link, Peaks, Recognised, recognise};
use gpuscope_work::{Engine, Precision, Work};
use serde::Serialize;

use super::work::Works;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    Compute,
    Memory,
}

impl Bound {
    pub(super) fn label(self) -> &'static str {
        match self {
            Bound::Compute => "compute",
            Bound::Memory => "memory",
        }
    }
}

/// What the GPU can do at best: what the user says of it, else what its maker does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Of the user.
    pub peaks: Peaks,
    /// Which GPU it is, by the user or the trace.
    pub gpu: Option<Recognised>,
    /// What the trace calls it.
    pub called: Option<String>,
}

/// What a rank's GPU can do at best, in the number formats of its operators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankRoof {
    pub rank: u32,
    pub gpu: Option<String>,
    pub memory_gb_per_s: Option<f64>,
    /// Dense TFLOP/s, highest first.
    pub peaks: Vec<(String, f64)>,
}

impl RankRoof {
    pub(super) fn of(rank: u32, limits: &Limits, works: &Works) -> RankRoof {
        let mut peaks: Vec<(String, f64)> = Vec::new();
        for work in works.of.iter().flatten() {
            let Some(precision) = work.precision else { continue };
            let Some(tflops) = limits.tflops(work.engine, precision) else { continue };
            let name = format!("{} {}", precision.name(), work.engine.name());
            if work.flops == 0 {
                continue;
            }
            // Formats that are as fast as each other have one roof.
            match peaks.iter_mut().find(|(_, known)| known.total_cmp(&tflops).is_eq()) {
                Some((names, _)) if names.split(", ").any(|known| known == name) => {}
                Some((names, _)) => *names = format!("{names}, {name}"),
                None => peaks.push((name, tflops)),
            }
        }
        peaks.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        RankRoof { rank, gpu: limits.name(), memory_gb_per_s: limits.memory_gb_per_s(), peaks }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Roof {
    pub(crate) ns: f64,
    pub(crate) bound: Bound,
}

impl Limits {
    /// With the GPU of the trace, unless the user named one.
    pub(crate) fn or_of(mut self, view: View<'_>) -> Limits {
        let devices = &view.trace.metadata.devices;
        let busy = view.gpu().next().map(|event| view.device(event.row));
        let device = devices.iter().find(|device| Some(device.id) == busy).or(devices.first());
        if let Some(device) = device {
            let small = |number: Option<i64>| number.and_then(|number| u32::try_from(number).ok());
            self.gpu.get_or_insert_with(|| {
                recognise(&Device {
                    name: device.name.as_deref().unwrap_or_default(),
                    compute_major: small(device.compute_major),
                    compute_minor: small(device.compute_minor),
                    sms: small(device.multiprocessors),
                    memory_bytes: device.memory_bytes.and_then(|bytes| u64::try_from(bytes).ok()),
                })
            });
            self.called.clone_from(&device.name);
        }
        self
    }

    /// Dense TFLOP/s.
    pub(crate) fn tflops(&self, engine: Engine, precision: Precision) -> Option<f64> {
        self.peaks.tflops(engine, precision).or_else(|| self.gpu.as_ref()?.tflops(engine, precision))
    }

    pub(crate) fn memory_gb_per_s(&self) -> Option<f64> {
        self.peaks.memory_gb_per_s.or_else(|| self.gpu.as_ref()?.memory_gb_per_s())
    }

    /// How the GPU is linked to the others of its machine.
    pub(crate) fn link(&self) -> Option<&'static Link> {
        self.gpu.as_ref()?.link()
    }

    /// The GPU whose peaks these are.
    pub(super) fn name(&self) -> Option<String> {
        match self.gpu {
            Some(Recognised::Known(gpu)) => Some(gpu.name.clone()),
            _ => None,
        }
    }

    /// Why there is no roofline, and what to do about it.
    pub(super) fn trouble(&self) -> Option<String> {
        let way_out = "name it with --gpu, or give its peaks: --peak bf16=989,memory=3350";
        if self.peaks != Peaks::default() {
            return None;
        }
        match &self.gpu {
            Some(Recognised::Known(_)) => None,
            Some(Recognised::Ambiguous(candidates)) => {
                let names: Vec<&str> = candidates.iter().map(|gpu: &&Gpu| gpu.name.as_str()).collect();
                Some(format!("the GPU may be {}, whose peaks differ: {way_out}", names.join(" or ")))
            }
            Some(Recognised::Unknown) | None => {
                match self.called.as_deref().filter(|name| !name.is_empty()) {
                    Some(name) => Some(format!("the peaks of `{name}` are not known: {way_out}")),
                    None => Some(format!("the trace does not say which GPU it is of: {way_out}")),
                }
            }
        }
    }

    /// Only if all that it depends on is known.
    pub(crate) fn roof(&self, work: &Work) -> Option<Roof> {
        // A gigabyte per second is a byte per nanosecond, a teraflop per second a thousand operations.
        let moving = work.bytes? as f64 / self.memory_gb_per_s()?;
        let computing = match work.flops {
            0 => 0.0,
            flops => flops as f64 / (self.tflops(work.engine, work.precision?)? * 1e3),
        };
        let bound = if computing > moving { Bound::Compute } else { Bound::Memory };
        Some(Roof { ns: computing.max(moving), bound })
    }
}
