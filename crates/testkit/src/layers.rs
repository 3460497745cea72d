//! The forward pass: modules, operators and kernels of a transformer, written down on a tape for the way back.

use crate::action::Action;
use crate::catalog;
use crate::costs::Costs;
use crate::event::Link;
use crate::experts;
use crate::fault::Fault;
use crate::plan::{Detail, Sharding};
use crate::program::Builder;
use crate::purpose::{Modules, Phase};
use crate::recompute::Keeping;
use crate::shapes::{Shape, Weight};
use crate::transfers;

/// A differentiable operation of the forward pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub(crate) kind: NodeKind,
    pub(crate) sequence: u32,
    /// The modules whose forward pass it is part of.
    pub(crate) modules: Modules,
    /// Activation kept for the backward pass.
    pub(crate) kept: Option<(i64, i64)>,
    /// Set on the first operation of a block: going backwards, its gradients are complete there.
    pub(crate) completes_layer: Option<u32>,
    /// Set on the last operation of a block.
    pub(crate) ends_layer: Option<u32>,
    /// The planted recomputation and the sequence number of the checkpoint, on the last operation of such a block.
    pub(crate) checkpoint: Option<(usize, u32)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum NodeKind {
    Embedding,
    LayerNorm,
    Linear(Weight),
    Attention,
    Gelu,
    Add,
    Loss,
}

impl Builder<'_> {
    pub(crate) fn forward(&mut self, microbatch: u32) {
        let stage = self.plan.stage_of(self.rank);
        let (first, last) = (stage == 0, stage + 1 == self.plan.stage_count());
        if !first {
            transfers::receive(self, stage - 1);
        }
        let before = self.phase(Phase::Forward);
        let replayed = self.plan.cuda_graph && self.plan.sharding == Sharding::Replicated;
        if replayed {
            self.python("torch/cuda/graphs.py(87): replay");
            self.graph = Some(Vec::new());
        }
        self.module("nn.Module: GPT_", 0);
        self.python("model.py(171): forward");
        if first && self.plan.detail != Detail::Tiny {
            self.embedding();
        }
        for layer in self.plan.layers_of_stage(stage) {
            self.host_stalls(microbatch);
            self.small_kernels(microbatch);
            self.allocation_retries(microbatch);
            if self.plan.sharding == Sharding::Sharded {
                transfers::gather_weights(self, layer == self.plan.layers_of_stage(stage).start);
                transfers::wait_for_weights(self);
            }
            match self.recomputation() {
                Some(fault) => self.checkpointed_block(fault, layer),
                None => self.block(layer),
            }
        }
        if last {
            self.head();
        }
        self.end_python();
        self.end_module();
        if let Some(kernels) = self.graph.take() {
            self.push(Action::GraphLaunch(kernels));
            self.end_python();
        }
        self.phase(before);
        if !last {
            transfers::send(self, stage + 1);
        }
    }

    pub(crate) fn block(&mut self, layer: u32) {
        let first_of_block = self.tape.len();
        self.module("nn.Module: Block_", layer);
        self.python("model.py(102): forward");
        if self.plan.detail == Detail::Tiny {
            self.linear(layer, Weight::Projection);
            transfers::add_up_activations(self);
            self.gelu(layer);
        } else {
            self.attention_half(layer);
            self.mlp_half(layer);
        }
        self.end_python();
        self.end_module();
        if let Some(node) = self.tape.get_mut(first_of_block) {
            node.completes_layer = Some(layer);
        }
        if let Some(node) = self.tape.last_mut() {
            node.ends_layer = Some(layer);
        }
    }

    fn attention_half(&mut self, layer: u32) {
        self.layer_norm(2 * layer);
        self.module("nn.Module: CausalSelfAttention_", layer);
        self.linear(4 * layer, Weight::Qkv);
        self.attention();
        self.linear(4 * layer + 1, Weight::Projection);
        transfers::add_up_activations(self);
        self.end_module();
        self.add();
    }

    fn mlp_half(&mut self, layer: u32) {
        self.layer_norm(2 * layer + 1);
        self.module("nn.Module: MLP_", layer);
        experts::dispatch(self);
        self.linear(4 * layer + 2, Weight::Up);
        self.gelu(layer);
        self.linear(4 * layer + 3, Weight::Down);
        experts::combine(self);
        transfers::add_up_activations(self);
        self.end_module();
        self.add();
    }

    fn head(&mut self) {
        if self.plan.detail != Detail::Tiny {
            self.layer_norm(2 * self.plan.layers);
            self.linear(4 * self.plan.layers, Weight::Head);
        }
        self.loss();
    }

    /// Notes an operation for the backward pass and gives the link its forward operator carries.
    fn note(&mut self, kind: NodeKind, kept_bytes: i64) -> Link {
        let mut node = Node {
            kind,
            sequence: 0,
            modules: self.purpose.modules,
            kept: None,
            completes_layer: None,
            ends_layer: None,
            checkpoint: None,
        };
        if self.keeping == Keeping::Inputs {
            self.tape.push(node);
            return Link::None;
        }
        let sequence = self.sequence;
        self.sequence += 1;
        node.sequence = sequence;
        node.kept = (self.full() && self.graph.is_none() && kept_bytes > 0)
            .then(|| (kept_bytes, self.allocate(kept_bytes)));
        self.tape.push(node);
        Link::Forward { sequence }
    }

    fn embedding(&mut self) {
        let bytes = self.costs.activation(self.costs.hidden);
        self.module("nn.Module: Embedding_", 0);
        let link = self.note(NodeKind::Embedding, bytes);
        self.op("aten::embedding", Shape::Embedding, link);
        self.work(2_200);
        self.launch(&catalog::EMBEDDING_FORWARD, Costs::streaming(2 * bytes));
        self.close();
        self.end_module();
    }

    fn layer_norm(&mut self, number: u32) {
        let bytes = self.costs.activation(self.costs.hidden);
        self.module("nn.Module: LayerNorm_", number);
        self.op("aten::layer_norm", Shape::LayerNorm, Link::None);
        let link = self.note(NodeKind::LayerNorm, bytes);
        self.op("aten::native_layer_norm", Shape::LayerNorm, link);
        self.work(3_100);
        self.launch(&catalog::LAYER_NORM_FORWARD, Costs::streaming(2 * bytes));
        self.close();
        self.close();
        self.end_module();
    }

    fn linear(&mut self, number: u32, weight: Weight) {
        let (inputs, outputs) = weight.size(self.costs.hidden);
        self.module("nn.Module: Linear_", number);
        self.python("torch/nn/modules/linear.py(124): forward");
        self.op("aten::linear", Shape::Linear(weight), Link::None);
        if self.full() {
            self.op("aten::t", Shape::None, Link::None);
            self.op("aten::transpose", Shape::None, Link::None);
            self.op("aten::as_strided", Shape::None, Link::None);
            self.close();
            self.close();
            self.close();
        }
        let link = self.note(NodeKind::Linear(weight), self.costs.activation(outputs));
        self.op("aten::addmm", Shape::Product(weight), link);
        self.work(5_400);
        self.launch(&catalog::GEMM_FORWARD, self.costs.matmul(inputs, outputs));
        self.close();
        self.close();
        self.end_python();
        self.end_module();
    }

    fn attention(&mut self) {
        self.op("aten::scaled_dot_product_attention", Shape::Attention, Link::None);
        let link = self.note(NodeKind::Attention, self.costs.activation(self.costs.hidden));
        self.op("aten::_scaled_dot_product_flash_attention", Shape::Attention, link);
        self.op("aten::_flash_attention_forward", Shape::Attention, Link::None);
        self.work(6_900);
        self.launch(self.attention_kernel(), self.costs.attention());
        self.close();
        self.close();
        self.close();
    }

    fn attention_kernel(&self) -> &'static catalog::KernelSpec {
        let narrow = |(_, fault): (usize, Fault)| matches!(fault, Fault::LowOccupancy { .. });
        if self.faults_here().into_iter().any(narrow) {
            &catalog::FLASH_FORWARD_NARROW
        } else {
            &catalog::FLASH_FORWARD
        }
    }

    fn gelu(&mut self, layer: u32) {
        let bytes = self.costs.activation(4 * self.costs.hidden);
        self.module("nn.Module: GELU_", layer);
        let link = self.note(NodeKind::Gelu, bytes);
        self.op("aten::gelu", Shape::Wide, link);
        self.work(1_700);
        self.launch(&catalog::GELU_FORWARD, Costs::streaming(2 * bytes));
        self.close();
        self.end_module();
    }

    fn add(&mut self) {
        let bytes = self.costs.activation(self.costs.hidden);
        let link = self.note(NodeKind::Add, bytes);
        self.op("aten::add", Shape::HiddenPair, link);
        self.work(1_500);
        self.launch(&catalog::ADD, Costs::streaming(3 * bytes));
        self.close();
    }

    fn loss(&mut self) {
        self.python("torch/nn/functional.py(3479): cross_entropy");
        self.op("aten::cross_entropy_loss", Shape::Logits, Link::None);
        let link = self.note(NodeKind::Loss, 2 * self.costs.logits());
        self.op("aten::_log_softmax", Shape::Logits, link);
        self.work(2_100);
        self.launch(&catalog::SOFTMAX_FORWARD, Costs::streaming(3 * self.costs.logits()));
        self.close();
        self.op("aten::nll_loss_forward", Shape::Logits, Link::None);
        self.launch(&catalog::NLL_LOSS, Costs::streaming(4 * self.costs.tokens));
        self.close();
        self.close();
        self.end_python();
    }
}
