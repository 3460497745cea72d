//! Turns recorded events into the elements Kineto would have written for them, in the order it writes them: operators,
//! memory, Python, then GPU work with its launches.

use std::borrow::Cow;
use std::io;

use crate::chrome::{Category, ChromeWriter};
use crate::event::{Batch, CommArgs, Event, Gpu, Link, Name, Stream, SyncKind, What};
use crate::groups::Groups;
use crate::plan::{Detail, Plan};
use crate::preamble::{self, Places};
use crate::shapes::ShapeTexts;

/// Writes one rank's file.
#[derive(Debug)]
pub(crate) struct Emitter<'a, 'w> {
    out: ChromeWriter<'w>,
    plan: &'a Plan,
    groups: &'a Groups,
    shapes: &'a ShapeTexts,
    rank: u32,
    places: Places,
    event_index: i64,
    flows: bool,
    group_ranks: Vec<String>,
}

impl<'a, 'w> Emitter<'a, 'w> {
    pub(crate) fn new(
        plan: &'a Plan,
        groups: &'a Groups,
        shapes: &'a ShapeTexts,
        rank: u32,
        out: &'w mut dyn io::Write,
    ) -> Emitter<'a, 'w> {
        let mut out = ChromeWriter::new(out);
        preamble::header(&mut out, plan, groups, rank);
        Emitter {
            out,
            plan,
            groups,
            shapes,
            rank,
            places: Places::of(rank),
            event_index: 0,
            flows: plan.detail == Detail::Full,
            group_ranks: groups.all.iter().map(|group| format!("{:?}", group.ranks)).collect(),
        }
    }

    /// Writes a stretch whose times are already those of the rank's clock.
    pub(crate) fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        for event in &batch.events {
            match event.what {
                What::Op { .. } => self.op(event, &batch.comms),
                What::Annotation { name, thread, external } => {
                    self.annotation(event, name, thread.index(), external);
                }
                _ => continue,
            }
            self.out.flush_if_full()?;
        }
        for event in &batch.events {
            if let What::Memory { .. } = event.what {
                self.memory(event);
            }
        }
        for event in &batch.events {
            if let What::Python { .. } = event.what {
                self.python(event);
                self.out.flush_if_full()?;
            }
        }
        for event in &batch.events {
            match event.what {
                What::Kernel { .. } => self.kernel(event, &batch.comms),
                What::Copy { .. } | What::Set { .. } => self.copy_or_set(event),
                What::Runtime { .. } => self.runtime(event),
                What::Overhead => {
                    let name = Name::plain("Activity Buffer Request");
                    self.out.span(Category::Overhead, name, (-1, 0), (event.start, event.end)).end_args();
                }
                What::Sync { kind, correlation, external } => self.sync(event, kind, correlation, external),
                _ => continue,
            }
            self.out.flush_if_full()?;
        }
        for event in &batch.events {
            if let What::GpuAnnotation { name, stream, external } = event.what {
                let times = (event.start, event.end);
                self.out.span(Category::GpuUserAnnotation, name, gpu_place(self.places, stream), times);
                self.out.text("\"External id\": ").int(external as i64).end_args();
            }
        }
        self.out.flush_if_full()
    }

    /// Writes what follows the events and gives back the counts of elements.
    pub(crate) fn finish(mut self, span: (i64, i64)) -> io::Result<ChromeWriter<'w>> {
        preamble::footer(&mut self.out, self.plan, self.rank, span);
        self.out.flush()?;
        Ok(self.out)
    }

    fn next_event_index(&mut self) -> i64 {
        self.event_index += 1;
        self.event_index - 1
    }

    fn op(&mut self, event: &Event, comms: &[CommArgs]) {
        let What::Op { name, thread, external, shape, link, comm } = event.what else { return };
        let place = (self.places.pid, self.places.threads[thread.index()]);
        let index = self.next_event_index();
        let out = &mut self.out;
        out.span(Category::CpuOp, Name::plain(name), place, (event.start, event.end));
        out.text("\"External id\": ")
            .int(external as i64)
            .text(",\"Record function id\": ")
            .int(external as i64);
        out.text(", ");
        match link {
            Link::None => {}
            Link::Forward { sequence } => {
                out.text("\"Sequence number\": ").int(i64::from(sequence)).text(", \"Fwd thread id\": 0, ");
            }
            Link::Evaluation { sequence } | Link::Backward { sequence } => {
                out.text("\"Sequence number\": ").int(i64::from(sequence)).text(", \"Fwd thread id\": 1, ");
            }
        }
        if let Some(args) = comm.and_then(|comm| comms.get(comm as usize)) {
            self.collective(args, false);
            self.out.text(", ");
        }
        let out = &mut self.out;
        out.text(self.shapes.of(shape)).text("\"Ev Idx\": ").int(index).end_args();
        if self.flows {
            match link {
                Link::Forward { sequence } => {
                    out.flow(Category::ForwardBackward, true, i64::from(sequence), place, event.start);
                }
                Link::Backward { sequence } => {
                    out.flow(Category::ForwardBackward, false, i64::from(sequence), place, event.start);
                }
                Link::None | Link::Evaluation { .. } => {}
            }
        }
    }

    fn annotation(&mut self, event: &Event, name: Name, thread: usize, external: u64) {
        let index = self.next_event_index();
        let place = (self.places.pid, self.places.threads[thread]);
        let out = &mut self.out;
        out.span(Category::UserAnnotation, name, place, (event.start, event.end));
        out.text("\"External id\": ")
            .int(external as i64)
            .text(",\"Record function id\": ")
            .int(external as i64);
        out.text(", \"Ev Idx\": ").int(index).end_args();
    }

    fn memory(&mut self, event: &Event) {
        let What::Memory { thread, bytes, address, allocated, reserved } = event.what else { return };
        let index = self.next_event_index();
        let places = self.places;
        let out = &mut self.out;
        out.begin(Category::CpuInstantEvent)
            .text("\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\",\n    \"pid\": ");
        out.int(places.pid).text(", \"tid\": ").int(places.threads[thread.index()]);
        out.text(",\n    \"ts\": ")
            .time(event.start)
            .text(",\n    \"args\": {\n      \"Total Reserved\": ")
            .int(reserved);
        out.text(", \"Total Allocated\": ").int(allocated).text(", \"Bytes\": ").int(bytes);
        out.text(", \"Addr\": ").int(address).text(", \"Device Id\": ").int(places.device);
        out.text(", \"Device Type\": 1, \"Ev Idx\": ").int(index).end_args();
    }

    fn python(&mut self, event: &Event) {
        let What::Python { name, thread, id, parent, module } = event.what else { return };
        let index = self.next_event_index();
        let place = (self.places.pid, self.places.threads[thread.index()]);
        let out = &mut self.out;
        out.span(Category::PythonFunction, name, place, (event.start, event.end))
            .text("\"Python parent id\": ");
        match parent {
            Some(parent) => out.int(parent as i64),
            None => out.text("null"),
        };
        out.text(", \"Python id\": ").int(id as i64);
        if let Some(module) = module {
            out.text(", \"Python module id\": ").int(i64::from(module));
        }
        out.text(", \"Ev Idx\": ").int(index).end_args();
    }

    fn runtime(&mut self, event: &Event) {
        let What::Runtime { name, cbid, thread, correlation, external, feeds_gpu } = event.what else {
            return;
        };
        let place = (self.places.pid, self.places.threads[thread.index()]);
        let out = &mut self.out;
        out.span(Category::CudaRuntime, Name::plain(name), place, (event.start, event.end));
        if external > 0 {
            out.text("\"External id\": ").int(external as i64).text(",      ");
        }
        out.text("\"cbid\": ")
            .int(i64::from(cbid))
            .text(", \"correlation\": ")
            .int(correlation as i64)
            .end_args();
        if self.flows && feeds_gpu {
            out.flow(Category::Flow, true, correlation as i64, place, event.start);
        }
    }

    fn kernel(&mut self, event: &Event, comms: &[CommArgs]) {
        let What::Kernel { spec, stream, graph_node, comm, gpu } = event.what else { return };
        let place = gpu_place(self.places, stream);
        let out = &mut self.out;
        out.span(Category::Kernel, Name::plain(spec.name), place, (event.start, event.end));
        external_id(out, gpu);
        out.text("\"queued\": 0, \"device\": ")
            .int(place.0)
            .text(", \"context\": 1,      \"stream\": ")
            .int(place.1);
        out.text(", \"correlation\": ").int(gpu.correlation as i64);
        out.text(",      \"registers per thread\": ").int(i64::from(spec.registers));
        out.text(",      \"shared memory\": ").int(i64::from(spec.shared_memory));
        out.text(",      \"blocks per SM\": ").text(spec.blocks_per_sm);
        out.text(",      \"warps per SM\": ").text(spec.warps_per_sm);
        out.text(",      \"grid\": ").text(spec.grid).text(",      \"block\": ").text(spec.block);
        out.text(",      \"est. achieved occupancy %\": ").int(i64::from(spec.occupancy));
        if let Some(node) = graph_node {
            out.text(", \"graph id\": 3, \"graph node id\": ").int(3 * (1 << 32) + i64::from(node));
        }
        if let Some(args) = comm.and_then(|comm| comms.get(comm as usize)) {
            self.out.text(", ");
            self.collective(args, true);
        }
        self.out.end_args();
        self.gpu_flow(gpu, place, event.start);
    }

    fn copy_or_set(&mut self, event: &Event) {
        let (category, name, stream, bytes, gpu) = match event.what {
            What::Copy { kind, stream, bytes, gpu } => (Category::GpuMemcpy, kind.name(), stream, bytes, gpu),
            What::Set { stream, bytes, gpu } => {
                (Category::GpuMemset, crate::catalog::MEMSET_NAME, stream, bytes, gpu)
            }
            _ => return,
        };
        let place = gpu_place(self.places, stream);
        let out = &mut self.out;
        out.span(category, Name::plain(name), place, (event.start, event.end));
        external_id(out, gpu);
        out.text("\"device\": ").int(place.0).text(", \"context\": 1,      \"stream\": ").int(place.1);
        out.text(", \"correlation\": ").int(gpu.correlation as i64).text(",      \"bytes\": ").int(bytes);
        let ns = (event.end - event.start).max(1);
        out.text(", \"memory bandwidth (GB/s)\": ").float(bytes as f64 / ns as f64).end_args();
        self.gpu_flow(gpu, place, event.start);
    }

    fn gpu_flow(&mut self, gpu: Gpu, place: (i64, i64), at: i64) {
        if self.flows && gpu.launched.is_some() {
            self.out.flow(Category::Flow, false, gpu.correlation as i64, place, at);
        }
    }

    fn sync(&mut self, event: &Event, kind: SyncKind, correlation: u64, external: u64) {
        let (name, stream, wait) = match kind {
            SyncKind::StreamWaitEvent { stream, on, record, event } => {
                ("Stream Wait Event", i64::from(stream.id()), Some((on, record, event)))
            }
            SyncKind::EventSync { on, record, event } => ("Event Sync", -1, Some((on, record, event))),
            SyncKind::StreamSync { stream } => ("Stream Sync", i64::from(stream.id()), None),
            SyncKind::ContextSync => ("Context Sync", -1, None),
        };
        let device = self.places.device;
        let out = &mut self.out;
        out.span(Category::CudaSync, Name::plain(name), (device, stream), (event.start, event.end));
        if external > 0 {
            out.text("\"External id\": ").int(external as i64).text(",      ");
        }
        out.text("\"cuda_sync_kind\": \"").text(name).text("\",      ");
        if let Some((on, record, event)) = wait {
            out.text("\"wait_on_stream\": ").int(i64::from(on.id()));
            out.text(",      \"wait_on_cuda_event_record_corr_id\": ").int(record as i64);
            out.text(",      \"wait_on_cuda_event_id\": ").int(i64::from(event)).text(",      ");
        }
        out.text("\"stream\": ").int(stream).text(", \"correlation\": ").int(correlation as i64);
        out.text(",      \"device\": ").int(device).text(", \"context\": 1").end_args();
    }

    /// The arguments of a collective, without a comma at either end.
    fn collective(&mut self, args: &CommArgs, on_kernel: bool) {
        let group = &self.groups.all[args.group];
        let out = &mut self.out;
        out.text("\"Collective name\": \"")
            .text(args.name)
            .text("\", \"In msg nelems\": ")
            .int(args.in_elements);
        out.text(", \"Out msg nelems\": ").int(args.out_elements).text(", \"Group size\": ");
        out.int(group.ranks.len() as i64).text(", \"dtype\": \"BFloat16\"");
        let (sent, received) = splits(args, &group.ranks, self.rank);
        out.text(", \"In split size\": \"").text(&sent).text("\", \"Out split size\": \"").text(&received);
        out.text("\", \"Process Group Name\": \"").text(&group.name);
        out.text("\", \"Process Group Description\": \"").text(group.description);
        out.text("\", \"Process Group Ranks\": \"").text(&self.group_ranks[args.group]).text("\"");
        if let Some((from, to)) = args.peers {
            out.text(", \"Src Rank\": ").int(i64::from(from)).text(", \"Dst Rank\": ").int(i64::from(to));
        }
        if !on_kernel {
            out.text(", \"Rank\": ").int(i64::from(self.rank));
        }
        out.text(", \"Seq\": ").int(args.seq as i64);
    }
}

/// Rows for and from each member; empty where all have the same.
fn splits(args: &CommArgs, ranks: &[u32], rank: u32) -> (Cow<'static, str>, Cow<'static, str>) {
    let own = ranks.iter().position(|&member| member == rank);
    match args.routing.zip(own) {
        Some((routing, own)) => (
            format!("{:?}", routing.sent(own, ranks.len())).into(),
            format!("{:?}", routing.received(own, ranks.len())).into(),
        ),
        None => ("[]".into(), "[]".into()),
    }
}

fn gpu_place(places: Places, stream: Stream) -> (i64, i64) {
    (places.device, i64::from(stream.id()))
}

fn external_id(out: &mut ChromeWriter<'_>, gpu: Gpu) {
    if gpu.external > 0 {
        out.text("\"External id\": ").int(gpu.external as i64).text(",      ");
    }
}
