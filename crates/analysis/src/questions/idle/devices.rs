//! Each gap in a device's busy time, cut where the call that launched what ended it began and where it returned.

use std::collections::BTreeMap;
use std::sync::Arc;

use gpuscope_trace::{GpuEvent, Interval, Ns, View};
use serde::Serialize;

use super::gaps::Gap;
use super::unrecorded::Unrecorded;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeviceIdle {
    pub rank: u32,
    pub device: i64,
    pub idle_ns: Ns,
    pub host_ns: Ns,
    pub in_call_ns: Ns,
    pub launch_ns: Ns,
    pub queued_ns: Ns,
    pub unlinked_ns: Ns,
    pub unrecorded_ns: Ns,
}

/// What a gap was spent on that ends with an event whose launch is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Nothing was on its way yet.
    pub(crate) host: Interval,
    /// The launching call had begun and not returned.
    pub(crate) in_call: Ns,
    pub(crate) launch: Ns,
    pub(crate) queued: Ns,
}

impl Cut {
    pub(crate) fn of(gap: Interval, call: Interval, threshold: Ns) -> Cut {
        // A call before the gap cuts it at its beginning; one after it (clocks disagree) at its end.
        let within = |time: Ns| time.max(gap.start).min(gap.end);
        let (began, returned) = (within(call.start), within(call.end));
        let on_its_way = gap.end - returned;
        let launch = on_its_way.min(threshold);
        Cut {
            host: Interval::new(gap.start, began),
            in_call: returned - began,
            launch,
            queued: on_its_way - launch,
        }
    }
}

/// The gaps of all devices, on the way through the GPU events of a view.
pub(super) struct Devices {
    threshold: Ns,
    unrecorded: Arc<Unrecorded>,
    states: BTreeMap<i64, DeviceState>,
}

#[derive(Default)]
struct DeviceState {
    busy_until: Option<Ns>,
    idle: DeviceIdle,
}

impl Devices {
    pub(super) fn new(view: View<'_>, threshold: Ns) -> Devices {
        Devices { threshold, unrecorded: Unrecorded::of(view), states: BTreeMap::new() }
    }

    /// Takes in an event; answers the gap before it if its launch is known: the part in which that had not begun, which
    /// may be empty, and all parts.
    pub(super) fn add(&mut self, view: View<'_>, event: &GpuEvent) -> Option<(Gap, Cut)> {
        let device = view.device(event.row);
        let state = self.states.entry(device).or_default();
        let until = state.busy_until.map_or(event.end, |until| until.max(event.end));
        let gap = Interval::new(state.busy_until.replace(until)?, event.start);
        if gap.is_empty() {
            return None;
        }
        state.idle.idle_ns += gap.len();
        let launch = view.launch(event.row);
        let Some((call, span)) = launch.and_then(|call| Some((call, view.trace.span(call)?))) else {
            state.idle.unlinked_ns += gap.len();
            return None;
        };
        let span = Interval::new(span.0, span.1);
        if self.unrecorded.fills(gap, event.row, span) {
            state.idle.unrecorded_ns += gap.len();
            return None;
        }
        let cut = Cut::of(gap, span, self.threshold);
        state.idle.host_ns += cut.host.len();
        state.idle.in_call_ns += cut.in_call;
        state.idle.launch_ns += cut.launch;
        state.idle.queued_ns += cut.queued;
        Some((Gap { device, call, time: cut.host }, cut))
    }

    pub(super) fn answer(self, rank: u32) -> Vec<DeviceIdle> {
        let row = |(device, state): (i64, DeviceState)| DeviceIdle { rank, device, ..state.idle };
        self.states.into_iter().map(row).collect()
    }
}

/// Finds the stretches in which devices waited for the host, on the way through the GPU events of a view.
pub(crate) struct HostWaits(Devices);

impl HostWaits {
    pub(crate) fn new(view: View<'_>) -> HostWaits {
        HostWaits(Devices::new(view, Ns::ZERO))
    }

    /// Takes in an event; answers the part of the gap before it in which its launch had not been issued.
    pub(crate) fn add(&mut self, view: View<'_>, event: &GpuEvent) -> Option<Gap> {
        let (gap, _) = self.0.add(view, event)?;
        Some(gap).filter(|gap| !gap.time.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use gpuscope_trace::Ns;

    use super::DeviceIdle;
    use crate::Idle;
    use crate::testing::{RANK, trace};

    #[test]
    fn a_gap_is_cut_where_the_call_began_and_where_it_returned() {
        let loaded = trace()
            .call(1, 0..5)
            .call(2, 6..8)
            .call(3, 60..65)
            .call(4, 100..170)
            .call(5, 171..300)
            .kernel("first", 7, 10..20, 1)
            .kernel("launched before the gap", 7, 25..40, 2)
            .kernel("launched in the gap", 7, 100..110, 3)
            .kernel("the call takes long", 7, 175..180, 4)
            .kernel("starts before the call returns", 7, 200..210, 5)
            .kernel("launch not recorded", 7, 250..260, None)
            .build();
        let answer = loaded.ask(&Idle { threshold: Ns(10) });
        let expected = DeviceIdle {
            rank: RANK,
            device: 0,
            idle_ns: Ns(5 + 60 + 65 + 20 + 40),
            host_ns: Ns(20),
            in_call_ns: Ns(5 + 60 + 20),
            launch_ns: Ns(5 + 10 + 5),
            queued_ns: Ns(25),
            unlinked_ns: Ns(40),
            unrecorded_ns: Ns(0),
        };
        assert_eq!(answer.devices, [expected]);
    }

    #[test]
    fn kernels_of_a_graph_were_launched_by_the_graph_launch() {
        let loaded = trace()
            .call(1, 0..5)
            .named_call("cudaGraphLaunch", 2, 30..90)
            .kernel("before", 7, 10..20, 1)
            .kernel("first of the graph", 7, 60..70, 2)
            .kernel("second of the graph", 7, 80..85, 2)
            .kernel("third of the graph", 7, 100..110, 2)
            .build();
        let idle = loaded.ask(&Idle { threshold: Ns(4) }).devices[0];
        let parts = [idle.host_ns, idle.in_call_ns, idle.launch_ns, idle.queued_ns];
        assert_eq!(parts, [Ns(10), Ns(30 + 10 + 5), Ns(4), Ns(6)]);
        assert_eq!(idle.idle_ns, Ns(65));
    }
}
