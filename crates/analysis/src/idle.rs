//! When the GPU did nothing, what was it waiting for?
//!
//! Two views. `streams` is HTA's: per stream, the gap before each GPU event, from the latest end so far on that
//! stream to its start, is `host_wait` if the event's launch began only after that end, else `kernel_wait` if
//! the gap is shorter than a threshold, else `other`. Streams idle while others work, so these gaps do not add
//! up to a device's idle time.
//!
//! `devices` does: each gap in the device's busy time ends with some GPU event, and is cut where that event's
//! launch was issued. Before that nothing was on its way (`host_ns`); after it up to the threshold is the price
//! of a launch (`launch_ns`); beyond it the event waited for something else (`queued_ns`). Gaps before events
//! whose launch is unknown are `unlinked_ns`. The four make up `idle_ns`, to the nanosecond. For `host_ns`,
//! `host_causes` says what the launching thread was doing, and `host_gaps` lists the longest one by one.

mod causes;
mod figures;
mod gaps;
mod table;

use std::collections::BTreeMap;

use gpuscope_trace::{GpuEvent, Interval, Ns, View};
use serde::Serialize;

use crate::Question;

pub(crate) use causes::Causes;
pub use causes::{Cause, HostCause};
pub(crate) use gaps::Gap;
pub use gaps::HostGap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Gaps {
    pub idle_ns: Ns,
    pub count: u64,
    /// Share of the stream's idle time, 0 to 1.
    pub ratio: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Categories {
    pub host_wait: Gaps,
    pub kernel_wait: Gaps,
    pub other: Gaps,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamIdle {
    pub rank: u32,
    pub device: i64,
    pub stream: i64,
    pub categories: Categories,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceIdle {
    pub rank: u32,
    pub device: i64,
    pub idle_ns: Ns,
    pub host_ns: Ns,
    pub launch_ns: Ns,
    pub queued_ns: Ns,
    pub unlinked_ns: Ns,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IdleAnswer {
    pub streams: Vec<StreamIdle>,
    pub devices: Vec<DeviceIdle>,
    pub host_causes: Vec<HostCause>,
    /// The longest, longest first.
    pub host_gaps: Vec<HostGap>,
}

#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// A gap shorter than this between two kernels is the ordinary price of a launch.
    pub threshold: Ns,
}

impl Default for Idle {
    fn default() -> Self {
        Idle { threshold: Ns::from_us(30) }
    }
}

impl Question for Idle {
    type Local = IdleAnswer;
    type Answer = IdleAnswer;

    fn local(&self, rank: u32, view: View<'_>) -> IdleAnswer {
        let mut streams: BTreeMap<(i64, i64), StreamState> = BTreeMap::new();
        let mut devices: BTreeMap<i64, DeviceState> = BTreeMap::new();
        let mut host_gaps: Vec<Gap> = Vec::new();
        for event in view.gpu() {
            let (device, launch) = (view.device(event.row), view.launch(event.row));
            let launched = launch.and_then(|call| view.trace.start(call));
            if let Some(stream) = view.stream(event.row) {
                streams.entry((device, stream)).or_default().add(event, launched, self.threshold);
            }
            let state = devices.entry(device).or_default();
            if let (Some(host), Some(call)) = (state.add(event, launched, self.threshold), launch) {
                host_gaps.push(Gap { device, call, time: host });
            }
        }
        IdleAnswer {
            streams: streams
                .into_iter()
                .map(|((device, stream), state)| state.answer(rank, device, stream))
                .collect(),
            devices: devices
                .into_iter()
                .map(|(device, state)| DeviceIdle { rank, device, ..state.idle })
                .collect(),
            host_causes: causes::of(rank, view, &host_gaps),
            host_gaps: gaps::longest(rank, view, &host_gaps),
        }
    }

    fn merge(&self, locals: Vec<IdleAnswer>) -> IdleAnswer {
        let mut all = IdleAnswer::default();
        for local in locals {
            all.streams.extend(local.streams);
            all.devices.extend(local.devices);
            all.host_causes.extend(local.host_causes);
            all.host_gaps.extend(local.host_gaps);
        }
        // Stable, so that equal ones stay by rank.
        all.host_causes.sort_by_key(|cause| std::cmp::Reverse(cause.idle_ns));
        all.host_gaps.sort_by_key(|gap| std::cmp::Reverse(gap.idle_ns));
        all.host_gaps.truncate(gaps::LISTED);
        all
    }
}

/// One stream on the way through its events.
#[derive(Default)]
struct StreamState {
    latest_end: Option<Ns>,
    categories: Categories,
}

impl StreamState {
    fn add(&mut self, event: &GpuEvent, launched: Option<Ns>, threshold: Ns) {
        if let Some(latest) = self.latest_end {
            let gap = (event.start - latest).max(Ns::ZERO);
            let category = if launched.is_some_and(|launched| launched > latest) {
                &mut self.categories.host_wait
            } else if gap < threshold {
                &mut self.categories.kernel_wait
            } else {
                &mut self.categories.other
            };
            category.idle_ns += gap;
            category.count += 1;
        }
        self.latest_end = Some(self.latest_end.map_or(event.end, |latest| latest.max(event.end)));
    }

    fn answer(mut self, rank: u32, device: i64, stream: i64) -> StreamIdle {
        let parts = &mut self.categories;
        let idle = parts.host_wait.idle_ns + parts.kernel_wait.idle_ns + parts.other.idle_ns;
        for part in [&mut parts.host_wait, &mut parts.kernel_wait, &mut parts.other] {
            part.ratio = part.idle_ns.pct_of(idle) / 100.0;
        }
        StreamIdle { rank, device, stream, categories: self.categories }
    }
}

/// Finds the stretches in which devices waited for the host, on the way through the GPU events of a view.
#[derive(Default)]
pub(crate) struct HostWaits {
    devices: BTreeMap<i64, DeviceState>,
}

impl HostWaits {
    /// Takes in an event; answers the part of the gap before it in which its launch had not been issued.
    pub(crate) fn add(&mut self, view: View<'_>, event: &GpuEvent) -> Option<Gap> {
        let (device, launch) = (view.device(event.row), view.launch(event.row));
        let launched = launch.and_then(|call| view.trace.start(call));
        let time = self.devices.entry(device).or_default().add(event, launched, Ns::ZERO)?;
        Some(Gap { device, call: launch?, time })
    }
}

/// What a gap was spent on that ends with an event whose launch is known.
pub(crate) struct Cut {
    /// Nothing was on its way yet.
    pub(crate) host: Interval,
    pub(crate) launch: Ns,
    pub(crate) queued: Ns,
}

impl Cut {
    pub(crate) fn of(gap: Interval, launched: Ns, threshold: Ns) -> Cut {
        // A launch before the gap cuts it at its beginning; one after it (clocks disagree) at its end.
        let issued = launched.max(gap.start).min(gap.end);
        let on_its_way = gap.end - issued;
        let launch = on_its_way.min(threshold);
        Cut { host: Interval::new(gap.start, issued), launch, queued: on_its_way - launch }
    }
}

/// One device on the way through its events.
#[derive(Default)]
struct DeviceState {
    busy_until: Option<Ns>,
    idle: DeviceIdle,
}

impl DeviceState {
    /// Takes in an event; answers the part of the gap before it in which its launch had not been issued.
    fn add(&mut self, event: &GpuEvent, launched: Option<Ns>, threshold: Ns) -> Option<Interval> {
        let from =
            self.busy_until.replace(self.busy_until.map_or(event.end, |until| until.max(event.end)))?;
        let gap = Interval::new(from, event.start);
        if gap.is_empty() {
            return None;
        }
        self.idle.idle_ns += gap.len();
        let Some(launched) = launched else {
            self.idle.unlinked_ns += gap.len();
            return None;
        };
        let cut = Cut::of(gap, launched, threshold);
        self.idle.host_ns += cut.host.len();
        self.idle.launch_ns += cut.launch;
        self.idle.queued_ns += cut.queued;
        Some(cut.host).filter(|host| !host.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::trace;

    fn parts(categories: Categories) -> [(i64, u64); 3] {
        [categories.host_wait, categories.kernel_wait, categories.other]
            .map(|gaps| (gaps.idle_ns.0, gaps.count))
    }

    #[test]
    fn a_gap_is_named_after_what_the_event_waited_for() {
        let loaded = trace()
            .call(1, 0..5)
            .call(2, 6..8)
            .call(3, 60..65)
            .kernel("first", 7, 10..20, 1)
            .kernel("queued in time", 7, 25..40, 2)
            .kernel("late launch", 7, 100..110, 3)
            .kernel("unlaunched", 7, 150..160, None)
            .build();
        let answer = loaded.ask(&Idle { threshold: Ns(10) });
        assert_eq!(parts(answer.streams[0].categories), [(60, 1), (5, 1), (40, 1)]);
        let device = answer.devices[0];
        assert_eq!((device.idle_ns, device.host_ns, device.launch_ns), (Ns(105), Ns(20), Ns(15)));
        assert_eq!((device.queued_ns, device.unlinked_ns), (Ns(30), Ns(40)));
    }

    #[test]
    fn a_stream_that_waits_while_another_works_is_not_an_idle_device() {
        let loaded = trace()
            .call(1, 0..1)
            .call(2, 2..3)
            .call(3, 4..5)
            .kernel("a", 7, 10..20, 1)
            .kernel("long", 20, 10..100, 2)
            .kernel("b", 7, 90..110, 3)
            .build();
        let answer = loaded.ask(&Idle::default());
        assert_eq!(answer.devices[0].idle_ns, Ns(0));
        assert_eq!(answer.streams[0].categories.kernel_wait.idle_ns, Ns(70));
    }
}
