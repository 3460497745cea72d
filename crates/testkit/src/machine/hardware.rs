//! What a machine is like: how long calls take, how launches reach the GPU, how many may be pending.

use super::chance::Chance;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    Cuda,
    Hip,
}

/// What happens to GPU work that was launched before the profiler began to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InFlight {
    /// Recorded without a launch, as far as it ends inside the window.
    WithoutLaunch,
    NotRecorded,
}

/// How a value is fetched with `.item()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fetch {
    /// An asynchronous copy to pinned memory, then the stream is synchronised.
    Pinned,
    /// The copy itself blocks; the synchronisation after it finds nothing to wait for.
    Pageable,
}

#[derive(Debug, Clone)]
pub(super) struct Hardware {
    pub(super) vendor: Vendor,
    /// The mean cost of a launching call, of which each one is a variation.
    pub(super) launch_call_ns: i64,
    /// From the submission to the earliest start on an idle stream.
    pub(super) launch_latency_ns: i64,
    /// How far into a call the GPU gets to know of the work.
    pub(super) submitted_percent: i64,
    /// Between two pieces of work of a stream that are both there.
    pub(super) stream_gap_ns: i64,
    pub(super) graph_gap_ns: i64,
    /// Launches that may be pending before a call blocks.
    pub(super) queue_depth: usize,
    /// Whether the streams of the device share that queue.
    pub(super) shared_queue: bool,
    /// From the end of what was waited for to the return of the waiting call.
    pub(super) return_latency_ns: i64,
    /// From an event to the start of what waited for it on another stream.
    pub(super) event_latency_ns: i64,
    /// From handing work to another host thread until that thread runs.
    pub(super) thread_wake_ns: i64,
    /// Kernels, in percent, that may begin before the one before them has ended.
    pub(super) early_start_percent: i64,
    pub(super) fetch: Fetch,
    pub(super) sync_rows: bool,
    /// Whether calls that record events are in the trace.
    pub(super) record_calls: bool,
    pub(super) in_flight: InFlight,
    pub(super) copy_bytes_per_us: i64,
    /// How often the host does something else in between.
    pub(super) interrupted_per_mille: i64,
    /// What the GPU's clock shows when the host's shows zero.
    pub(super) gpu_clock_ns: i64,
}

impl Hardware {
    pub(super) fn random(draw: &mut Chance, vendor: Vendor) -> Hardware {
        let cuda = vendor == Vendor::Cuda;
        Hardware {
            vendor,
            launch_call_ns: draw.between(2_500, 9_000),
            launch_latency_ns: if cuda { draw.between(2_000, 8_000) } else { draw.between(4_000, 12_000) },
            submitted_percent: draw.between(60, 100),
            stream_gap_ns: if cuda { draw.between(500, 2_000) } else { draw.between(1_000, 4_000) },
            graph_gap_ns: draw.between(300, 1_200),
            queue_depth: if cuda { draw.pick(&[128, 256, 512, 1022]) } else { draw.pick(&[100, 250, 1000]) },
            shared_queue: draw.percent(30),
            return_latency_ns: draw.between(1_500, 7_000),
            event_latency_ns: if cuda { draw.between(800, 3_000) } else { draw.between(3_000, 14_000) },
            thread_wake_ns: draw.between(8_000, 40_000),
            early_start_percent: if cuda && draw.percent(25) { draw.between(10, 60) } else { 0 },
            fetch: if draw.percent(50) { Fetch::Pinned } else { Fetch::Pageable },
            sync_rows: cuda && draw.percent(40),
            record_calls: cuda || draw.percent(40),
            in_flight: if draw.percent(60) { InFlight::WithoutLaunch } else { InFlight::NotRecorded },
            copy_bytes_per_us: draw.between(10_000, 24_000),
            interrupted_per_mille: draw.pick(&[0, 1, 5]),
            gpu_clock_ns: draw.between(-600, 600),
        }
    }
}
