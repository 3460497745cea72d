//! What a rank did around its collectives, in a few numbers for each: enough to say, once the ranks have met, what of
//! a collective computation hid, and what the rank that came last had been doing instead of coming.
//!
//! While a collective runs its device is busy, so sums up to the start of each part give those up to its end as well.

use std::collections::BTreeMap;

use gpuscope_trace::{Interval, Kind, Ns, StrId, View};
use rustc_hash::FxHashMap;

use super::parts::RankParts;
use crate::idle::{Cause, Causes, Gap, HostWaits};
use crate::shared::cover::Covered;

/// How a device spent its time up to some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) computation: Ns,
    /// Communication that no computation hid.
    pub(crate) communication: Ns,
    /// Nothing to do, as the host had launched nothing.
    pub(crate) host: Ns,
}

/// What took the longest between the part before and this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Longest {
    /// A computing kernel, as a place in [`Sketch::names`].
    pub(crate) kernel: Option<(u32, Ns)>,
    /// What the host did while the device had nothing to do.
    pub(crate) host: Option<(Cause, u32, Ns)>,
}

/// One column per figure, one row per part.
#[derive(Clone, Debug, Default)]
pub struct Sketch {
    pub(crate) exposed: Vec<Ns>,
    /// Up to the start of the part.
    pub(crate) before: Vec<Spent>,
    pub(crate) longest: Vec<Longest>,
    pub(crate) device: Vec<i64>,
    pub(crate) names: Vec<String>,
    /// By group of the rank: time in which one of its collectives ran and no computation did.
    pub(crate) exposed_of_group: Vec<Ns>,
    /// From the first start to the last end of all GPU work.
    pub(crate) span: Option<Interval>,
    /// Devices that the trace describes: usually all of the machine.
    pub(crate) described_devices: usize,
}

/// What one device did when.
#[derive(Default)]
struct Device {
    computation: Covered,
    computation_or_communication: Covered,
    host: Covered,
}

impl Device {
    fn spent(&self, until: Ns) -> Spent {
        let computation = self.computation.until(until);
        Spent {
            computation,
            communication: self.computation_or_communication.until(until) - computation,
            host: self.host.until(until),
        }
    }
}

impl Sketch {
    /// `parts` are those of the same view.
    pub(super) fn of(view: View<'_>, parts: &RankParts) -> Sketch {
        let mut sketch = Sketch { described_devices: view.trace.metadata.devices.len(), ..Sketch::default() };
        if parts.is_empty() {
            return sketch;
        }
        let devices = sketch.walk(view);
        let mut covered_until = vec![Ns(i64::MIN); parts.groups.len()];
        sketch.exposed_of_group = vec![Ns::ZERO; parts.groups.len()];
        let communication = view.gpu().filter(|event| event.kind == Kind::Communication);
        for (event, sort) in communication.zip(&parts.sort) {
            let number = view.device(event.row);
            let device = &devices[&number];
            let exposed = |time: Interval| {
                if time.is_empty() { Ns::ZERO } else { time.len() - device.computation.within(time) }
            };
            sketch.device.push(number);
            sketch.exposed.push(exposed(event.interval()));
            sketch.before.push(device.spent(event.start));
            let group = parts.sorts[*sort as usize].group as usize;
            let rest = Interval::new(event.start.max(covered_until[group]), event.end);
            sketch.exposed_of_group[group] += exposed(rest);
            covered_until[group] = covered_until[group].max(event.end);
        }
        sketch
    }

    /// Finds what devices did when, and what there was most of between collectives.
    fn walk(&mut self, view: View<'_>) -> BTreeMap<i64, Device> {
        let mut devices: BTreeMap<i64, Device> = BTreeMap::new();
        let (mut waits, mut between) = (HostWaits::new(view), Between::new(view));
        for event in view.gpu() {
            let device = devices.entry(view.device(event.row)).or_default();
            if let Some(gap) = waits.add(view, event) {
                device.host.add(gap.time);
                between.host(gap);
            }
            let span = self.span.get_or_insert(event.interval());
            span.end = span.end.max(event.end);
            match event.kind {
                Kind::Memcpy => {}
                Kind::Communication => {
                    device.computation_or_communication.add(event.interval());
                    let longest = between.flush(&mut self.names);
                    self.longest.push(longest);
                }
                Kind::Computation | Kind::Memset => {
                    device.computation.add(event.interval());
                    device.computation_or_communication.add(event.interval());
                    between.kernel(view.trace.name_id(event.row), event.dur());
                }
            }
        }
        devices
    }
}

/// What there was since the last collective began.
struct Between<'a> {
    view: View<'a>,
    causes: Causes<'a>,
    kernels: Tally,
    host: Tally,
    /// The cause that each name stands for.
    cause: FxHashMap<StrId, Cause>,
    /// The places of names that were kept.
    kept: FxHashMap<StrId, u32>,
}

impl<'a> Between<'a> {
    fn new(view: View<'a>) -> Between<'a> {
        let names = view.trace.strings.len();
        Between {
            view,
            causes: Causes::new(view),
            kernels: Tally::new(names),
            host: Tally::new(names),
            cause: FxHashMap::default(),
            kept: FxHashMap::default(),
        }
    }

    fn kernel(&mut self, name: StrId, time: Ns) {
        self.kernels.add(name, time);
    }

    fn host(&mut self, gap: Gap) {
        let trace = self.view.trace;
        let doing = self.view.index.innermost(trace).during(trace.track(gap.call).thread, gap.time);
        for (part, row) in doing {
            let (cause, name) = self.causes.of(row);
            self.cause.insert(name, cause);
            self.host.add(name, part.len());
        }
    }

    fn flush(&mut self, names: &mut Vec<String>) -> Longest {
        let (kernel, host) = (self.kernels.flush(), self.host.flush());
        let strings = &self.view.trace.strings;
        let mut place = |name: StrId| {
            *self.kept.entry(name).or_insert_with(|| {
                names.push(strings.get(name).to_owned());
                names.len() as u32 - 1
            })
        };
        Longest {
            kernel: kernel.map(|(name, time)| (place(name), time)),
            host: host.map(|(name, time)| (self.cause[&name], place(name), time)),
        }
    }
}

/// Time by name, emptied again and again at the cost of what is in it.
struct Tally {
    sums: Vec<Ns>,
    names: Vec<StrId>,
}

impl Tally {
    fn new(names: usize) -> Tally {
        Tally { sums: vec![Ns::ZERO; names], names: Vec::new() }
    }

    fn add(&mut self, name: StrId, time: Ns) {
        let sum = &mut self.sums[name.index()];
        if *sum == Ns::ZERO {
            self.names.push(name);
        }
        *sum += time;
    }

    /// The name with the most time.
    fn flush(&mut self) -> Option<(StrId, Ns)> {
        let sums = &mut self.sums;
        let of_name = self.names.drain(..).map(|name| (std::mem::take(&mut sums[name.index()]), name));
        of_name.max().map(|(time, name)| (name, time))
    }
}
