//! Watches the events of one rank go by and keeps what will be true of its file.

use std::collections::BTreeMap;

use crate::by_group::ByGroup;
use crate::catalog::MEMSET_NAME;
use crate::event::{Batch, Event, Gpu, Transfer, What};
use crate::groups::Groups;
use crate::operators::{Operators, recomputation};
use crate::plan::{Clock, Plan};
use crate::preamble::Places;
use crate::purpose::{Modules, Phase, Purpose};
use crate::sweep::{Kind, Sweep};
use crate::truth::{
    BreakdownTruth, CollectiveTruth, FaultSpan, KernelTruth, LayerTruth, MemoryPeak, PhaseTruth, RankTruth,
    StepFlops, StepTruth,
};

/// Collects the truth of one rank.
#[derive(Debug)]
pub(crate) struct Witness<'p> {
    plan: &'p Plan,
    groups: &'p Groups,
    rank: u32,
    clock: Clock,
    span: Option<(i64, i64)>,
    total: Sweep,
    steps: Vec<StepTruth>,
    last_gpu_end: Option<i64>,
    kernels: BTreeMap<(&'static str, &'static str), KernelTruth>,
    operators: Operators,
    collectives: Vec<CollectiveTruth>,
    by_group: ByGroup,
    phases: BTreeMap<Phase, PhaseTruth>,
    layers: BTreeMap<(Phase, Modules), (u64, i64, i64)>,
    gpu_events: u64,
    unlinked: u64,
    zero_length: u64,
    memory_peak: Option<MemoryPeak>,
    fault_sites: Vec<FaultSpan>,
}

/// The parts of a GPU event the truth needs.
struct GpuWork {
    name: &'static str,
    kind: Kind,
    kernel_type: &'static str,
    gpu: Gpu,
}

fn gpu_work(event: &Event) -> Option<GpuWork> {
    match event.what {
        What::Kernel { spec, gpu, .. } if spec.communication => {
            Some(GpuWork { name: spec.name, kind: Kind::Communication, kernel_type: "COMMUNICATION", gpu })
        }
        What::Kernel { spec, gpu, .. } => {
            Some(GpuWork { name: spec.name, kind: Kind::Computation, kernel_type: "COMPUTATION", gpu })
        }
        What::Copy { kind, gpu, .. } => {
            Some(GpuWork { name: kind.name(), kind: Kind::Memcpy, kernel_type: "MEMORY", gpu })
        }
        What::Set { gpu, .. } => {
            Some(GpuWork { name: MEMSET_NAME, kind: Kind::Computation, kernel_type: "MEMORY", gpu })
        }
        _ => None,
    }
}

impl<'p> Witness<'p> {
    pub(crate) fn new(plan: &'p Plan, groups: &'p Groups, rank: u32) -> Witness<'p> {
        Witness {
            plan,
            groups,
            rank,
            clock: plan.clock_of(rank),
            span: None,
            total: Sweep::default(),
            steps: Vec::new(),
            last_gpu_end: None,
            kernels: BTreeMap::new(),
            operators: Operators::default(),
            collectives: Vec::new(),
            by_group: ByGroup::new(groups, rank),
            phases: BTreeMap::new(),
            layers: BTreeMap::new(),
            gpu_events: 0,
            unlinked: 0,
            zero_length: 0,
            memory_peak: None,
            fault_sites: Vec::new(),
        }
    }

    /// Turns a batch's true times into those the rank's clock shows and takes note of it.
    pub(crate) fn observe(&mut self, batch: &mut Batch) {
        for transfer in &batch.transfers {
            self.transfer(transfer);
        }
        let clock = self.clock;
        for site in &mut batch.sites {
            (site.start, site.end) = (clock.shows(site.start), clock.shows(site.end));
            self.fault_sites.push(FaultSpan { fault: site.fault, start_ns: site.start, end_ns: site.end });
        }
        for event in &mut batch.events {
            event.start = clock.shows(event.start);
            event.end = clock.shows(event.end);
            if let What::Kernel { gpu, .. } | What::Copy { gpu, .. } | What::Set { gpu, .. } = &mut event.what
            {
                gpu.launched = gpu.launched.map(|at| clock.shows(at));
            }
        }
        if let Some((_, start, end)) = &mut batch.step {
            (*start, *end) = (clock.shows(*start), clock.shows(*end));
        }
        for event in &batch.events {
            self.event(event);
        }
        let flops = self.operators.observe(self.plan, batch, &recomputation(self.plan, batch));
        if let Some(step) = batch.step {
            self.step(step, flops, &batch.events);
        }
        self.total.advance(clock.shows(batch.horizon));
        self.by_group.advance(clock.shows(batch.horizon));
    }

    fn event(&mut self, event: &Event) {
        if let What::Memory { allocated, .. } = event.what {
            if self.memory_peak.is_none_or(|peak| allocated > peak.bytes) {
                self.memory_peak = Some(MemoryPeak { bytes: allocated, at_ns: event.start });
            }
            return;
        }
        self.stretch(event.start, event.end);
        let Some(work) = gpu_work(event) else { return };
        let ns = event.end - event.start;
        self.gpu_events += 1;
        self.unlinked += u64::from(work.gpu.launched.is_none());
        self.zero_length += u64::from(ns == 0);
        self.total.add(event.start, event.end, work.kind);
        if work.kind == Kind::Computation {
            self.by_group.computation(event.start, event.end);
        }
        if work.gpu.launched.is_some() {
            self.purpose(event, &work, ns);
        }
        let row = self.kernels.entry((work.name, work.kernel_type)).or_insert_with(|| KernelTruth {
            name: work.name.to_owned(),
            kernel_type: work.kernel_type,
            count: 0,
            sum_ns: 0,
            min_ns: ns,
            max_ns: ns,
        });
        row.count += 1;
        row.sum_ns += ns;
        row.min_ns = row.min_ns.min(ns);
        row.max_ns = row.max_ns.max(ns);
    }

    fn purpose(&mut self, event: &Event, work: &GpuWork, ns: i64) {
        let Purpose { phase, modules } = work.gpu.purpose;
        let replayed = matches!(event.what, What::Kernel { graph_node: Some(_), .. });
        let none = PhaseTruth { phase, count: 0, sum_ns: 0, replayed: 0, replayed_ns: 0 };
        let row = self.phases.entry(phase).or_insert(none);
        (row.count, row.sum_ns) = (row.count + 1, row.sum_ns + ns);
        if replayed {
            (row.replayed, row.replayed_ns) = (row.replayed + 1, row.replayed_ns + ns);
        }
        let (count, compute_ns, comm_ns) = self.layers.entry((phase, modules)).or_default();
        *count += 1;
        match work.kind {
            Kind::Communication => *comm_ns += ns,
            Kind::Computation | Kind::Memcpy => *compute_ns += ns,
        }
    }

    fn stretch(&mut self, start: i64, end: i64) {
        self.span = Some(self.span.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
    }

    fn step(&mut self, (step, start, end): (u32, i64, i64), flops: StepFlops, events: &[Event]) {
        let mut sweep = Sweep::default();
        let mut gpu_events = 0;
        for event in events {
            let Some(work) = gpu_work(event) else { continue };
            if work.gpu.launched.is_some_and(|at| start <= at && at < end) {
                sweep.add(event.start, event.end, work.kind);
                gpu_events += 1;
            }
        }
        let wall_ns = end - start;
        let row = match (sweep.first_start(), sweep.last_end()) {
            (Some(first), Some(last)) => {
                let window_end = end.max(last);
                let period_ns = self.last_gpu_end.map(|before| last - before);
                self.last_gpu_end = Some(last);
                StepTruth {
                    step,
                    start_ns: start,
                    end_ns: end,
                    breakdown: sweep.finish(),
                    flops,
                    gpu_events,
                    wall_ns,
                    period_ns,
                    window_ns: window_end - start,
                    lead_idle_ns: first - start,
                    tail_idle_ns: window_end - last,
                }
            }
            _ => StepTruth {
                step,
                start_ns: start,
                end_ns: end,
                breakdown: BreakdownTruth::default(),
                flops,
                gpu_events,
                wall_ns,
                period_ns: None,
                window_ns: 0,
                lead_idle_ns: 0,
                tail_idle_ns: 0,
            },
        };
        self.steps.push(row);
    }

    fn transfer(&mut self, transfer: &Transfer) {
        let group = &self.groups.all[transfer.args.group];
        let (start, end) = (self.clock.shows(transfer.start), self.clock.shows(transfer.end));
        self.by_group.transfer(transfer.args.group, start, end);
        let own = group.ranks.iter().position(|&rank| rank == self.rank).unwrap_or(0);
        let tokens = transfer.args.routing.map(|routing| routing.sent(own, group.ranks.len()));
        let row_bytes = 2 * self.plan.hidden as i64;
        self.collectives.push(CollectiveTruth {
            group: group.name.clone(),
            group_ranks: group.ranks.clone(),
            seq: transfer.args.seq,
            name: transfer.args.name,
            peers: transfer.args.peers,
            in_elements: transfer.args.in_elements,
            out_elements: transfer.args.out_elements,
            sent_bytes: tokens.unwrap_or_default().into_iter().map(|tokens| tokens * row_bytes).collect(),
            start_ns: start,
            dur_ns: end - start,
            true_start_ns: transfer.start,
            true_end_ns: transfer.end,
            true_wait_ns: transfer.last_arrival - transfer.start,
            last_rank: transfer.last_rank,
            last_arrival_true_ns: transfer.last_arrival,
            last_behind_ns: transfer.last_arrival - transfer.second_arrival,
        });
    }

    /// First start and last end of what was seen so far.
    pub(crate) fn span(&self) -> (i64, i64) {
        self.span.unwrap_or_else(|| {
            let start = self.clock.shows(crate::plan::JOB_START_NS);
            (start, start)
        })
    }

    pub(crate) fn finish(
        self,
        elements: u64,
        bytes: u64,
        counts: impl Iterator<Item = (&'static str, u64)>,
    ) -> RankTruth {
        let (start_ns, end_ns) = self.span();
        let layers = self.layers.into_iter().map(|((phase, modules), (count, compute_ns, comm_ns))| {
            let flops = self.operators.flops(phase, modules);
            let modules = modules.iter().map(|name| name.to_string()).collect();
            LayerTruth { phase, modules, count, compute_ns, comm_ns, flops }
        });
        let layers = layers.collect();
        RankTruth {
            rank: self.rank,
            world_size: self.plan.world(),
            written: self.plan.has_file(self.rank),
            elements,
            bytes,
            events_by_category: counts.map(|(category, count)| (category.to_owned(), count)).collect(),
            device: Places::of(self.rank).device as u32,
            start_ns,
            end_ns,
            total: self.total.finish(),
            steps: self.steps,
            kernels: self.kernels.into_values().collect(),
            operators: self.operators.finish(),
            collectives: self.collectives,
            groups: self.by_group.finish(self.groups),
            phases: self.phases.into_values().collect(),
            layers,
            gpu_events: self.gpu_events,
            launched: self.gpu_events - self.unlinked,
            unlinked: self.unlinked,
            zero_length_gpu_events: self.zero_length,
            memory_peak: self.memory_peak,
            clock: self.clock,
            fault_sites: self.fault_sites,
        }
    }
}
