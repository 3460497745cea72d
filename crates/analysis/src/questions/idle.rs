//! When the GPU did nothing, what was it waiting for?
//!
//! Two views. `streams` is HTA's: per stream, the gap before each GPU event, from the latest end so far on that
//! stream to its start, is `host_wait` if the event's launch began only after that end, else `kernel_wait` if
//! the gap is shorter than a threshold, else `other`. Streams idle while others work, so these gaps do not add
//! up to a device's idle time.
//!
//! `devices` does: each gap in the device's busy time ends with some GPU event, and is cut where the call that
//! launched it began and where it returned. Before it began nothing was on its way (`host_ns`); inside the call the
//! driver was at work, or the call was held up (`in_call_ns`); after its return up to the threshold is the price of a
//! launch (`launch_ns`); beyond it the event waited for something else (`queued_ns`). Gaps before events whose launch
//! is unknown are `unlinked_ns`, and gaps in which work from before the recording still ran are `unrecorded_ns`. The
//! six make up `idle_ns`, to the nanosecond. For `host_ns`, `host_causes` says what the launching thread was doing,
//! and `host_gaps` lists the longest one by one; for `in_call_ns`, `calls` names the calls.

mod calls;
mod causes;
mod devices;
mod figures;
mod gaps;
mod table;
mod unrecorded;

use std::collections::BTreeMap;

use gpuscope_trace::{GpuEvent, Ns, View};
use serde::Serialize;

use crate::Question;

use calls::Calls;
use devices::Devices;

pub use calls::CallIdle;
pub(crate) use causes::Causes;
pub use causes::{Cause, HostCause};
pub use devices::DeviceIdle;
pub(crate) use devices::{Cut, HostWaits};
pub(crate) use gaps::Gap;
pub use gaps::HostGap;
pub(crate) use unrecorded::Unrecorded;

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

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IdleAnswer {
    pub streams: Vec<StreamIdle>,
    pub devices: Vec<DeviceIdle>,
    pub host_causes: Vec<HostCause>,
    /// The longest, longest first.
    pub host_gaps: Vec<HostGap>,
    pub calls: Vec<CallIdle>,
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
        let (mut devices, mut host_gaps) = (Devices::new(view, self.threshold), Vec::new());
        let mut calls = Calls::default();
        for event in view.gpu() {
            if let Some(stream) = view.stream(event.row) {
                let launched = view.launch_start(event.row);
                let state = streams.entry((view.device(event.row), stream)).or_default();
                state.add(event, launched, self.threshold);
            }
            if let Some((gap, cut)) = devices.add(view, event) {
                calls.add(view, gap.call, cut.in_call);
                host_gaps.extend(Some(gap).filter(|gap| !gap.time.is_empty()));
            }
        }
        IdleAnswer {
            streams: streams
                .into_iter()
                .map(|((device, stream), state)| state.answer(rank, device, stream))
                .collect(),
            devices: devices.answer(rank),
            host_causes: causes::of(rank, view, &host_gaps),
            host_gaps: gaps::longest(rank, view, &host_gaps),
            calls: calls.answer(rank, view, self.threshold),
        }
    }

    fn merge(&self, locals: Vec<IdleAnswer>) -> IdleAnswer {
        let mut all = IdleAnswer::default();
        for local in locals {
            all.streams.extend(local.streams);
            all.devices.extend(local.devices);
            all.host_causes.extend(local.host_causes);
            all.host_gaps.extend(local.host_gaps);
            all.calls.extend(local.calls);
        }
        // Stable, so that equal ones stay by rank.
        all.host_causes.sort_by_key(|cause| std::cmp::Reverse(cause.idle_ns));
        all.host_gaps.sort_by_key(|gap| std::cmp::Reverse(gap.idle_ns));
        all.host_gaps.truncate(gaps::LISTED);
        all.calls.sort_by_key(|call| std::cmp::Reverse(call.idle_ns));
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
