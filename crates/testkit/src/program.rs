//! One rank's program for one step: load data, forward, backward, optimizer. The order is that of a training loop;
//! nothing here knows about time.

use crate::action::{Action, Scope, TransferSpec};
use crate::catalog;
use crate::costs::Costs;
use crate::event::{Link, Name, Stream, Thread};
use crate::fault::Fault;
use crate::groups::Groups;
use crate::layers::Node;
use crate::plan::{Detail, Plan};
use crate::purpose::{Phase, Purpose};
use crate::recompute::Keeping;
use crate::shapes::Shape;

/// CUDA events used for ordering streams; each means one thing within a step.
pub(crate) const INPUT_READY: u32 = 0;
pub(crate) const FORWARD_DONE: u32 = 1;
pub(crate) const COMM_INPUT: u32 = 2;
pub(crate) const COMM_DONE: u32 = 3;
pub(crate) const WEIGHTS_READY: u32 = 4;
pub(crate) const INPUT_USED: u32 = 5;
pub(crate) const SUMS_READY: u32 = 6;
pub(crate) const TOKENS_THERE: u32 = 7;
pub(crate) const CUDA_EVENTS: usize = 8;

const FIRST_ADDRESS: i64 = 0x7f31_0000_0000;

/// Builds the actions of one step.
#[derive(Debug)]
pub(crate) struct Builder<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) groups: &'p Groups,
    pub(crate) costs: Costs,
    pub(crate) rank: u32,
    pub(crate) step: u32,
    pub(crate) actions: Vec<Action>,
    pub(crate) tape: Vec<Node>,
    /// Sequence numbers count on from step to step.
    pub(crate) sequence: u32,
    /// Filled instead of launching while a graph is being replayed.
    pub(crate) graph: Option<Vec<(&'static catalog::KernelSpec, i64)>>,
    pub(crate) keeping: Keeping,
    pub(crate) purpose: Purpose,
    /// How often tokens went to their experts in this step.
    pub(crate) dispatches: u64,
    next_address: i64,
    gradients: Vec<(i64, i64)>,
}

/// The actions of one rank in one step, and the next free sequence number.
pub(crate) fn step(plan: &Plan, groups: &Groups, rank: u32, step: u32, sequence: u32) -> (Vec<Action>, u32) {
    let mut builder = Builder {
        plan,
        groups,
        costs: Costs::new(plan),
        rank,
        step,
        actions: Vec::with_capacity(4096),
        tape: Vec::new(),
        sequence,
        graph: None,
        keeping: Keeping::Activations,
        purpose: Purpose::NONE,
        dispatches: 0,
        next_address: FIRST_ADDRESS,
        gradients: Vec::new(),
    };
    builder.training_step();
    (builder.actions, builder.sequence)
}

impl Builder<'_> {
    pub(crate) fn full(&self) -> bool {
        self.plan.detail == Detail::Full
    }

    pub(crate) fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(crate) fn open(&mut self, scope: Scope) {
        if self.graph.is_none() {
            self.push(Action::Open(scope));
        }
    }

    pub(crate) fn close(&mut self) {
        if self.graph.is_none() {
            self.push(Action::Close);
        }
    }

    pub(crate) fn op(&mut self, name: &'static str, shape: Shape, link: Link) {
        self.open(Scope::Op { name, shape, link });
    }

    pub(crate) fn work(&mut self, ns: i64) {
        if self.graph.is_none() {
            self.push(Action::Work(ns));
        }
    }

    /// Opens a Python frame if frames are recorded; close it with `end_python`.
    pub(crate) fn python(&mut self, name: &'static str) {
        if self.full() {
            self.open(Scope::Python(Name::plain(name)));
        }
    }

    pub(crate) fn end_python(&mut self) {
        if self.full() {
            self.close();
        }
    }

    pub(crate) fn module(&mut self, name: &'static str, number: u32) {
        if self.full() {
            let name = Name::numbered(name, number);
            self.open(Scope::Module { name, id: number });
            if self.graph.is_none() {
                self.enter(name);
            }
            self.open(Scope::Python(Name::plain("torch/nn/modules/module.py(1751): _call_impl")));
        }
    }

    pub(crate) fn end_module(&mut self) {
        if self.full() {
            self.close();
            self.close();
            if self.graph.is_none() {
                self.leave();
            }
        }
    }

    pub(crate) fn launch(&mut self, spec: &'static catalog::KernelSpec, ns: i64) {
        match &mut self.graph {
            Some(kernels) => kernels.push((spec, ns)),
            None => self.push(Action::Launch { spec, ns }),
        }
    }

    /// Allocates and returns the address, to be freed later.
    pub(crate) fn allocate(&mut self, bytes: i64) -> i64 {
        let address = self.next_address;
        self.next_address += (bytes + 511) / 512 * 512;
        self.push(Action::Allocate { bytes, address });
        address
    }

    pub(crate) fn free(&mut self, bytes: i64, address: i64) {
        self.push(Action::Free { bytes, address });
    }

    pub(crate) fn keep_gradient(&mut self, bytes: i64) {
        let address = self.allocate(bytes);
        self.gradients.push((bytes, address));
    }

    /// Faults that touch this rank in this step, with their place in the plan.
    pub(crate) fn faults_here(&self) -> Vec<(usize, Fault)> {
        let here = |fault: &Fault| fault.extent().covers(self.rank, self.step);
        self.plan.faults.iter().copied().enumerate().filter(|(_, fault)| here(fault)).collect()
    }

    fn training_step(&mut self) {
        self.open(Scope::Step(self.step));
        self.python("train.py(112): train_step");
        self.phase(Phase::Data);
        self.load_data();
        self.phase(Phase::Other);
        self.zero_length_events();
        if self.plan.overhead_ns_per_step > 0 {
            self.push(Action::Overhead(self.plan.overhead_ns_per_step));
        }
        let spike = self.allocation_spike();
        let microbatches = if self.plan.stage_count() > 1 { self.plan.microbatches.max(1) } else { 1 };
        let mut tapes = Vec::new();
        for microbatch in 0..microbatches {
            self.forward(microbatch);
            tapes.push(std::mem::take(&mut self.tape));
        }
        if let Some((bytes, address)) = spike {
            self.free(bytes, address);
        }
        self.push(Action::Record { slot: FORWARD_DONE, stream: Stream::Compute });
        self.phase(Phase::Backward);
        self.backward(tapes);
        self.phase(Phase::Optimizer);
        self.optimizer();
        self.phase(Phase::Other);
        self.push(Action::Record { slot: INPUT_USED, stream: Stream::Compute });
        if !self.plan.host_runs_ahead {
            self.python("train.py(131): log_loss");
            self.push(Action::SyncEvent { slot: FORWARD_DONE });
            self.end_python();
        }
        self.end_python();
        self.close();
        self.work(24_000);
    }

    fn zero_length_events(&mut self) {
        for (_, fault) in self.faults_here() {
            if let Fault::ZeroLength { per_step, .. } = fault {
                for _ in 0..per_step {
                    self.push(Action::EmptyOp { name: "aten::resolve_conj" });
                    self.op("aten::empty", Shape::None, Link::None);
                    self.launch(&catalog::EMPTY, 0);
                    self.close();
                }
            }
        }
    }

    fn allocation_spike(&mut self) -> Option<(i64, i64)> {
        let found = self.faults_here().into_iter().find_map(|(index, fault)| match fault {
            Fault::AllocationSpike { bytes, .. } => Some((index, bytes)),
            _ => None,
        })?;
        let (index, bytes) = found;
        self.push(Action::Plant(index));
        self.op("aten::empty", Shape::None, Link::None);
        let address = self.allocate(bytes);
        self.close();
        self.push(Action::Planted);
        Some((bytes, address))
    }

    fn optimizer(&mut self) {
        self.push(Action::Wait { stream: Stream::Compute, slot: COMM_DONE });
        self.open(Scope::Annotation(Name::plain("Optimizer.step#AdamW.step")));
        self.python("torch/optim/optimizer.py(485): wrapper");
        self.python("torch/optim/adamw.py(221): step");
        let layers = self.plan.layers_of_stage(self.plan.stage_of(self.rank)).len() as i64;
        let weights = self.costs.block_weights() / self.shards();
        if self.full() {
            self.op("aten::_foreach_norm", Shape::None, Link::None);
            for _ in 0..layers {
                self.launch(&catalog::GRADIENT_NORM, Costs::streaming(2 * weights));
            }
            self.close();
        }
        self.op("aten::_fused_adamw_", Shape::None, Link::None);
        for _ in 0..layers {
            self.work(2_500);
            self.launch(&catalog::ADAM, Costs::streaming(14 * weights));
        }
        self.close();
        self.end_python();
        self.end_python();
        self.close();
        self.open(Scope::Annotation(Name::plain("Optimizer.zero_grad#AdamW.zero_grad")));
        self.python("torch/optim/optimizer.py(972): zero_grad");
        self.op("aten::zero_", Shape::None, Link::None);
        self.push(Action::Set { bytes: 4 * self.costs.hidden });
        self.close();
        for (bytes, address) in std::mem::take(&mut self.gradients) {
            self.free(bytes, address);
        }
        self.end_python();
        self.close();
    }

    fn shards(&self) -> i64 {
        match self.plan.sharding {
            crate::plan::Sharding::Replicated => 1,
            crate::plan::Sharding::Sharded => i64::from(self.plan.replicas() / self.plan.tensor_size()),
        }
    }

    /// A transfer on its stream; if it carries results, it waits for the compute stream's work so far.
    /// Its end is recorded in `done`.
    pub(crate) fn transfer(&mut self, transfer: TransferSpec, carries_results: bool, done: u32) {
        self.open(Scope::Comm { transfer });
        if carries_results {
            self.push(Action::Record { slot: COMM_INPUT, stream: Stream::Compute });
            self.push(Action::Wait { stream: transfer.stream, slot: COMM_INPUT });
        }
        self.open(Scope::Annotation(transfer.annotation));
        self.push(Action::Transfer);
        self.close();
        self.push(Action::Record { slot: done, stream: transfer.stream });
        self.close();
    }

    pub(crate) fn on_autograd_thread(&mut self) {
        self.push(Action::OnThread(Thread::Autograd));
    }

    pub(crate) fn on_main_thread(&mut self) {
        self.push(Action::OnThread(Thread::Main));
    }
}
