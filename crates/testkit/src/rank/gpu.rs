//! The GPU side of a rank: when work on a stream starts and ends, and how a rank arrives in a transfer.

use super::host::WAKE_UP_NS;
use super::{Arrival, RankSim};
use crate::action::TransferSpec;
use crate::catalog::{self, CopyKind, KernelSpec, RuntimeCall};
use crate::event::{CommArgs, Gpu, Stream, SyncKind, Transfer, What};
use crate::rng::mix;

const LAUNCH_LATENCY_NS: i64 = 2_600;
const STREAM_GAP_NS: i64 = 900;
const MOST_ARRIVAL_JITTER_NS: u64 = 700;

impl RankSim<'_> {
    pub(super) fn call_for_gpu(&mut self, call: RuntimeCall) -> Gpu {
        let (start, _, correlation) = self.call(call, true);
        self.gpu_of(correlation, start)
    }

    pub(super) fn gpu_of(&self, correlation: u64, start: i64) -> Gpu {
        let launched = (!self.launch_is_lost(correlation)).then_some(start);
        Gpu {
            correlation,
            external: self.open_external(),
            operator: self.open_operator(),
            launched,
            purpose: self.purpose,
        }
    }

    pub(super) fn earliest(&self, stream: Stream) -> i64 {
        let state = self.streams[stream.index()];
        (self.now + LAUNCH_LATENCY_NS * self.launching / 100)
            .max(state.ready + STREAM_GAP_NS)
            .max(state.not_before)
    }

    pub(super) fn occupy(&mut self, stream: Stream, ns: i64) -> (i64, i64) {
        let start = self.earliest(stream);
        self.finish_on(stream, start, start + ns);
        (start, start + ns)
    }

    pub(super) fn finish_on(&mut self, stream: Stream, start: i64, end: i64) {
        self.streams[stream.index()].ready = end;
        for frame in &mut self.frames[self.thread.index()] {
            if frame.annotation.is_some() {
                let range = &mut frame.gpu[stream.index()];
                *range = Some(range.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
            }
        }
    }

    pub(super) fn kernel_time(&mut self, spec: &'static KernelSpec, ns: i64) -> i64 {
        let narrow = if *spec == catalog::FLASH_FORWARD_NARROW { self.narrow } else { 100 };
        let ns = self.vary_gpu(ns) * narrow / 100 * self.slow_compute / 100 * self.slow_step / 1_000;
        self.plan.scaled(spec.name, ns)
    }

    pub(super) fn launch(&mut self, spec: &'static KernelSpec, ns: i64) {
        let gpu = self.call_for_gpu(catalog::LAUNCH);
        let ns = self.kernel_time(spec, ns);
        let (start, end) = self.occupy(Stream::Compute, ns);
        self.record(
            start,
            end,
            What::Kernel { spec, stream: Stream::Compute, graph_node: None, comm: None, gpu },
        );
    }

    pub(super) fn held_copy(&mut self, call: RuntimeCall, kind: CopyKind, bytes: i64) {
        let (issued, stream) = (self.now, Stream::Compute);
        self.now += self.vary_launch(call.host_ns);
        let ns = self.vary_gpu(kind.ns(bytes));
        let (start, end) = self.occupy(stream, self.plan.scaled(kind.name(), ns));
        self.now = self.after_waiting_for(end + WAKE_UP_NS);
        let correlation = self.record_call(call, issued, true);
        let gpu = self.gpu_of(correlation, issued);
        self.record(start, end, What::Copy { kind, stream, bytes, gpu });
    }

    pub(super) fn launch_graph(&mut self, kernels: &[(&'static KernelSpec, i64)]) {
        let gpu = self.call_for_gpu(catalog::GRAPH_LAUNCH);
        for (node, &(spec, ns)) in kernels.iter().enumerate() {
            let ns = self.kernel_time(spec, ns);
            let (start, end) = self.occupy(Stream::Compute, ns);
            let what = What::Kernel {
                spec,
                stream: Stream::Compute,
                graph_node: Some(node as u32),
                comm: None,
                gpu,
            };
            self.record(start, end, what);
        }
    }

    pub(super) fn stream_waits(&mut self, stream: Stream, slot: u32) {
        let start = self.now;
        let (_, end, correlation) = self.call(catalog::STREAM_WAIT, false);
        let Some(event) = self.cuda_events[slot as usize] else { return };
        if event.group.is_some_and(|group| self.overlapped.contains(&group)) {
            return;
        }
        let state = &mut self.streams[stream.index()];
        state.not_before = state.not_before.max(event.done);
        let kind = SyncKind::StreamWaitEvent { stream, on: event.stream, record: event.record, event: slot };
        self.record_sync(start, end, kind, correlation);
    }

    pub(super) fn begin_transfer(&mut self, transfer: &TransferSpec) -> u32 {
        let seq = self.sequence_of_group.entry((transfer.group, transfer.peers)).or_insert(0);
        *seq += 1;
        self.batch.comms.push(CommArgs {
            name: transfer.name,
            in_elements: transfer.in_elements,
            out_elements: transfer.out_elements,
            group: transfer.group,
            seq: *seq,
            peers: transfer.peers,
            routing: transfer.routing,
        });
        self.batch.comms.len() as u32 - 1
    }

    pub(super) fn arrive(&mut self) {
        let found =
            self.frames[self.thread.index()].iter().rev().find_map(|frame| frame.transfer.zip(frame.comm));
        let Some((transfer, comm)) = found else { return };
        let start = self.now;
        self.now += catalog::LAUNCH_EX.host_ns * self.slow_host / 100 * self.launching / 100;
        let correlation = self.record_call(catalog::LAUNCH_EX, start, true);
        let gpu = self.gpu_of(correlation, start);
        let args = self.batch.comms[comm as usize].clone();
        self.arrival = Some(Arrival {
            start: self.earliest(transfer.stream) + self.arrival_jitter(&args),
            stream: transfer.stream,
            args,
            kernel: transfer.spec.name,
            ns: transfer.ns,
        });
        self.arrival_gpu = Some((gpu, Some(comm), transfer.spec));
    }

    /// Transfers that follow each other without a gap would start at the same instant on all ranks; real ones do not.
    fn arrival_jitter(&self, args: &CommArgs) -> i64 {
        let place = (u64::from(self.rank) << 44) ^ ((args.group as u64) << 36) ^ args.seq;
        (mix(mix(!self.plan.seed) ^ place) % MOST_ARRIVAL_JITTER_NS) as i64
    }

    /// All members are there: the transfer ends at the same time for all of them.
    pub(crate) fn complete(&mut self, end: i64, last_rank: u32, last_arrival: i64, second_arrival: i64) {
        let (Some(arrival), Some((gpu, comm, spec))) = (self.arrival.take(), self.arrival_gpu.take()) else {
            return;
        };
        let stream = arrival.stream;
        self.last_group[stream.index()] = Some(arrival.args.group);
        self.finish_on(stream, arrival.start, end);
        self.record(arrival.start, end, What::Kernel { spec, stream, graph_node: None, comm, gpu });
        let Arrival { args, start, .. } = arrival;
        self.batch.transfers.push(Transfer { args, start, end, last_arrival, last_rank, second_arrival });
    }
}
