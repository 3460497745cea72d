//! Where did the GPU's time go: computing, communicating, copying, or nothing at all?
//!
//! Over a set of GPU events, with COMP, COMM and MEMCPY the times in which at least one event of that kind ran
//! (memory sets count as computation here):
//! `computation_ns` = |COMP|, `comm_ns` = |COMM|, `memcpy_ns` = |MEMCPY|, `exposed_comm_ns` = |COMM − COMP|,
//! `exposed_memcpy_ns` = |MEMCPY − COMP − COMM|, `busy_ns` the time in which anything ran, `total_ns` from the
//! first start to the last end, `idle_ns` the rest. Computation + exposed communication + exposed copies + idle
//! make up the total, to the nanosecond. Gaps shorter than the micro-idle threshold are `micro_idle_ns`, the
//! rest of the idle time is `macro_idle_ns`.
//!
//! `total` takes all devices of a rank together, `devices` each by itself, `steps` the GPU work that each step
//! launched, wherever in time it ran. A step also has its host annotation (`wall_ns`), its period (from the last
//! GPU end of the step before; none if that step was not recorded or either has no GPU work) and its window,
//! from the annotation's start to the later of its end and the last GPU end. `lead_idle_ns` is the part of the
//! window before the first GPU event, `tail_idle_ns` the part after the last. Should a clock artefact put a GPU
//! event before the annotation, the window begins there. A step without GPU work is a row of zeros that leads
//! through its whole window.
//!
//! `est_sm_efficiency_pct` and `est_occupancy_pct` say how far kernels filled the device while they ran; see
//! the module `sm_fill` for the definition.

mod table;

use std::borrow::Cow;

use gpuscope_trace::{Arg, Group, Interval, Kind, Ns, Row, Step, StepOrigin, Steps, TimeSet, View};
use serde::Serialize;

use crate::lost::launches_without_gpu_work;
use crate::sm_fill::{Device, Fill, Share};
use crate::step_time::{Candidate, StepTime, step_time};
use crate::{Question, StepMarker};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Times {
    pub computation_ns: Ns,
    pub comm_ns: Ns,
    pub memcpy_ns: Ns,
    pub exposed_comm_ns: Ns,
    pub exposed_memcpy_ns: Ns,
    pub busy_ns: Ns,
    pub total_ns: Ns,
    pub idle_ns: Ns,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micro_idle_ns: Option<Ns>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macro_idle_ns: Option<Ns>,
    pub est_sm_efficiency_pct: Option<f64>,
    pub est_occupancy_pct: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceTimes {
    pub device: i64,
    #[serde(flatten)]
    pub times: Times,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepTimes {
    pub step: i64,
    #[serde(flatten)]
    pub times: Times,
    pub wall_ns: Ns,
    pub period_ns: Option<Ns>,
    pub window_ns: Ns,
    pub lead_idle_ns: Ns,
    pub tail_idle_ns: Ns,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankBreakdown {
    pub rank: u32,
    pub total: Times,
    pub devices: Vec<DeviceTimes>,
    /// The recorded steps, or those of the user's marker.
    pub steps: Vec<StepTimes>,
    /// A guess, for traces that record no steps.
    pub inferred_steps: Vec<StepTimes>,
    pub step_time_ns: Option<Ns>,
    /// How the step time was found.
    pub step_time: Option<StepTime>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BreakdownAnswer {
    pub ranks: Vec<RankBreakdown>,
}

/// The question, with its options.
#[derive(Clone, Debug, Default)]
pub struct Breakdown {
    /// Gaps shorter than this are counted apart.
    pub micro_idle: Option<Ns>,
    /// The user's own steps, in place of the recorded ones.
    pub step_marker: Option<StepMarker>,
}

impl Breakdown {
    /// With a threshold in microseconds, to the nearest nanosecond.
    #[must_use]
    pub fn micro_idle_us(mut self, us: f64) -> Breakdown {
        self.micro_idle = Some(Ns((us * 1000.0).round() as i64));
        self
    }
}

impl Question for Breakdown {
    type Local = RankBreakdown;
    type Answer = BreakdownAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> RankBreakdown {
        let work = collect(view);
        let (times, devices) = self.by_device(&work);
        let steps = match &self.step_marker {
            None => Cow::Borrowed(view.steps()),
            Some(marker) => {
                Cow::Owned(Steps::marked(view.trace, StepOrigin::Marker, |name| marker.is_step(name)))
            }
        };
        let (steps, mut candidates) = self.by_step(view, &work, &steps);
        let mut inferred_steps = Vec::new();
        if self.step_marker.is_none() && view.steps().is_empty() {
            (inferred_steps, candidates) = self.by_step(view, &work, &Steps::inferred(view.trace));
        }
        let step_time = step_time(&candidates);
        let step_time_ns = step_time.as_ref().map(|time| time.ns);
        RankBreakdown { rank, total: times, devices, steps, inferred_steps, step_time_ns, step_time }
    }

    fn merge(&self, locals: Vec<RankBreakdown>) -> BreakdownAnswer {
        BreakdownAnswer { ranks: locals }
    }
}

/// A GPU event with all that is counted here.
#[derive(Clone, Copy)]
struct Work {
    row: Row,
    time: Interval,
    kind: Kind,
    device: i64,
    sm: Option<Share>,
    occupancy: Option<Share>,
}

/// The selected GPU events by start.
fn collect(view: View<'_>) -> Vec<Work> {
    let args = &view.trace.args;
    let (rows, blocks, occupancy) =
        (args.table(Group::Launch), args.column(Arg::BlocksPerSm), args.column(Arg::Occupancy));
    let mut next = 0;
    let work = view.gpu().map(|event| {
        // GPU events by start are nearly in file order, so the next entry is nearly always the one.
        let place = if rows.rows().get(next) == Some(&event.row) { Some(next) } else { rows.find(event.row) };
        next = place.map_or(next, |place| place + 1);
        let float =
            |slot: Option<i64>| slot.map(|slot| f64::from(gpuscope_trace::args::float_from_slot(slot)));
        Work {
            row: event.row,
            time: event.interval(),
            kind: event.kind,
            device: view.device(event.row),
            sm: place.and_then(|place| float(blocks.get(place))).and_then(Share::new),
            occupancy: place
                .and_then(|place| float(occupancy.get(place)))
                .and_then(|percent| Share::new(percent / 100.0)),
        }
    });
    work.collect()
}

impl Breakdown {
    fn times(&self, work: &[Work]) -> Times {
        let of = |kinds: &[Kind]| {
            TimeSet::from_sorted(work.iter().filter(|w| kinds.contains(&w.kind)).map(|w| w.time))
        };
        let computation = of(&[Kind::Computation, Kind::Memset]);
        let (communication, copies) = (of(&[Kind::Communication]), of(&[Kind::Memcpy]));
        let busy = TimeSet::from_sorted(work.iter().map(|w| w.time));
        let whole = TimeSet::from_sorted(hull(work));
        let idle = whole.minus(&busy);
        let micro = self
            .micro_idle
            .map(|limit| idle.intervals().iter().map(|gap| gap.len()).filter(|gap| *gap < limit).sum::<Ns>());
        Times {
            computation_ns: computation.len(),
            comm_ns: communication.len(),
            memcpy_ns: copies.len(),
            exposed_comm_ns: communication.minus(&computation).len(),
            exposed_memcpy_ns: copies.minus(&computation).minus(&communication).len(),
            busy_ns: busy.len(),
            total_ns: whole.len(),
            idle_ns: idle.len(),
            micro_idle_ns: micro,
            macro_idle_ns: micro.map(|micro| idle.len() - micro),
            est_sm_efficiency_pct: fill(work, |w| w.sm).pct(),
            est_occupancy_pct: fill(work, |w| w.occupancy).pct(),
        }
    }

    /// All devices together, and each by itself.
    fn by_device(&self, work: &[Work]) -> (Times, Vec<DeviceTimes>) {
        let total = self.times(work);
        let row = |(device, times)| DeviceTimes { device, times };
        let devices = match devices_of(work)[..] {
            [only] => vec![row((only, total.clone()))],
            ref several => several.iter().map(|d| row((*d, self.times(&on_device(work, *d))))).collect(),
        };
        (total, devices)
    }

    fn by_step(&self, view: View<'_>, work: &[Work], steps: &Steps) -> (Vec<StepTimes>, Vec<Candidate>) {
        let mut launched: Vec<Vec<Work>> = vec![Vec::new(); steps.len()];
        for event in work {
            if let Some(step) = view.launch_start(event.row).and_then(|start| steps.at(start)) {
                launched[step].push(*event);
            }
        }
        let last_is_cut =
            steps.last().is_some_and(|last| launches_without_gpu_work(view, last.start, last.end) > 0);
        let mut rows = Vec::new();
        let mut candidates = Vec::new();
        let mut before: Option<(i64, Option<Ns>)> = None;
        for (i, (step, work)) in steps.iter().zip(&launched).enumerate() {
            if !view.selection.has_step(step.number, step.start) {
                continue;
            }
            let mut row = self.step(step, work);
            let follows = before.filter(|(number, _)| number.checked_add(1) == Some(step.number));
            let end = hull(work).map(|hull| hull.end);
            row.period_ns = follows.and_then(|(_, before)| Some(end? - before?));
            before = Some((step.number, end));
            candidates.push(Candidate {
                step: step.number,
                follows: follows.is_some(),
                period: row.period_ns,
                window: row.window_ns,
                has_gpu_work: !work.is_empty(),
                cut: last_is_cut && i + 1 == steps.len(),
            });
            rows.push(row);
        }
        (rows, candidates)
    }

    fn step(&self, step: &Step, work: &[Work]) -> StepTimes {
        // Without GPU work all of the window lies before it.
        let gpu = hull(work).unwrap_or(Interval::new(step.end, step.end));
        let (start, end) = (step.start.min(gpu.start), step.end.max(gpu.end));
        StepTimes {
            step: step.number,
            times: self.times(work),
            wall_ns: step.end - step.start,
            period_ns: None,
            window_ns: end - start,
            lead_idle_ns: gpu.start - start,
            tail_idle_ns: end - gpu.end,
        }
    }
}

/// From the first start to the last end, events without length included.
fn hull(work: &[Work]) -> Option<Interval> {
    let end = work.iter().map(|w| w.time.end).max()?;
    Some(Interval::new(work.first()?.time.start, end))
}

fn devices_of(work: &[Work]) -> Vec<i64> {
    let mut devices: Vec<i64> = Vec::new();
    for event in work {
        if !devices.contains(&event.device) {
            devices.push(event.device);
        }
    }
    devices.sort_unstable();
    devices
}

fn on_device(work: &[Work], device: i64) -> Vec<Work> {
    work.iter().filter(|w| w.device == device).copied().collect()
}

fn fill(work: &[Work], share: impl Fn(&Work) -> Option<Share>) -> Fill {
    // A rank has a handful of devices: a list is searched faster than a map.
    let mut devices: Vec<(i64, Device)> = Vec::new();
    for (event, share) in work.iter().filter_map(|w| Some((w, share(w)?))) {
        let known = devices.iter().position(|(device, _)| *device == event.device);
        let place = known.unwrap_or_else(|| {
            devices.push((event.device, Device::default()));
            devices.len() - 1
        });
        devices[place].1.run(event.time, share);
    }
    let mut all = Fill::default();
    for (_, device) in devices {
        all.add(device.finish());
    }
    all
}

#[cfg(test)]
mod tests;
