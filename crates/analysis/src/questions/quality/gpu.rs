//! What one pass over the GPU events by start shows.

use gpuscope_trace::{Ns, TrackId, View};
use rustc_hash::FxHashMap;

#[derive(Default)]
pub(super) struct Gpu {
    pub(super) events: u64,
    pub(super) empty: u64,
    pub(super) unlinked: u64,
    /// When the last unlinked and the first linked one start.
    pub(super) last_unlinked: Option<Ns>,
    pub(super) first_linked: Option<Ns>,
    pub(super) before_launch: u64,
    pub(super) overlapping: u64,
    /// Launched by a call that launched others too.
    pub(super) by_shared_call: u64,
    pub(super) step_has_work: Vec<bool>,
}

impl Gpu {
    pub(super) fn of(view: View<'_>) -> Gpu {
        let trace = view.trace;
        let (launches, steps) = (view.index.launches(trace), view.steps());
        let mut gpu = Gpu { step_has_work: vec![false; steps.len()], ..Gpu::default() };
        let mut streams = Streams::of(view);
        let mut step_at = steps.cursor();
        for event in view.index.gpu(trace).iter() {
            gpu.events += 1;
            gpu.empty += u64::from(trace.dur(event.row) == Some(Ns::ZERO));
            if let Some(until) = streams.busy_until(trace.track_id(event.row)) {
                gpu.overlapping += u64::from(event.start < *until && event.start < event.end);
                *until = event.end.max(*until);
            }
            let Some((call, launch)) =
                launches.call(event.row).and_then(|call| Some((call, trace.start(call)?)))
            else {
                gpu.unlinked += 1;
                gpu.last_unlinked = Some(event.start);
                continue;
            };
            gpu.first_linked = gpu.first_linked.or(Some(event.start));
            gpu.before_launch += u64::from(event.start < launch);
            gpu.by_shared_call += u64::from(launches.is_shared(call));
            if let Some(step) = step_at.at(launch) {
                gpu.step_has_work[step] = true;
            }
        }
        gpu
    }

    pub(super) fn share(&self, part: u64) -> String {
        format!("{part} of {} GPU events", self.events)
    }
}

/// Until when each stream of each device is busy. Several tracks may be of one stream.
struct Streams {
    of_track: Vec<Option<u32>>,
    busy_until: Vec<Ns>,
}

impl Streams {
    fn of(view: View<'_>) -> Streams {
        let mut known: FxHashMap<(i64, i64), u32> = FxHashMap::default();
        let tracks = view.trace.tracks.iter();
        let of_track = tracks.map(|(_, track)| {
            let next = known.len() as u32;
            track.stream.map(|stream| *known.entry((track.device, stream)).or_insert(next))
        });
        let of_track = of_track.collect();
        Streams { of_track, busy_until: vec![Ns(i64::MIN); known.len()] }
    }

    fn busy_until(&mut self, track: TrackId) -> Option<&mut Ns> {
        let stream = self.of_track[track.0 as usize]?;
        Some(&mut self.busy_until[stream as usize])
    }
}
