//! What the profiler of a rank writes of what happened.

use super::hardware::{Hardware, InFlight, Vendor};
use super::names::callback;
use super::program::{Direction, Kind, Span, Target, Transfer};
use super::record::{CallRecord, GpuRecord, Record, SpanRecord, Waited};
use crate::chrome::{Category, ChromeWriter};
use crate::event::Name;

/// True time zero on a clock that is right.
const EPOCH_NS: i64 = 4_000_000_000_000;

struct Writer<'r, 'w> {
    out: ChromeWriter<'w>,
    hardware: &'r Hardware,
    transfers: &'r [Transfer],
    record: &'r Record,
    pid: i64,
    device: i64,
    rank: usize,
    ranks: usize,
    clock: i64,
}

pub(super) fn text(
    hardware: &Hardware,
    transfers: &[Transfer],
    record: &Record,
    rank: usize,
    ranks: usize,
    clock_ns: i64,
) -> String {
    let mut bytes = Vec::new();
    let mut writer = Writer {
        out: ChromeWriter::new(&mut bytes),
        hardware,
        transfers,
        record,
        pid: 4_100 + 17 * rank as i64,
        device: rank as i64,
        rank,
        ranks,
        clock: EPOCH_NS + clock_ns,
    };
    writer.header();
    writer.events();
    writer.out.text("\n  ]\n}\n");
    // Writing to a vector cannot fail.
    let _ = writer.out.flush();
    drop(writer);
    String::from_utf8(bytes).unwrap_or_default()
}

impl Writer<'_, '_> {
    fn header(&mut self) {
        let (device, rank, ranks) = (self.device, self.rank as i64, self.ranks as i64);
        let members = self.members();
        let out = &mut self.out;
        out.text("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": ").int(device);
        out.text(match self.hardware.vendor {
            Vendor::Cuda => ", \"name\": \"NVIDIA A100-SXM4-80GB\", \"totalGlobalMem\": 85899345920, \"computeMajor\": 8, \"computeMinor\": 0, \"warpSize\": 32, \"numSms\": 108}],\n  \"cuda_runtime_version\": 12060,\n",
            Vendor::Hip => ", \"name\": \"AMD Instinct MI300X\", \"totalGlobalMem\": 206141652992, \"computeMajor\": 9, \"computeMinor\": 4, \"warpSize\": 64, \"numSms\": 304}],\n  \"roctracer_version\": 4.1, \"hip_runtime_version\": 60443483,\n",
        });
        if ranks > 1 {
            out.text("  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": ").int(rank);
            out.text(", \"world_size\": ").int(ranks);
            out.text(", \"pg_count\": 1, \"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"backend_config\": \"cuda:nccl\", \"pg_size\": ");
            out.int(ranks).text(&format!(", \"ranks\": {members:?}}}]}},\n"));
        }
        out.text("  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 1767189312000000000,\n  \"traceEvents\": [");
    }

    fn members(&self) -> Vec<usize> {
        (0..self.ranks).collect()
    }

    fn events(&mut self) {
        let record = self.record;
        let from = record.recording_from;
        for span in record.spans.iter().filter(|span| span.start >= from) {
            self.span(span);
        }
        for call in record.calls.iter().filter(|call| call.start >= from) {
            self.call(call);
            self.sync_row(call);
        }
        for gpu in record.gpu.iter().filter(|gpu| gpu.end >= from) {
            if gpu.launched >= from || self.hardware.in_flight == InFlight::WithoutLaunch {
                self.gpu(gpu);
            }
        }
        self.profiler(record.recording_from, record.recording_to);
    }

    fn times(&self, start: i64, end: i64) -> (i64, i64) {
        (start + self.clock, end + self.clock)
    }

    fn thread(&self, thread: usize) -> (i64, i64) {
        (self.pid, self.pid + 803 * thread as i64)
    }

    fn span(&mut self, span: &SpanRecord) {
        let category = match span.span {
            Span::Operator(_) | Span::Communication(_) => Category::CpuOp,
            Span::Annotation(_) | Span::Step(_) => Category::UserAnnotation,
        };
        let (place, times) = (self.thread(span.thread), self.times(span.start, span.end));
        self.out.span(category, span.span.name(), place, times);
        self.out.text("\"External id\": ").int(span.external as i64);
        self.out.text(", \"Record function id\": 0");
        if let Span::Communication(number) = span.span {
            self.transfer(number);
        }
        self.out.end_args();
    }

    fn transfer(&mut self, number: usize) {
        let transfer = &self.transfers[number];
        let members = self.members();
        let out = &mut self.out;
        out.text(", \"Collective name\": \"").text(transfer.operation);
        out.text("\", \"In msg nelems\": ").int(transfer.elements);
        out.text(", \"Out msg nelems\": ").int(transfer.elements);
        out.text(", \"Group size\": ").int(members.len() as i64).text(", \"dtype\": \"Float\"");
        out.text(", \"In split size\": \"[]\", \"Out split size\": \"[]\"");
        out.text(", \"Process Group Name\": \"0\", \"Process Group Description\": \"default_pg\"");
        out.text(&format!(", \"Process Group Ranks\": \"{members:?}\""));
    }

    fn call(&mut self, call: &CallRecord) {
        if call.name == "hipEventRecord" && !self.hardware.record_calls {
            return;
        }
        let (place, times) = (self.thread(call.thread), self.times(call.start, call.end));
        self.out.span(Category::CudaRuntime, Name::plain(call.name), place, times);
        self.external(call.external);
        let key = if self.hardware.vendor == Vendor::Cuda { "\"cbid\": " } else { "\"cid\": " };
        self.out.text(key).int(callback(call.name));
        self.out.text(", \"correlation\": ").int(call.correlation as i64).end_args();
    }

    fn external(&mut self, external: u64) {
        if external > 0 {
            self.out.text("\"External id\": ").int(external as i64).text(", ");
        }
    }

    fn sync_row(&mut self, call: &CallRecord) {
        let Some(waited) = call.waited.filter(|_| self.hardware.sync_rows) else { return };
        let (name, stream, event) = match waited {
            Waited::Host(Target::Device) => ("Context Sync", -1, None),
            Waited::Host(Target::Stream(stream)) => ("Stream Sync", self.stream(stream), None),
            Waited::Host(Target::Event(event)) => ("Event Sync", -1, Some(event)),
            Waited::Stream { stream, event } => ("Stream Wait Event", self.stream(stream), Some(event)),
        };
        let recorded = event.map(|event| (event, self.record.events[event]));
        let end = call.end.max(call.start + 2);
        let (place, times) = ((self.device, stream), self.times(call.start + 1, end - 1));
        self.out.span(Category::CudaSync, Name::plain(name), place, times);
        self.external(call.external);
        self.out.text("\"cuda_sync_kind\": \"").text(name).text("\", ");
        if let Some((event, recorded)) = recorded {
            let (on, by) = recorded.map_or((-1, -1), |(on, by)| (self.stream(on), by as i64));
            self.out.text("\"wait_on_stream\": ").int(on);
            self.out.text(", \"wait_on_cuda_event_record_corr_id\": ").int(by);
            self.out.text(", \"wait_on_cuda_event_id\": ").int(1 + event as i64 % 64).text(", ");
        }
        self.out.text("\"stream\": ").int(stream).text(", \"correlation\": ").int(call.correlation as i64);
        self.out.text(", \"device\": ").int(self.device).text(", \"context\": 1").end_args();
    }

    /// A stream's number in the trace.
    fn stream(&self, stream: usize) -> i64 {
        match self.hardware.vendor {
            Vendor::Cuda => [7, 20, 24, 28, 32][stream],
            Vendor::Hip => [0, 4, 5, 6, 7][stream],
        }
    }

    fn gpu(&mut self, gpu: &GpuRecord) {
        let category = match gpu.kind {
            Kind::Kernel | Kind::Collective(_) => Category::Kernel,
            Kind::Copy(..) => Category::GpuMemcpy,
            Kind::Set(_) => Category::GpuMemset,
        };
        let place = (self.device, self.stream(gpu.stream));
        let skew = self.hardware.gpu_clock_ns;
        let times = self.times(gpu.start + skew, gpu.end + skew);
        self.out.span(category, Name::plain(gpu.name), place, times);
        if gpu.launched >= self.record.recording_from {
            self.external(gpu.external);
        }
        self.out.text("\"device\": ").int(place.0).text(", \"stream\": ").int(place.1);
        self.out.text(", \"correlation\": ").int(gpu.correlation as i64);
        match self.hardware.vendor {
            Vendor::Cuda => self.cuda_details(gpu),
            Vendor::Hip => self.hip_details(gpu),
        }
        self.out.end_args();
    }

    fn cuda_details(&mut self, gpu: &GpuRecord) {
        self.out.text(", \"context\": 1");
        match gpu.kind {
            Kind::Copy(_, bytes) | Kind::Set(bytes) => {
                self.out.text(", \"bytes\": ").int(bytes);
            }
            Kind::Kernel | Kind::Collective(_) => {
                self.out.text(", \"queued\": 0, \"registers per thread\": 40, \"shared memory\": 0, \"blocks per SM\": 4.740741, \"warps per SM\": 75.851852, \"grid\": [512, 1, 1], \"block\": [512, 1, 1], \"est. achieved occupancy %\": 63");
            }
        }
        if let Some(node) = gpu.graph_node {
            self.out.text(", \"graph id\": 3, \"graph node id\": ").int(3 * (1 << 32) + node as i64);
        }
        if let Kind::Collective(number) = gpu.kind {
            self.transfer(number);
        }
    }

    fn hip_details(&mut self, gpu: &GpuRecord) {
        self.out.text(match gpu.kind {
            Kind::Kernel | Kind::Collective(_) => ", \"kind\": \"Dispatch Kernel\"",
            Kind::Copy(Direction::HostToDevice, _) => ", \"kind\": \"HtoD\"",
            Kind::Copy(Direction::DeviceToHost, _) => ", \"kind\": \"DtoH\"",
            Kind::Copy(Direction::DeviceToDevice, _) => ", \"kind\": \"DtoD\"",
            Kind::Set(_) => ", \"kind\": \"Device\"",
        });
    }

    fn profiler(&mut self, from: i64, to: i64) {
        let (from, to) = self.times(from, to);
        self.out.begin(Category::Trace).text("\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ").time(from);
        self.out.text(", \"dur\": ").time(to - from);
        self.out.text(",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\", \"name\": \"PyTorch Profiler (0)\",\n    \"args\": {\n      \"Op count\": 0");
        self.out.end_args();
    }
}
