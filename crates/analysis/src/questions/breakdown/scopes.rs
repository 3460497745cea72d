//! All GPU events, those of each device and those of each step, in one walk.

use gpuscope_trace::{GpuEvent, Interval, Ns, Steps, View};

use super::sweep::Sweep;
use super::{DeviceTimes, Times};
use crate::model::sm_fill::{self, Estimate, Estimates, Fill};

/// What is counted together: a device, or a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    sweep: Sweep,
    /// By place of the device in [`Scopes::devices`].
    fills: Vec<sm_fill::Device>,
}

impl Scope {
    #[inline]
    fn add(&mut self, event: &GpuEvent, micro: Ns, device: usize, estimate: Estimate) {
        self.sweep.add(event, micro);
        if estimate.is_empty() {
            return;
        }
        if self.fills.len() <= device {
            self.fills.resize_with(device + 1, sm_fill::Device::default);
        }
        self.fills[device].run(event.interval(), estimate);
    }

    /// From the first start to the last end; `None` without any event.
    pub(super) fn hull(&self) -> Option<Interval> {
        self.sweep.hull()
    }

    pub(super) fn times(self, micro: Option<Ns>) -> Times {
        let mut sum = (Fill::default(), Fill::default());
        self.fills.into_iter().for_each(|device| add(&mut sum, device.finish()));
        estimated(&self.sweep, micro, sum)
    }
}

#[derive(Debug)]
pub(super) struct Scopes {
    /// By first event.
    devices: Vec<(i64, Sweep, sm_fill::Device)>,
    /// Of all devices, as soon as there is more than one.
    together: Option<Sweep>,
    /// In the order of the steps.
    pub(super) steps: Vec<Scope>,
}

impl Scopes {
    pub(super) fn of(view: View<'_>, steps: &Steps, micro: Option<Ns>) -> Scopes {
        let (trace, micro) = (view.trace, micro.unwrap_or_default());
        let launches = (!steps.is_empty()).then(|| view.index.launches(trace));
        let mut scopes =
            Scopes { devices: Vec::new(), together: None, steps: vec![Scope::default(); steps.len()] };
        let (mut step_at, mut estimates) = (steps.cursor(), Estimates::new(trace));
        for event in view.gpu() {
            let device = scopes.device(view.device(event.row));
            let estimate = estimates.of(event.row);
            let (_, sweep, fill) = &mut scopes.devices[device];
            sweep.add(event, micro);
            fill.run(event.interval(), estimate);
            if let Some(together) = &mut scopes.together {
                together.add(event, micro);
            }
            let launch = launches.and_then(|launches| trace.start(launches.call(event.row)?));
            if let Some(step) = launch.and_then(|launch| step_at.at(launch)) {
                scopes.steps[step].add(event, micro, device, estimate);
            }
        }
        scopes
    }

    /// Where a device stands; a handful is searched faster than a map.
    #[inline]
    fn device(&mut self, id: i64) -> usize {
        self.devices.iter().position(|(known, ..)| *known == id).unwrap_or_else(|| {
            if let [(_, only, _)] = &self.devices[..] {
                self.together = Some(only.clone());
            }
            self.devices.push((id, Sweep::default(), sm_fill::Device::default()));
            self.devices.len() - 1
        })
    }

    /// All devices together, and each by itself.
    pub(super) fn by_device(&self, micro: Option<Ns>) -> (Times, Vec<DeviceTimes>) {
        let mut sum = (Fill::default(), Fill::default());
        let mut devices = Vec::new();
        for (device, sweep, fill) in &self.devices {
            let fill = fill.clone().finish();
            add(&mut sum, fill);
            devices.push(DeviceTimes { device: *device, times: estimated(sweep, micro, fill) });
        }
        devices.sort_by_key(|row| row.device);
        let only = self.devices.first().map(|(_, sweep, _)| sweep);
        let none = Sweep::default();
        (estimated(self.together.as_ref().or(only).unwrap_or(&none), micro, sum), devices)
    }
}

fn add(sum: &mut (Fill, Fill), other: (Fill, Fill)) {
    sum.0.add(other.0);
    sum.1.add(other.1);
}

fn estimated(sweep: &Sweep, micro: Option<Ns>, (sm, occupancy): (Fill, Fill)) -> Times {
    Times { est_sm_efficiency_pct: sm.pct(), est_occupancy_pct: occupancy.pct(), ..sweep.times(micro) }
}
